//! The verbs of booleans, numbers and text.

use crate::failure::Failure;
use crate::value::Value;

use super::{Spec, Writer, floats};

impl Writer<'_> {
    pub(super) fn boolean(&mut self, spec: &Spec, truth: bool) -> Result<(), Failure> {
        match spec.verb {
            't' | 'v' => self.padded(spec, if truth { "true" } else { "false" }),
            _ => self.mistake(spec, &Value::Bool(truth)),
        }
    }

    pub(super) fn text(&mut self, spec: &Spec, text: &str) -> Result<(), Failure> {
        match spec.verb {
            'v' if spec.source => self.quoted_padded(spec, text),
            'v' | 's' => self.padded(spec, shortened(text, spec.precision)),
            'q' => self.quoted_padded(spec, shortened(text, spec.precision)),
            'x' | 'X' => self.hexadecimal_text(spec, text),
            _ => self.mistake(spec, &Value::text(text)),
        }
    }

    fn hexadecimal_text(&mut self, spec: &Spec, text: &str) -> Result<(), Failure> {
        let bytes = &text.as_bytes()[..text.len().min(spec.precision.unwrap_or(usize::MAX))];
        self.budget.memory(bytes.len() as u64 * 5)?;
        let mut hexadecimal = String::with_capacity(bytes.len() * 2 + 2);
        for (at, byte) in bytes.iter().enumerate() {
            if at > 0 && spec.space {
                hexadecimal.push(' ');
            }
            if spec.sharp && (at == 0 || spec.space) {
                hexadecimal.push_str(if spec.verb == 'x' { "0x" } else { "0X" });
            }
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                hexadecimal.push(if spec.verb == 'x' { digit } else { digit.to_ascii_uppercase() });
            }
        }
        self.padded(spec, &hexadecimal)
    }

    pub(super) fn integer(&mut self, spec: &Spec, number: i64) -> Result<(), Failure> {
        let magnitude = number.unsigned_abs();
        match spec.verb {
            'v' | 'd' if spec.width.is_none() && spec.precision.is_none() && !spec.plus && !spec.space => {
                self.push(&number.to_string())
            }
            'v' | 'd' => self.digits(spec, number < 0, &magnitude.to_string(), ""),
            'b' => self.digits(spec, number < 0, &format!("{magnitude:b}"), "0b"),
            'o' => {
                let octal = format!("{magnitude:o}");
                let prefix = if octal.starts_with('0') { "" } else { "0" };
                self.digits(spec, number < 0, &octal, prefix)
            }
            'O' => self.digits(&Spec { sharp: true, ..*spec }, number < 0, &format!("{magnitude:o}"), "0o"),
            'x' => self.digits(spec, number < 0, &format!("{magnitude:x}"), "0x"),
            'X' => self.digits(spec, number < 0, &format!("{magnitude:X}"), "0X"),
            'c' => self.padded(spec, character(number).encode_utf8(&mut [0; 4])),
            'q' => self.quoted_character(spec, character(number)),
            'U' => self.code_point(spec, number),
            #[expect(clippy::cast_precision_loss, reason = "as a float is what the verb asks for")]
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => self.float(spec, number as f64),
            _ => self.mistake(spec, &Value::Int(number)),
        }
    }

    fn digits(&mut self, spec: &Spec, negative: bool, digits: &str, prefix: &str) -> Result<(), Failure> {
        let plain = Spec { zero: false, ..*spec };
        if spec.precision == Some(0) && digits == "0" {
            return self.padded(&plain, "");
        }
        let sign = sign(spec, negative);
        let zeros = match (spec.precision, spec.width) {
            (Some(precision), _) => precision.saturating_sub(digits.len()),
            (None, Some(width)) if spec.zero && !spec.minus => {
                width.saturating_sub(digits.len()).saturating_sub(sign.len())
            }
            (None, _) => 0,
        };
        // With zeros in front, an octal number needs no further one to show what it is.
        let prefix = if !spec.sharp || spec.verb == 'o' && zeros > 0 { "" } else { prefix };
        self.budget.memory(zeros as u64)?;
        let number = format!("{sign}{prefix}{}{digits}", "0".repeat(zeros));
        self.padded(&plain, &number)
    }

    fn code_point(&mut self, spec: &Spec, number: i64) -> Result<(), Failure> {
        let plain = Spec { zero: false, ..*spec };
        let digits = format!("{:X}", number.cast_unsigned());
        let zeros = spec.precision.unwrap_or(4).max(4).saturating_sub(digits.len());
        self.budget.memory(zeros as u64)?;
        let mut code = format!("U+{}{digits}", "0".repeat(zeros));
        if let (true, Some(letter)) = (spec.sharp, u32::try_from(number).ok().and_then(char::from_u32)) {
            code.extend([' ', '\'', letter, '\'']);
        }
        self.padded(&plain, &code)
    }

    pub(super) fn float(&mut self, spec: &Spec, number: f64) -> Result<(), Failure> {
        let (verb, precision) = match spec.verb {
            'v' => ('g', spec.precision),
            'g' | 'G' => (spec.verb, spec.precision),
            'e' | 'E' | 'f' => (spec.verb, Some(spec.precision.unwrap_or(6))),
            'F' => ('f', Some(spec.precision.unwrap_or(6))),
            _ => return self.mistake(spec, &Value::Float(number)),
        };
        self.budget.memory(precision.unwrap_or(0) as u64)?;
        let digits = floats::format(number.abs(), verb, precision);
        if !number.is_finite() {
            let sign = if number.is_nan() && !spec.plus && !spec.space { "" } else { sign(spec, number < 0.0) };
            let sign = if number.is_infinite() && sign.is_empty() { "+" } else { sign };
            return self.padded(&Spec { zero: false, ..*spec }, &format!("{sign}{digits}"));
        }
        let sign = sign(spec, number.is_sign_negative());
        if let (true, false, Some(width)) = (spec.zero, spec.minus, spec.width) {
            self.push(sign)?;
            self.fill('0', width.saturating_sub(digits.len()).saturating_sub(sign.len()))?;
            return self.push(&digits);
        }
        self.padded(spec, &format!("{sign}{digits}"))
    }
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn character(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// No more than so many characters of it.
fn shortened(text: &str, precision: Option<usize>) -> &str {
    match precision.and_then(|precision| text.char_indices().nth(precision)) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
