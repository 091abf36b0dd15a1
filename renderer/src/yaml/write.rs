//! Values as block YAML, the way Helm's `toYaml` writes them.
//!
//! What is written always reads back as the same value, with our own reader and with readers of YAML 1.1 and 1.2; where
//! Helm's own text would not, it is quoted here (a key `<<`, a float without a point). It never decides what is written
//! to where: the text goes to whoever asked.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::budget::{Budget, Exceeded};
use crate::number;
use crate::value::{Dict, List, Value};

mod plain;
mod scalar;
#[cfg(test)]
mod tests;

/// How it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As `toYaml` of Helm, but lines are as long as they are.
    Straight,
    /// As `toYaml` of Helm: text with spaces goes on in the next line after column 80.
    Folded,
    /// The same to the letter: a float has no point that Helm does not write.
    Exact,
    /// As `toYamlPretty` of Helm: lists are indented below their key.
    Pretty,
}

/// Writes a value and ends the line. Ask [`Value::size`] first whether it is worth it.
pub fn write(value: &Value, out: &mut String) {
    // Without a budget nothing can be exceeded.
    let _ = Writer::new(Layout::Straight, None, out).document(value);
}

/// Writes a value and ends the line, paying for it as it is written.
pub fn write_paid(value: &Value, layout: Layout, budget: &Budget, out: &mut String) -> Result<(), Exceeded> {
    Writer::new(layout, Some(budget), out).document(value)
}

struct Writer<'a> {
    layout: Layout,
    budget: Option<&'a Budget>,
    out: &'a mut String,
    begun: usize,
    paid: usize,
}

impl<'a> Writer<'a> {
    fn new(layout: Layout, budget: Option<&'a Budget>, out: &'a mut String) -> Self {
        let begun = out.len();
        Self { layout, budget, out, begun, paid: begun }
    }

    fn document(&mut self, value: &Value) -> Result<(), Exceeded> {
        match value {
            Value::List(list) if !list.is_empty() => self.list(list, 0)?,
            Value::Dict(dict) if !dict.is_empty() => self.dict(dict, 0)?,
            _ => self.scalar(value, 2)?,
        }
        self.end_line();
        self.pay()
    }

    /// Pays for what was written since the last time.
    fn pay(&mut self) -> Result<(), Exceeded> {
        if let Some(budget) = self.budget {
            budget.memory((self.out.len() - self.paid) as u64)?;
            self.paid = self.out.len();
        }
        Ok(())
    }

    /// A node is about to be written.
    fn node(&mut self) -> Result<(), Exceeded> {
        if let Some(budget) = self.budget {
            budget.steps(1)?;
        }
        self.pay()
    }

