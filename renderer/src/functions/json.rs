//! JSON as Go writes it, and as its templates read it.

use std::fmt::Write;

use crate::budget::{Budget, Exceeded};
use crate::failure::Failure;
use crate::number;
use crate::value::Value;

/// How it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Whether each item has a line of its own.
    pub(super) lines: bool,
    /// Whether `<`, `>` and `&` are escaped, for use inside HTML.
    pub(super) html: bool,
}

/// The text of a value, paid for as it is written.
pub(super) fn write(budget: &Budget, value: &Value, layout: Layout) -> Result<String, Failure> {
    let mut writer = Writer { budget, layout, out: String::new(), paid: 0 };
    writer.value(value, 0)?;
    writer.pay()?;
    Ok(writer.out)
}

/// The value of a text; the outer failure is the budget's, the inner one the text's.
pub(super) fn read(budget: &Budget, text: &str) -> Result<Result<Value, String>, Failure> {
    pay_for_reading(budget, text)?;
    let read = serde_json::from_str::<serde_json::Value>(text).map_err(|problem| problem.to_string());
    Ok(read.and_then(|value| Value::try_from(value).map_err(|problem| problem.to_string())))
}

/// What a reader makes of a text is larger than the text: `[[],[]]` is a node for every second byte.
pub(super) fn pay_for_reading(budget: &Budget, text: &str) -> Result<(), Failure> {
    budget.steps((text.len() / 16) as u64)?;
    budget.memory(text.len() as u64 * 8)?;
    Ok(())
}

struct Writer<'a> {
    budget: &'a Budget,
    layout: Layout,
    out: String,
    paid: usize,
}

impl Writer<'_> {
    fn pay(&mut self) -> Result<(), Exceeded> {
        self.budget.steps(1)?;
        self.budget.memory((self.out.len() - self.paid) as u64)?;
        self.paid = self.out.len();
        Ok(())
    }

    fn line(&mut self, depth: usize) {
        if self.layout.lines {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', depth * 2));
        }
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        self.pay()?;
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(truth) => self.out.push_str(if *truth { "true" } else { "false" }),
            Value::Int(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) if number.is_finite() => self.out.push_str(&number::json(*number)),
            Value::Float(_) => return Err(Failure::argument("a number that is not finite cannot be written")),
            Value::Text(text) => self.text(text),
            Value::List(list) => {
                self.out.push('[');
                for (at, item) in list.items().iter().enumerate() {
                    self.separate(at, depth + 1);
                    self.value(item, depth + 1)?;
                }
                self.close(list.is_empty(), depth, ']');
            }
            Value::Dict(dict) => {
                self.out.push('{');
                for (at, (key, value)) in dict.entries().iter().enumerate() {
                    self.separate(at, depth + 1);
                    self.text(key);
                    self.out.push_str(if self.layout.lines { ": " } else { ":" });
                    self.value(value, depth + 1)?;
                }
                self.close(dict.is_empty(), depth, '}');
            }
        }
        Ok(())
    }

    fn separate(&mut self, at: usize, depth: usize) {
        if at > 0 {
            self.out.push(',');
        }
        self.line(depth);
    }

    fn close(&mut self, is_empty: bool, depth: usize, bracket: char) {
        if !is_empty {
            self.line(depth);
        }
        self.out.push(bracket);
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\x08' => self.out.push_str("\\b"),
                '\x0c' => self.out.push_str("\\f"),
                '<' | '>' | '&' if self.layout.html => self.escape(c),
                '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => self.escape(c),
                _ => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn escape(&mut self, c: char) {
        unicode_escape(&mut self.out, c);
    }
}

/// `\u` and four digits, which is how JSON and TOML write control characters.
pub(super) fn unicode_escape(out: &mut String, c: char) {
    let _ = write!(out, "\\u{:04x}", u32::from(c));
}
