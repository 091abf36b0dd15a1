//! Values as text the way Go's `fmt` writes them: one value with a verb, or several one after the other.
//!
//! Owns verbs, flags and padding, and pays for every piece of text before it is written. Format strings are read in
//! `directives`, digits of floats in `floats`, quotes in `quoting`.

use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{Dict, List, Value};

mod directives;
mod floats;
mod quoting;
mod scalars;
#[cfg(test)]
mod tests;

pub(super) use directives::sprintf;

/// A verb with its flags.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each flag may be set by itself")]
struct Spec {
    verb: char,
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%#v`: as Go source.
    source: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Spec {
    const PLAIN: Self = Self {
        verb: 'v',
        plus: false,
        minus: false,
        sharp: false,
        space: false,
        zero: false,
        source: false,
        width: None,
        precision: None,
    };
}

/// Text under construction, paid for piece by piece.
pub(super) struct Writer<'a> {
    out: String,
    budget: &'a Budget,
}

impl<'a> Writer<'a> {
    /// Nothing yet.
    pub(super) fn new(budget: &'a Budget) -> Self {
        Self { out: String::new(), budget }
    }

    /// Nothing yet, with room for so many bytes.
    fn with_room(budget: &'a Budget, bytes: usize) -> Self {
        Self { out: String::with_capacity(bytes), budget }
    }

    /// This text.
    pub(super) fn push(&mut self, text: &str) -> Result<(), Failure> {
        self.budget.memory(text.len() as u64)?;
        self.out.push_str(text);
        Ok(())
    }

    /// The same character so many times.
    pub(super) fn fill(&mut self, letter: char, count: usize) -> Result<(), Failure> {
        self.budget.memory(count as u64 * letter.len_utf8() as u64)?;
        self.out.extend(std::iter::repeat_n(letter, count));
        Ok(())
    }

    /// This value as `%v` writes it.
    pub(super) fn value(&mut self, value: &Value) -> Result<(), Failure> {
        self.budget.steps(1 + value.size() / 16)?;
        self.element(&Spec::PLAIN, value)
    }

    /// All that was written.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// An argument by itself, with its verb.
    fn argument(&mut self, spec: &Spec, value: &Value) -> Result<(), Failure> {
        self.budget.steps(1 + value.size() / 16)?;
        match (spec.verb, value) {
            ('T', _) => self.padded(spec, type_name(value)),
            ('v', Value::Null) => self.padded(spec, "<nil>"),
            (_, Value::Null) => self.mistake(spec, value),
            _ => self.element(spec, value),
        }
    }

    fn element(&mut self, spec: &Spec, value: &Value) -> Result<(), Failure> {
        match value {
            Value::Null => self.push(if spec.source { "interface {}(nil)" } else { "<nil>" }),
            Value::Bool(truth) => self.boolean(spec, *truth),
            Value::Int(number) => self.integer(spec, *number),
            Value::Float(number) => self.float(spec, *number),
            Value::Text(text) => self.text(spec, text),
            Value::List(list) => self.list(spec, list),
            Value::Dict(dict) => self.dict(spec, dict),
        }
    }

    fn list(&mut self, spec: &Spec, list: &List) -> Result<(), Failure> {
        if spec.verb == 'p' {
            return self.mistake(spec, &Value::List(list.clone()));
        }
        self.push(if spec.source { "[]interface {}{" } else { "[" })?;
        for (at, item) in list.items().iter().enumerate() {
            if at > 0 {
                self.push(if spec.source { ", " } else { " " })?;
            }
            self.element(spec, item)?;
        }
        self.push(if spec.source { "}" } else { "]" })
    }

    fn dict(&mut self, spec: &Spec, dict: &Dict) -> Result<(), Failure> {
        if spec.verb == 'p' {
            return self.mistake(spec, &Value::Dict(dict.clone()));
        }
        self.push(if spec.source { "map[string]interface {}{" } else { "map[" })?;
        for (at, (key, value)) in dict.entries().iter().enumerate() {
            if at > 0 {
                self.push(if spec.source { ", " } else { " " })?;
            }
            self.text(spec, key)?;
            self.push(":")?;
            self.element(spec, value)?;
        }
        self.push(if spec.source { "}" } else { "]" })
    }

    /// A verb that does not go with the value, said the way Go says it.
    fn mistake(&mut self, spec: &Spec, value: &Value) -> Result<(), Failure> {
        self.push("%!")?;
        self.push(spec.verb.encode_utf8(&mut [0; 4]))?;
        self.push("(")?;
        if *value == Value::Null {
            self.push("<nil>")?;
        } else {
            self.push(literal_type_name(value))?;
            self.push("=")?;
            self.element(&Spec { verb: 'v', ..*spec }, value)?;
        }
        self.push(")")
    }

    fn padded(&mut self, spec: &Spec, text: &str) -> Result<(), Failure> {
        let Some(width) = spec.width else { return self.push(text) };
        let missing = width.saturating_sub(text.chars().count());
        if spec.minus {
            self.push(text)?;
            return self.fill(' ', missing);
        }
        self.fill(if spec.zero { '0' } else { ' ' }, missing)?;
        self.push(text)
    }
}

/// What `%T` and `typeOf` call its type. Whole numbers are `int64`, as they are when set on Helm's command line.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::Text(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Dict(_) => "map[string]interface {}",
    }
}

/// The same inside Go's messages about mistakes, where whole numbers are mostly literals.
fn literal_type_name(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "int",
        other => type_name(other),
    }
}

/// Sprig's text of a value: text as it is, everything else as `%v`.
pub(super) fn display(budget: &Budget, value: &Value) -> Result<Arc<str>, Failure> {
    if let Value::Text(text) = value {
        return Ok(Arc::clone(text));
    }
    let mut writer = Writer::new(budget);
    writer.value(value)?;
    Ok(writer.finish().into())
}

/// Go's `Sprint`: a space between two neighbours of which neither is text.
pub(super) fn sprint(budget: &Budget, values: &[Value]) -> Result<String, Failure> {
    let mut writer = Writer::new(budget);
    let mut after_text = true;
    for value in values {
        let is_text = value.as_text().is_some();
        if !is_text && !after_text {
            writer.push(" ")?;
        }
        writer.value(value)?;
        after_text = is_text;
    }
    Ok(writer.finish())
}

/// Go's `Sprintln`: a space between all, a new line at the end.
pub(super) fn sprintln(budget: &Budget, values: &[Value]) -> Result<String, Failure> {
    let mut writer = Writer::new(budget);
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            writer.push(" ")?;
        }
        writer.value(value)?;
    }
    writer.push("\n")?;
    Ok(writer.finish())
}

/// Go's `%q` of text.
pub(super) fn quoted(budget: &Budget, text: &str) -> Result<String, Failure> {
    let mut writer = Writer::new(budget);
    writer.quoted_text(text, false)?;
    Ok(writer.finish())
}
