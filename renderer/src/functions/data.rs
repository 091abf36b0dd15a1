//! Values as YAML, JSON and TOML, and back.
//!
//! Reading gives what was read or, as in Helm, the error as data: `{"Error": "..."}` or `["..."]`. The words of those
//! errors are our own. What Helm swallows when it writes is an error here.

use std::sync::Arc;

use super::arguments;
use super::{Entry, json, toml};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;
use crate::yaml::write::{Layout, write_paid};
use crate::yaml::{Dialect, Options, documents};

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("toYaml", 1, 1, to_yaml),
    Entry::new("mustToYaml", 1, 1, to_yaml),
    Entry::new("toYamlPretty", 1, 1, to_yaml_pretty),
    Entry::new("fromYaml", 1, 1, from_yaml),
    Entry::new("fromYamlArray", 1, 1, from_yaml_array),
    Entry::new("toJson", 1, 1, to_json),
    Entry::new("mustToJson", 1, 1, to_json),
    Entry::new("toPrettyJson", 1, 1, to_pretty_json),
    Entry::new("mustToPrettyJson", 1, 1, to_pretty_json),
    Entry::new("toRawJson", 1, 1, to_raw_json),
    Entry::new("mustToRawJson", 1, 1, to_raw_json),
    Entry::new("fromJson", 1, 1, from_json),
    Entry::new("mustFromJson", 1, 1, must_from_json),
    Entry::new("fromJsonArray", 1, 1, from_json_array),
    Entry::new("toToml", 1, 1, to_toml),
    Entry::new("mustToToml", 1, 1, to_toml),
    Entry::new("fromToml", 1, 1, from_toml),
];

/// Nodes that one text may hold, aliases followed.
const MOST_NODES: u64 = 200_000;

fn yaml(budget: &Budget, value: &Value, layout: Layout) -> Result<Value, Failure> {
    let mut out = String::new();
    write_paid(value, layout, budget, &mut out)?;
    if out.ends_with('\n') {
        out.pop();
    }
    Ok(Value::from(out))
}

fn to_yaml(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    yaml(budget, &arguments[0], Layout::Folded)
}

/// `toYaml` for templates in Helm's own syntax.
pub(crate) fn to_yaml_exact(budget: &Budget, value: &Value) -> Result<Value, Failure> {
    yaml(budget, value, Layout::Exact)
}

fn to_yaml_pretty(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    yaml(budget, &arguments[0], Layout::Pretty)
}

/// The first document of a text; none is null.
fn read_yaml(budget: &Budget, text: &str) -> Result<Result<Value, String>, Failure> {
    json::pay_for_reading(budget, text)?;
    let options = Options { dialect: Dialect::Helm, nodes: MOST_NODES };
    let read = match documents(text, &options) {
        Ok(nodes) => match nodes.first() {
            Some(node) => node.to_value().map_err(|problem| problem.to_string()),
            None => Ok(Value::Null),
        },
        Err(problems) => Err(problems.first().map_or_else(String::new, |problem| {
            format!("line {}, column {}: {}", problem.span.line, problem.span.column, problem.message)
        })),
    };
    if let Ok(value) = &read {
        // Aliases can make it much larger than the text.
        budget.memory(value.size())?;
    }
    Ok(read)
}

/// The error as a dict, where a dict was asked for.
fn dict_or_error(read: Result<Value, String>) -> Result<Value, Failure> {
    let message = match read {
        Ok(Value::Null) => return Ok(Value::empty_dict()),
        Ok(value @ Value::Dict(_)) => return Ok(value),
        Ok(other) => format!("this is {}, not a map", other.kind()),
        Err(message) => message,
    };
    Ok(Value::dict([(Arc::from("Error"), Value::from(message))].into())?)
}

/// The error as a list, where a list was asked for.
fn list_or_error(read: Result<Value, String>) -> Result<Value, Failure> {
    let message = match read {
        Ok(Value::Null) => return Ok(Value::empty_list()),
        Ok(value @ Value::List(_)) => return Ok(value),
        Ok(other) => format!("this is {}, not a list", other.kind()),
        Err(message) => message,
    };
    Ok(Value::list(vec![Value::from(message)])?)
}

fn from_yaml(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    dict_or_error(read_yaml(budget, arguments::text(arguments, 0)?)?)
}

fn from_yaml_array(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    list_or_error(read_yaml(budget, arguments::text(arguments, 0)?)?)
}

fn to_json(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::from(json::write(budget, &arguments[0], json::Layout { lines: false, html: true })?))
}

fn to_pretty_json(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::from(json::write(budget, &arguments[0], json::Layout { lines: true, html: true })?))
}

fn to_raw_json(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::from(json::write(budget, &arguments[0], json::Layout { lines: false, html: false })?))
}

fn from_json(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    dict_or_error(json::read(budget, arguments::text(arguments, 0)?)?)
}

fn from_json_array(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    list_or_error(json::read(budget, arguments::text(arguments, 0)?)?)
}

fn must_from_json(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    json::read(budget, arguments::text(arguments, 0)?)?.map_err(Failure::Argument)
}

fn to_toml(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::from(toml::write(budget, arguments::dict(arguments, 0)?)?))
}

fn from_toml(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let text = arguments::text(arguments, 0)?;
    json::pay_for_reading(budget, text)?;
    dict_or_error(toml::read(text))
}