    /// A text that keeps its line ends has ended its line already.
    fn end_line(&mut self) {
        if self.out.len() > self.begun && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn indent(&mut self, indent: usize) {
        self.end_line();
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// A list whose first item begins where the cursor is.
    fn list(&mut self, list: &List, indent: usize) -> Result<(), Exceeded> {
        for (at, item) in list.items().iter().enumerate() {
            if at > 0 {
                self.indent(indent);
            }
            self.out.push('-');
            self.inside(item, indent)?;
        }
        Ok(())
    }

    /// A dict whose first entry begins where the cursor is.
    fn dict(&mut self, dict: &Dict, indent: usize) -> Result<(), Exceeded> {
        let mut keys: Vec<&Arc<str>> = dict.entries().keys().collect();
        if let Some(budget) = self.budget {
            budget.steps(keys.len() as u64)?;
        }
        sort(&mut keys, self.layout);
        for (at, key) in keys.into_iter().enumerate() {
            let Some(value) = dict.get(key) else { continue };
            if at > 0 {
                self.indent(indent);
            }
            self.node()?;
            if scalar::is_simple_key(key) {
                self.key(key);
                self.after_key(value, indent)?;
            } else {
                self.out.push_str("? ");
                self.text(key, indent + 2, true)?;
                self.indent(indent);
                self.out.push(':');
                self.inside(value, indent)?;
            }
        }
        Ok(())
    }

    /// The value of a simple key at `indent`.
    fn after_key(&mut self, value: &Value, indent: usize) -> Result<(), Exceeded> {
        match value {
            Value::List(list) if !list.is_empty() => {
                let indent = if self.layout == Layout::Pretty { indent + 2 } else { indent };
                self.indent(indent);
                self.node()?;
                self.list(list, indent)
            }
            Value::Dict(dict) if !dict.is_empty() => {
                self.indent(indent + 2);
                self.node()?;
                self.dict(dict, indent + 2)
            }
            _ => {
                self.out.push(' ');
                self.scalar(value, indent + 2)
            }
        }
    }

    /// What follows a `-`, `?` or `:` at `indent`, in the same line.
    fn inside(&mut self, value: &Value, indent: usize) -> Result<(), Exceeded> {
        self.out.push(' ');
        match value {
            Value::List(list) if !list.is_empty() => {
                self.node()?;
                self.list(list, indent + 2)
            }
            Value::Dict(dict) if !dict.is_empty() => {
                self.node()?;
                self.dict(dict, indent + 2)
            }
            _ => self.scalar(value, indent + 2),
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) -> Result<(), Exceeded> {
        self.node()?;
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Int(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.out.push_str(&float(*number, self.layout)),
            Value::Text(text) => self.text(text, indent, false)?,
            Value::List(_) => self.out.push_str("[]"),
            Value::Dict(_) => self.out.push_str("{}"),
        }
        Ok(())
    }
}

/// A number that every reader takes for one: YAML 1.1 wants a point before the exponent.
fn float(number: f64, layout: Layout) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    if layout != Layout::Pretty && number.fract() == 0.0 {
        let whole = if number == 0.0 { "0".to_owned() } else { number::json(number) };
        // Helm goes by way of JSON, and reads a whole number there as one if some type of Go holds it.
        let is_held = layout == Layout::Exact && (whole.parse::<i64>().is_ok() || whole.parse::<u64>().is_ok());
        if is_held || number.abs() <= 9_007_199_254_740_992.0 {
            return whole;
        }
    }
    let written = number::general(number);
    match written.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') && layout != Layout::Exact => {
            format!("{mantissa}.0e{exponent}")
        }
        _ => written,
    }
}

/// Sorts keys as Helm's writer does. That order has cycles (`12`, `1a`, `2`), which the sort of the standard library
/// answers with a panic; merging halves ends with some order whatever it is told.
fn sort(keys: &mut Vec<&Arc<str>>, layout: Layout) {
    if keys.len() < 2 {
        return;
    }
    let mut right = keys.split_off(keys.len() / 2);
    sort(keys, layout);
    sort(&mut right, layout);
    let mut merged = Vec::with_capacity(keys.len() + right.len());
    let mut right = right.into_iter().peekable();
    for left in keys.drain(..) {
        while let Some(other) = right.next_if(|other| order(other, left, layout) == Ordering::Less) {
            merged.push(other);
        }
        merged.push(left);
    }
    merged.extend(right);
    *keys = merged;
}

/// Numbers inside keys by their value, signs before digits before letters.
fn order(left: &str, right: &str, layout: Layout) -> Ordering {
    let shared = left.chars().zip(right.chars()).take_while(|(left, right)| left == right);
    let (length, last) = shared.fold((0, None), |(length, _), (same, _)| (length + same.len_utf8(), Some(same)));
    let after_digit = last.is_some_and(|last| last.is_ascii_digit());
    let (tail_left, tail_right) = (&left[length..], &right[length..]);
    let (Some(first), Some(second)) = (tail_left.chars().next(), tail_right.chars().next()) else {
        return tail_left.len().cmp(&tail_right.len());
    };
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        // The newer writer keeps `1a` before `12`.
        (true, false) if layout == Layout::Pretty && after_digit => return Ordering::Less,
        (false, true) if layout == Layout::Pretty && after_digit => return Ordering::Greater,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero that differs stands inside a number if a digit other than zero is before it.
    let before = left[..length].bytes().rev().take_while(u8::is_ascii_digit);
    let inside = (first == '0' || second == '0') && before.into_iter().any(|digit| digit != b'0');
    let (number, digits) = leading_number(tail_left, inside);
    let (other_number, other_digits) = leading_number(tail_right, inside);
    number.cmp(&other_number).then(digits.cmp(&other_digits)).then(first.cmp(&second))
}

fn leading_number(text: &str, inside: bool) -> (u128, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    let value = |number: u128, digit: u8| number.saturating_mul(10).saturating_add(u128::from(digit - b'0'));
    digits.fold((u128::from(inside), 0), |(number, count), digit| (value(number, digit), count + 1))
}
