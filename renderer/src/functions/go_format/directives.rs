//! Reading a format string: text, verbs, flags, widths, `*` and `[n]`, and the words Go has for mistakes in them.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::{Spec, Writer};

/// Go's own bound of width and precision.
const MAX_NUMBER: i64 = 1_000_000;

/// Go's `Sprintf`.
pub(in crate::functions) fn sprintf(budget: &Budget, format: &str, values: &[Value]) -> Result<String, Failure> {
    budget.steps(format.len() as u64 / 16 + 1)?;
    let mut run = Run { rest: format, values, next: 0, reordered: false, after_index: false, good_index: true };
    let mut writer = Writer::with_room(budget, format.len() * 2);
    while let Some(at) = run.rest.find('%') {
        writer.push(&run.rest[..at])?;
        run.rest = &run.rest[at + 1..];
        run.directive(&mut writer)?;
    }
    writer.push(run.rest)?;
    if !run.reordered && run.next < values.len() {
        extra(&mut writer, &values[run.next..])?;
    }
    Ok(writer.finish())
}

fn extra(writer: &mut Writer<'_>, values: &[Value]) -> Result<(), Failure> {
    writer.push("%!(EXTRA ")?;
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            writer.push(", ")?;
        }
        if *value != Value::Null {
            writer.push(super::literal_type_name(value))?;
            writer.push("=")?;
        }
        writer.value(value)?;
    }
    writer.push(")")
}

/// A format being read.
struct Run<'a> {
    rest: &'a str,
    values: &'a [Value],
    next: usize,
    reordered: bool,
    after_index: bool,
    good_index: bool,
}

impl Run<'_> {
    fn directive(&mut self, writer: &mut Writer<'_>) -> Result<(), Failure> {
        self.after_index = false;
        self.good_index = true;
        let mut spec = self.flags();
        self.index();
        self.width(&mut spec, writer)?;
        self.precision(&mut spec, writer)?;
        if !self.after_index {
            self.index();
        }
        let Some(verb) = self.rest.chars().next() else { return writer.push("%!(NOVERB)") };
        self.rest = &self.rest[verb.len_utf8()..];
        if verb == '%' {
            return writer.push("%");
        }
        let problem = if self.good_index { "(MISSING)" } else { "(BADINDEX)" };
        let Some(value) = self.values.get(self.next).filter(|_| self.good_index) else {
            writer.push("%!")?;
            writer.push(verb.encode_utf8(&mut [0; 4]))?;
            return writer.push(problem);
        };
        self.next += 1;
        spec.verb = verb;
        if verb == 'v' {
            spec.source = std::mem::take(&mut spec.sharp);
            spec.plus = false;
        }
        writer.argument(&spec, value)
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        while let Some(flag) = self.rest.bytes().next() {
            match flag {
                b'#' => spec.sharp = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'0' => spec.zero = true,
                b'-' => spec.minus = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        spec
    }

    fn width(&mut self, spec: &mut Spec, writer: &mut Writer<'_>) -> Result<(), Failure> {
        if let Some(rest) = self.rest.strip_prefix('*') {
            self.rest = rest;
            match self.number_argument() {
                Some(width) => {
                    spec.minus |= width < 0;
                    spec.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => writer.push("%!(BADWIDTH)")?,
            }
            self.after_index = false;
            return Ok(());
        }
        spec.width = self.number();
        if self.after_index && spec.width.is_some() {
            self.good_index = false;
        }
        Ok(())
    }

    fn precision(&mut self, spec: &mut Spec, writer: &mut Writer<'_>) -> Result<(), Failure> {
        let Some(rest) = self.rest.strip_prefix('.').filter(|rest| !rest.is_empty()) else { return Ok(()) };
        self.rest = rest;
        if self.after_index {
            self.good_index = false;
        }
        self.index();
        if let Some(rest) = self.rest.strip_prefix('*') {
            self.rest = rest;
            spec.precision = self.number_argument().and_then(|number| usize::try_from(number).ok());
            if spec.precision.is_none() {
                writer.push("%!(BADPREC)")?;
            }
            self.after_index = false;
            return Ok(());
        }
        spec.precision = Some(self.number().unwrap_or(0));
        Ok(())
    }

    /// Digits; a number beyond the bound swallows what is left, as in Go.
    fn number(&mut self) -> Option<usize> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.rest.len());
        if end == 0 {
            return None;
        }
        match self.rest[..end].parse::<i64>() {
            // Go looks before it adds the last digit.
            Ok(number) if number / 10 <= MAX_NUMBER => {
                self.rest = &self.rest[end..];
                usize::try_from(number).ok()
            }
            _ => {
                self.rest = "";
                None
            }
        }
    }

    fn number_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        match value {
            Value::Int(number) if (-MAX_NUMBER..=MAX_NUMBER).contains(number) => Some(*number),
            _ => None,
        }
    }

    /// `[n]`: the argument to take next.
    fn index(&mut self) {
        let Some(rest) = self.rest.strip_prefix('[') else { return self.after_index = false };
        self.reordered = true;
        let Some(end) = rest.find(']').filter(|_| rest.len() > 1) else {
            self.good_index = false;
            self.rest = rest;
            return;
        };
        let number = rest[..end].parse::<usize>().ok().filter(|_| rest.as_bytes()[0].is_ascii_digit());
        self.rest = &rest[end + 1..];
        match number {
            Some(number) if number >= 1 && number <= self.values.len() => {
                self.next = number - 1;
                self.after_index = true;
            }
            _ => {
                self.good_index = false;
                self.after_index = number.is_some();
            }
        }
    }
}
