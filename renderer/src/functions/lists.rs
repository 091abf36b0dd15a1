//! Lists: making them, taking parts, searching.
//!
//! A list given is never changed. Where Go has a nil list (`rest` of an empty one), there is an empty list here.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::arguments::{self, wrong};
use super::{Entry, cost, numbers};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{List, Value};

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::variadic("list", 0, list),
    Entry::variadic("tuple", 0, list),
    Entry::new("first", 1, 1, first),
    Entry::new("mustFirst", 1, 1, first),
    Entry::new("last", 1, 1, last),
    Entry::new("mustLast", 1, 1, last),
    Entry::new("rest", 1, 1, rest),
    Entry::new("mustRest", 1, 1, rest),
    Entry::new("initial", 1, 1, initial),
    Entry::new("mustInitial", 1, 1, initial),
    Entry::new("append", 2, 2, append),
    Entry::new("mustAppend", 2, 2, append),
    Entry::new("push", 2, 2, append),
    Entry::new("mustPush", 2, 2, append),
    Entry::new("prepend", 2, 2, prepend),
    Entry::new("mustPrepend", 2, 2, prepend),
    Entry::variadic("concat", 0, concat),
    Entry::new("reverse", 1, 1, reverse),
    Entry::new("mustReverse", 1, 1, reverse),
    Entry::new("uniq", 1, 1, uniq),
    Entry::new("mustUniq", 1, 1, uniq),
    Entry::new("compact", 1, 1, compact),
    Entry::new("mustCompact", 1, 1, compact),
    Entry::new("has", 2, 2, has),
    Entry::new("mustHas", 2, 2, has),
    Entry::variadic("without", 1, without),
    Entry::variadic("mustWithout", 1, without),
    Entry::variadic("slice", 1, slice),
    Entry::variadic("mustSlice", 1, slice),
    Entry::new("chunk", 2, 2, chunk),
    Entry::new("mustChunk", 2, 2, chunk),
    Entry::variadic("index", 1, index),
    Entry::new("len", 1, 1, len),
    Entry::variadic("all", 0, all).lenient(),
    Entry::variadic("any", 0, any).lenient(),
];

/// A list of clones, paid for.
fn copied(budget: &Budget, items: &[Value]) -> Result<Value, Failure> {
    cost::list(budget, items.len())?;
    Ok(Value::list(items.to_vec())?)
}

/// A list of those items that `keep` keeps.
fn kept(budget: &Budget, list: &List, mut keep: impl FnMut(&Value) -> Result<bool, Failure>) -> Result<Value, Failure> {
    cost::list(budget, list.len())?;
    let mut items = Vec::new();
    for item in list.items() {
        if keep(item)? {
            items.push(item.clone());
        }
    }
    Ok(Value::list(items)?)
}

fn list(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    copied(budget, arguments)
}

fn first(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(arguments::list(arguments, 0)?.items().first().cloned().unwrap_or(Value::Null))
}

fn last(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(arguments::list(arguments, 0)?.items().last().cloned().unwrap_or(Value::Null))
}

fn rest(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    copied(budget, arguments::list(arguments, 0)?.items().split_first().map_or(&[], |(_, rest)| rest))
}

fn initial(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    copied(budget, arguments::list(arguments, 0)?.items().split_last().map_or(&[], |(_, initial)| initial))
}

fn append(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    joined(budget, [arguments::list(arguments, 0)?.items(), &arguments[1..]])
}

fn prepend(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    joined(budget, [&arguments[1..], arguments::list(arguments, 0)?.items()])
}

fn joined(budget: &Budget, parts: [&[Value]; 2]) -> Result<Value, Failure> {
    cost::list(budget, parts[0].len() + parts[1].len())?;
    Ok(Value::list(parts.concat())?)
}

fn concat(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut items = Vec::new();
    for at in 0..arguments.len() {
        let list = arguments::list(arguments, at)?;
        cost::list(budget, list.len())?;
        items.extend_from_slice(list.items());
    }
    Ok(Value::list(items)?)
}

