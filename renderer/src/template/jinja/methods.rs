//! Methods that people know from Python: `d.items()`, `s.upper()`. A small set; what can be a filter is one.

use std::sync::Arc;

use super::{Given, maps, word};
use crate::failure::Failure;
use crate::suggest;
use crate::template::operators::{self, NODE};
use crate::value::{Dict, List, Value};

const OF_MAPS: &[&str] = &["items", "keys", "values", "get", "has"];
const OF_LISTS: &[&str] = &["has", "count", "index"];
const OF_TEXTS: &[&str] = &[
    "upper",
    "lower",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "startswith",
    "endswith",
    "replace",
    "join",
    "title",
    "capitalize",
    "splitlines",
    "removeprefix",
    "removesuffix",
];

/// Calls a method of a value.
pub(in crate::template) fn call(subject: &Value, name: &str, given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&[])?;
    let result = match subject {
        Value::Dict(dict) => of_map(dict, name, given)?,
        Value::List(list) => of_list(list, name, given)?,
        Value::Text(text) => of_text(text, name, given)?,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => None,
    };
    result.ok_or_else(|| unknown(subject, name))
}

fn unknown(subject: &Value, name: &str) -> Failure {
    let known = match subject {
        Value::Dict(_) => OF_MAPS,
        Value::List(_) => OF_LISTS,
        Value::Text(_) => OF_TEXTS,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => &[],
    };
    let help = match suggest::nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; or it is called with the wrong arguments".to_owned(),
    };
    Failure::argument(format!("{} has no such method{help}", subject.kind()))
}

fn of_map(dict: &Dict, name: &str, given: &Given<'_>) -> Result<Option<Value>, Failure> {
    Ok(Some(match (name, given.values) {
        ("items", []) => Value::list(maps::pairs(given, dict)?)?,
        ("keys", []) => {
            given.budget.memory(dict.len() as u64 * NODE)?;
            Value::list(dict.entries().keys().map(|key| Value::Text(Arc::clone(key))).collect())?
        }
        ("values", []) => {
            given.budget.memory(dict.len() as u64 * NODE)?;
            Value::list(dict.entries().values().cloned().collect())?
        }
        ("get", [key]) => key.as_text().and_then(|key| dict.get(key)).cloned().unwrap_or(Value::Null),
        ("get", [key, default]) => key.as_text().and_then(|key| dict.get(key)).unwrap_or(default).clone(),
        ("has" | "Has", [key]) => Value::Bool(key.as_text().is_some_and(|key| dict.get(key).is_some())),
        _ => return Ok(None),
    }))
}

fn of_list(list: &List, name: &str, given: &Given<'_>) -> Result<Option<Value>, Failure> {
    let [wanted] = given.values else { return Ok(None) };
    let mut places = Vec::new();
    for (at, item) in list.items().iter().enumerate() {
        if operators::equal(given.budget, item, wanted)? {
            places.push(at);
        }
    }
    Ok(Some(match name {
        "has" | "Has" => Value::Bool(!places.is_empty()),
        "count" => super::count(places.len()),
        "index" => match places.first() {
            Some(at) => super::count(*at),
            None => return Err(Failure::argument("the list does not contain it")),
        },
        _ => return Ok(None),
    }))
}

fn of_text(text: &str, name: &str, given: &Given<'_>) -> Result<Option<Value>, Failure> {
    // No method makes more than three times the text, but for those that pay on their own.
    given.budget.memory(text.len() as u64 * 3)?;
    let argument = |at: usize| word(given.values.get(at).unwrap_or(&Value::Null), "an argument");
    Ok(Some(match (name, given.values.len()) {
        ("upper", 0) => Value::from(text.to_uppercase()),
        ("lower", 0) => Value::from(text.to_lowercase()),
        ("strip", 0) => Value::from(text.trim()),
        ("lstrip", 0) => Value::from(text.trim_start()),
        ("rstrip", 0) => Value::from(text.trim_end()),
        ("strip", 1) => Value::from(text.trim_matches(one_of(argument(0)?))),
        ("lstrip", 1) => Value::from(text.trim_start_matches(one_of(argument(0)?))),
        ("rstrip", 1) => Value::from(text.trim_end_matches(one_of(argument(0)?))),
        ("startswith", 1) => Value::Bool(text.starts_with(argument(0)?)),
        ("endswith", 1) => Value::Bool(text.ends_with(argument(0)?)),
        ("removeprefix", 1) => Value::from(text.strip_prefix(argument(0)?).unwrap_or(text)),
        ("removesuffix", 1) => Value::from(text.strip_suffix(argument(0)?).unwrap_or(text)),
        ("capitalize" | "title", 0) => Value::from(capitalized(text, name == "title")),
        ("replace", 2) => replace(given, text, argument(0)?, argument(1)?)?,
        ("split", 0) => parts(given, text.split_whitespace())?,
        ("split", 1) if argument(0)?.is_empty() => return Err(Failure::argument("the separator is empty")),
        ("split", 1) => parts(given, text.split(argument(0)?))?,
        ("splitlines", 0) => parts(given, text.lines())?,
        ("join", 1) => join(given, text)?,
        _ => return Ok(None),
    }))
}

fn one_of(letters: &str) -> impl Fn(char) -> bool + '_ {
    move |letter| letters.contains(letter)
}

fn capitalized(text: &str, every_word: bool) -> String {
    let mut inside = false;
    text.chars()
        .map(|letter| {
            let upper = !inside;
            inside = !every_word || letter.is_alphanumeric();
            if upper { letter.to_uppercase().collect::<String>() } else { letter.to_lowercase().collect() }
        })
        .collect()
}

fn replace(given: &Given<'_>, text: &str, from: &str, to: &str) -> Result<Value, Failure> {
    let most = if from.is_empty() { text.len() + 1 } else { text.len() / from.len() };
    given.budget.memory((most as u64).saturating_mul(to.len() as u64))?;
    Ok(Value::from(text.replace(from, to)))
}

fn parts<'t>(given: &Given<'_>, parts: impl Iterator<Item = &'t str> + Clone) -> Result<Value, Failure> {
    given.budget.memory(parts.clone().count() as u64 * NODE * 2)?;
    Ok(Value::list(parts.map(Value::from).collect())?)
}

fn join(given: &Given<'_>, separator: &str) -> Result<Value, Failure> {
    let items = given.items()?;
    let mut joined = String::new();
    for (at, item) in items.items().iter().enumerate() {
        let text = operators::text_of(item)?;
        given.budget.memory((separator.len() + text.len()) as u64)?;
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&text);
    }
    Ok(Value::from(joined))
}
