//! TOML as Helm writes it: what is in a table itself first, then the tables in it, each in the order of its keys.

use std::sync::Arc;

use ::toml::Value as Toml;

use super::json::unicode_escape;
use crate::budget::Budget;
use crate::failure::Failure;
use crate::number;
use crate::value::{Dict, List, TooDeep, Value};

/// The text of a dict, paid for as it is written.
pub(super) fn write(budget: &Budget, dict: &Dict) -> Result<String, Failure> {
    let mut writer = Writer { budget, out: String::new(), paid: 0 };
    writer.entries(dict, &mut Vec::new())?;
    writer.pay()?;
    Ok(writer.out)
}

/// The value of a text; dates and times are text.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let table: ::toml::Table = text.parse().map_err(|problem: ::toml::de::Error| problem.message().to_owned())?;
    value(Toml::Table(table)).map_err(|problem| problem.to_string())
}

fn value(toml: Toml) -> Result<Value, TooDeep> {
    Ok(match toml {
        Toml::String(text) => Value::from(text),
        Toml::Integer(number) => Value::Int(number),
        Toml::Float(number) => Value::Float(number),
        Toml::Boolean(truth) => Value::Bool(truth),
        Toml::Datetime(time) => Value::from(time.to_string()),
        Toml::Array(items) => Value::list(items.into_iter().map(value).collect::<Result<_, _>>()?)?,
        Toml::Table(table) => Value::dict(
            table.into_iter().map(|(key, toml)| Ok((Arc::from(key), value(toml)?))).collect::<Result<_, TooDeep>>()?,
        )?,
    })
}

/// Whether a value has a header of its own.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Dict(_) => true,
        Value::List(list) => is_tables(list),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
    }
}

fn is_tables(list: &List) -> bool {
    !list.is_empty() && list.items().iter().all(|item| matches!(item, Value::Dict(_)))
}

struct Writer<'a> {
    budget: &'a Budget,
    out: String,
    paid: usize,
}

impl Writer<'_> {
    fn pay(&mut self) -> Result<(), Failure> {
        self.budget.steps(1)?;
        self.budget.memory((self.out.len() - self.paid) as u64)?;
        self.paid = self.out.len();
        Ok(())
    }

    fn entries<'v>(&mut self, dict: &'v Dict, path: &mut Vec<&'v str>) -> Result<(), Failure> {
        for (key, value) in dict.entries().iter().filter(|(_, value)| !is_table(value)) {
            if *value == Value::Null {
                continue;
            }
            self.indent(path.len());
            self.key(key);
            self.out.push_str(" = ");
            self.inline(value)?;
            self.out.push('\n');
        }
        for (key, value) in dict.entries() {
            path.push(key);
            match value {
                Value::Dict(dict) => self.table(dict, path, false)?,
                Value::List(list) if is_tables(list) => {
                    for item in list.items() {
                        if let Value::Dict(dict) = item {
                            self.table(dict, path, true)?;
                        }
                    }
                }
                _ => {}
            }
            path.pop();
        }
        Ok(())
    }

    fn table<'v>(&mut self, dict: &'v Dict, path: &mut Vec<&'v str>, is_item: bool) -> Result<(), Failure> {
        self.pay()?;
        if !self.out.is_empty() && (is_item || path.len() == 1) {
            self.out.push('\n');
        }
        self.indent(path.len() - 1);
        self.out.push_str(if is_item { "[[" } else { "[" });
        for (at, key) in path.iter().enumerate() {
            if at > 0 {
                self.out.push('.');
            }
            self.key(key);
        }
        self.out.push_str(if is_item { "]]\n" } else { "]\n" });
        self.pay()?;
        self.entries(dict, path)
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n(' ', depth * 2));
    }

    fn key(&mut self, key: &str) {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !key.is_empty() && key.chars().all(is_bare) { self.out.push_str(key) } else { self.text(key) }
    }

    fn inline(&mut self, value: &Value) -> Result<(), Failure> {
        self.pay()?;
        match value {
            Value::Null => return Err(Failure::argument("a list with null in it cannot be written as TOML")),
            Value::Bool(truth) => self.out.push_str(if *truth { "true" } else { "false" }),
            Value::Int(number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.float(*number),
            Value::Text(text) => self.text(text),
            Value::List(list) => {
                self.out.push('[');
                for (at, item) in list.items().iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(", ");
                    }
                    self.inline(item)?;
                }
                self.out.push(']');
            }
            Value::Dict(dict) => self.inline_table(dict)?,
        }
        Ok(())
    }

    fn inline_table(&mut self, dict: &Dict) -> Result<(), Failure> {
        let set = || dict.entries().iter().filter(|(_, value)| **value != Value::Null);
        let own = set().filter(|(_, value)| !is_table(value));
        self.out.push('{');
        for (at, (key, value)) in own.chain(set().filter(|(_, value)| is_table(value))).enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.key(key);
            self.out.push_str(" = ");
            self.inline(value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn float(&mut self, number: f64) {
        let written = match number {
            _ if number.is_nan() => "nan".to_owned(),
            f64::INFINITY => "inf".to_owned(),
            f64::NEG_INFINITY => "-inf".to_owned(),
            _ => number::general(number),
        };
        let is_whole = written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        self.out.push_str(&written);
        if is_whole {
            self.out.push_str(".0");
        }
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
                '\0'..='\x1f' | '\x7f' => unicode_escape(&mut self.out, c),
                _ => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