fn reverse(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let list = arguments::list(arguments, 0)?;
    cost::list(budget, list.len())?;
    Ok(Value::list(list.items().iter().rev().cloned().collect())?)
}

fn uniq(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut texts: BTreeSet<Arc<str>> = BTreeSet::new();
    let mut others: Vec<Value> = Vec::new();
    kept(budget, arguments::list(arguments, 0)?, |item| {
        if let Value::Text(text) = item {
            cost::texts(budget, [&**text])?;
            return Ok(texts.insert(text.clone()));
        }
        let is_new = !contains(budget, &others, item)?;
        if is_new {
            others.push(item.clone());
        }
        Ok(is_new)
    })
}

fn contains(budget: &Budget, items: &[Value], wanted: &Value) -> Result<bool, Failure> {
    for item in items {
        if cost::same(budget, item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn compact(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    kept(budget, arguments::list(arguments, 0)?, |item| Ok(item.is_truthy()))
}

fn has(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    if arguments.get(1) == Some(&Value::Null) {
        return Ok(Value::Bool(false));
    }
    contains(budget, arguments::list(arguments, 1)?.items(), &arguments[0]).map(Value::Bool)
}

fn without(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let omitted = &arguments[1..];
    kept(budget, arguments::list(arguments, 0)?, |item| Ok(!contains(budget, omitted, item)?))
}

fn slice(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let list = arguments::list(arguments, 0)?;
    if list.is_empty() {
        return Ok(Value::empty_list());
    }
    let position = |at: usize, otherwise: usize| match arguments.get(at) {
        None => Ok(Some(otherwise)),
        Some(value) => numbers::to_int(value).map(|position| usize::try_from(position).ok()),
    };
    let range = position(1, 0)?.zip(position(2, list.len())?);
    let items = range.and_then(|(start, end)| list.items().get(start..end));
    copied(budget, items.ok_or_else(|| Failure::argument(format!("the list has only {} items", list.len())))?)
}

fn chunk(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let size = usize::try_from(numbers::whole(arguments, 0)?).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| Failure::argument("a chunk must have at least one item"))?;
    let list = arguments::list(arguments, 1)?;
    cost::list(budget, list.len())?;
    let chunks = list.items().chunks(size).map(|chunk| copied(budget, chunk)).collect::<Result<_, _>>()?;
    Ok(Value::list(chunks)?)
}

fn index(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut item = arguments[0].clone();
    if item == Value::Null {
        return Err(Failure::argument("there is nothing in null"));
    }
    for (at, key) in arguments.iter().enumerate().skip(1) {
        item = match (&item, key) {
            (Value::Dict(dict), Value::Text(key)) => {
                cost::texts(budget, [&**key])?;
                dict.get(key).cloned().unwrap_or(Value::Null)
            }
            (Value::Dict(_), other) => return Err(wrong(at, "text", Some(other))),
            (Value::List(list), Value::Int(number)) => within(list.items(), *number)?.clone(),
            (Value::Text(text), Value::Int(number)) => Value::Int(i64::from(*within(text.as_bytes(), *number)?)),
            (Value::List(_) | Value::Text(_), other) => return Err(wrong(at, "a whole number", Some(other))),
            (other, _) => return Err(Failure::argument(format!("there is nothing in {}", other.kind()))),
        };
    }
    Ok(item)
}

fn within<T>(items: &[T], number: i64) -> Result<&T, Failure> {
    let found = usize::try_from(number).ok().and_then(|number| items.get(number));
    found.ok_or_else(|| Failure::argument(format!("there is no item {number}: there are {}", items.len())))
}

fn len(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let length = match &arguments[0] {
        Value::Text(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Dict(dict) => dict.len(),
        other => return Err(wrong(0, "text, a list or a map", Some(other))),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn all(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(arguments.iter().all(Value::is_truthy)))
}

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn any(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(arguments.iter().any(Value::is_truthy)))
}
