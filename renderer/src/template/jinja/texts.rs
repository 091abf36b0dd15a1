//! Filters on text.

use super::{Function, Given, word};
use crate::failure::Failure;
use crate::functions;
use crate::template::operators::{self, NODE};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    Function::new("string", 1, 1, string),
    Function::new("capitalize", 1, 1, capitalize),
    Function::new("lines", 1, 1, lines),
    Function::new("tojson", 1, 2, tojson),
    Function::variadic("format", 1, format),
];

fn string(given: &Given<'_>) -> Result<Value, Failure> {
    let text = operators::text_of(given.subject())?;
    given.budget.memory(text.len() as u64)?;
    Ok(Value::from(&*text))
}

fn capitalize(given: &Given<'_>) -> Result<Value, Failure> {
    let text = operators::text_of(given.subject())?;
    // A letter may become three times as long in the other case.
    given.budget.memory(text.len() as u64 * 3)?;
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    Ok(Value::from(first.into_iter().flatten().chain(letters.flat_map(char::to_lowercase)).collect::<String>()))
}

fn lines(given: &Given<'_>) -> Result<Value, Failure> {
    let text = word(given.subject(), "the value")?;
    given.budget.memory(text.len() as u64 + text.lines().count() as u64 * NODE)?;
    Ok(Value::list(text.lines().map(Value::from).collect())?)
}

/// As the library's `toJson`, or `toPrettyJson` with `indent`.
fn tojson(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["indent"])?;
    let name = if given.flag(1, "indent") { "toPrettyJson" } else { "toJson" };
    call(name, given, &given.values[..1])
}

/// As the library's `printf`.
fn format(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&[])?;
    call("printf", given, given.values)
}

fn call(name: &str, given: &Given<'_>, values: &[Value]) -> Result<Value, Failure> {
    let entry = functions::find(name).ok_or_else(|| Failure::argument(format!("`{name}` is missing")))?;
    (entry.call)(given.budget, values)
}
