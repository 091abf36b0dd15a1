//! Dicts: making them, reading them, merging them.
//!
//! A dict given is never changed: `set`, `unset` and `merge` give a new one, where Helm changes the one it was given.
//! Null is an empty dict, as in Go. Keys and values come in the order of the keys; in Helm in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arguments::{self, wrong};
use super::go_format::display;
use super::{Entry, cost};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{Dict, Value};

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::variadic("dict", 0, dict),
    Entry::new("get", 2, 2, get),
    Entry::new("set", 3, 3, set),
    Entry::new("unset", 2, 2, unset),
    Entry::new("hasKey", 2, 2, has_key),
    Entry::variadic("pluck", 1, pluck),
    Entry::variadic("dig", 3, dig),
    Entry::variadic("merge", 1, merge),
    Entry::variadic("mustMerge", 1, merge),
    Entry::variadic("mergeOverwrite", 1, merge_overwrite),
    Entry::variadic("mustMergeOverwrite", 1, merge_overwrite),
    Entry::variadic("keys", 0, keys),
    Entry::variadic("pick", 1, pick),
    Entry::variadic("omit", 1, omit),
    Entry::new("values", 1, 1, values),
    Entry::new("deepCopy", 1, 1, deep_copy),
    Entry::new("mustDeepCopy", 1, 1, deep_copy),
];

/// The dict at `at`; null counts as an empty one.
fn dict_or_null(arguments: &[Value], at: usize) -> Result<Dict, Failure> {
    match arguments.get(at) {
        Some(Value::Null) => Ok(Dict::default()),
        _ => arguments::dict(arguments, at).cloned(),
    }
}

/// The key at `at`, paid for as what is looked up.
fn key<'a>(budget: &Budget, arguments: &'a [Value], at: usize) -> Result<&'a str, Failure> {
    let key = arguments::text(arguments, at)?;
    cost::texts(budget, [key])?;
    Ok(key)
}

/// The text of a key, as `dict` makes it from any scalar.
fn key_text(budget: &Budget, arguments: &[Value], at: usize) -> Result<Arc<str>, Failure> {
    match &arguments[at] {
        scalar @ (Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_)) => display(budget, scalar),
        other => Err(wrong(at, "a key", Some(other))),
    }
}

fn dict(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    cost::dict(budget, arguments.len() / 2)?;
    let mut entries = BTreeMap::new();
    for at in (0..arguments.len()).step_by(2) {
        let value = arguments.get(at + 1).cloned().unwrap_or_else(|| Value::from(""));
        let key = key_text(budget, arguments, at)?;
        cost::texts(budget, [&*key])?;
        entries.insert(key, value);
    }
    Ok(Value::dict(entries.into())?)
}

fn get(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    Ok(dict.get(key(budget, arguments, 1)?).cloned().unwrap_or_else(|| Value::from("")))
}

fn set(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = arguments::dict(arguments, 0)?;
    let key = key(budget, arguments, 1)?;
    cost::dict(budget, dict.len() + 1)?;
    let mut entries = dict.entries().to_map();
    entries.insert(key.into(), arguments[2].clone());
    Ok(Value::dict(entries.into())?)
}

fn unset(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    let key = key(budget, arguments, 1)?;
    if dict.get(key).is_none() {
        return Ok(Value::Dict(dict));
    }
    cost::dict(budget, dict.len())?;
    let mut entries = dict.entries().to_map();
    entries.remove(key);
    Ok(Value::dict(entries.into())?)
}

fn has_key(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    Ok(Value::Bool(dict.get(key(budget, arguments, 1)?).is_some()))
}

fn pluck(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let key = arguments::text(arguments, 0)?;
    cost::list(budget, arguments.len())?;
    let mut found = Vec::new();
    for at in 1..arguments.len() {
        cost::texts(budget, [key])?;
        found.extend(dict_or_null(arguments, at)?.get(key).cloned());
    }
    Ok(Value::list(found)?)
}

fn dig(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let [keys @ .., default, _] = arguments else { return Err(Failure::argument("takes at least three arguments")) };
    let mut found = Value::Dict(arguments::dict(arguments, arguments.len() - 1)?.clone());
    for at in 0..keys.len() {
        let key = key(budget, keys, at)?;
        let Value::Dict(dict) = &found else {
            return Err(Failure::argument(format!("there is no `{key}` in {}", found.kind())));
        };
        match dict.get(key).cloned() {
            Some(value) => found = value,
            None => return Ok(default.clone()),
        }
    }
    Ok(found)
}

fn keys(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut keys = Vec::new();
    for at in 0..arguments.len() {
        let dict = dict_or_null(arguments, at)?;
        cost::list(budget, dict.len())?;
        keys.extend(dict.entries().keys().cloned().map(Value::Text));
    }
    Ok(Value::list(keys)?)
}

fn values(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    cost::list(budget, dict.len())?;
    Ok(Value::list(dict.entries().values().cloned().collect())?)
}

fn pick(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    cost::dict(budget, arguments.len())?;
    let mut entries = BTreeMap::new();
    for at in 1..arguments.len() {
        let key = key(budget, arguments, at)?;
        entries.extend(dict.entries().get_key_value(key).map(|(key, value)| (key.clone(), value.clone())));
    }
    Ok(Value::dict(entries.into())?)
}

fn omit(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let dict = dict_or_null(arguments, 0)?;
    cost::dict(budget, dict.len() + arguments.len())?;
    let mut entries = dict.entries().to_map();
    for at in 1..arguments.len() {
        entries.remove(key(budget, arguments, at)?);
    }
    Ok(Value::dict(entries.into())?)
}

/// Values are never changed, so a copy is the value itself.
#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn deep_copy(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(arguments[0].clone())
}

/// Who wins where both dicts have something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wins {
    /// What is there, unless it is empty.
    First,
    /// What comes later, even if it is empty.
    Later,
}

fn merge(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    merge_all(budget, arguments, Wins::First)
}

fn merge_overwrite(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    merge_all(budget, arguments, Wins::Later)
}

fn merge_all(budget: &Budget, arguments: &[Value], wins: Wins) -> Result<Value, Failure> {
    let mut merged = dict_or_null(arguments, 0)?;
    for at in 1..arguments.len() {
        merged = merge_two(budget, &merged, &dict_or_null(arguments, at)?, wins)?;
    }
    Ok(Value::Dict(merged))
}

fn merge_two(budget: &Budget, first: &Dict, later: &Dict, wins: Wins) -> Result<Dict, Failure> {
    if later.is_empty() || first.is_same(later) {
        return Ok(first.clone());
    }
    cost::dict(budget, first.len() + later.len())?;
    cost::texts(budget, later.entries().keys().map(|key| &**key))?;
    let mut entries = first.entries().to_map();
    for (key, value) in later.entries() {
        let merged = match (entries.get(key), value) {
            (_, Value::Null) if wins == Wins::First => continue,
            (Some(Value::Dict(first)), Value::Dict(later)) => Value::Dict(merge_two(budget, first, later, wins)?),
            (Some(there), _) if wins == Wins::First && there.is_truthy() => continue,
            _ => value.clone(),
        };
        entries.insert(key.clone(), merged);
    }
    Ok(Dict::new(entries.into())?)
}
