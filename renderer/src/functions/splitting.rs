//! Between text and lists of text: splitting, joining, sorting.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::arguments::text;
use super::numbers::{scan, whole};
use super::{Entry, go_format};

/// What an item of a list takes besides its text.
const ITEM: u64 = 48;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("toString", 1, 1, to_string),
    Entry::new("toStrings", 1, 1, to_strings),
    Entry::new("join", 2, 2, join),
    Entry::new("split", 2, 2, split),
    Entry::new("splitn", 3, 3, splitn),
    Entry::new("splitList", 2, 2, split_list),
    Entry::new("sortAlpha", 1, 1, sort_alpha),
];

fn to_string(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [value, ..] => Ok(Value::Text(go_format::display(budget, value)?)),
        [] => Ok(Value::from("")),
    }
}

/// Each item as text; nulls are left out, and what is no list counts as its only item.
fn strings(budget: &Budget, value: &Value) -> Result<Vec<Arc<str>>, Failure> {
    let items = match value {
        Value::List(list) => list.items(),
        other => std::slice::from_ref(other),
    };
    budget.memory(items.len() as u64 * ITEM)?;
    items.iter().filter(|item| **item != Value::Null).map(|item| go_format::display(budget, item)).collect()
}

fn listed(items: impl IntoIterator<Item = Arc<str>>) -> Result<Value, Failure> {
    Ok(Value::list(items.into_iter().map(Value::Text).collect())?)
}

fn to_strings(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    listed(strings(budget, &arguments[0])?)
}

fn join(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let between = text(arguments, 0)?;
    let items = strings(budget, &arguments[1])?;
    let length = items.iter().fold(0u64, |sum, item| sum.saturating_add((item.len() + between.len()) as u64));
    budget.memory(length)?;
    Ok(items.join(between).into())
}

/// The pieces between separators, at most `most` of them; an empty separator splits into characters.
fn pieces(budget: &Budget, between: &str, subject: &str, most: Option<usize>) -> Result<Vec<Arc<str>>, Failure> {
    scan(budget, subject.len().saturating_add(between.len()))?;
    let most = most.unwrap_or(usize::MAX);
    let mut pieces = Vec::new();
    let mut rest = subject;
    while most > pieces.len() + 1 {
        let (end, next) = if between.is_empty() {
            let Some(first) = rest.chars().next().filter(|first| first.len_utf8() < rest.len()) else { break };
            (first.len_utf8(), first.len_utf8())
        } else {
            let Some(at) = rest.find(between) else { break };
            (at, at + between.len())
        };
        budget.memory(end as u64 + ITEM)?;
        pieces.push(Arc::from(&rest[..end]));
        rest = &rest[next..];
    }
    if most > 0 && !(between.is_empty() && rest.is_empty()) {
        budget.memory(rest.len() as u64 + ITEM)?;
        pieces.push(Arc::from(rest));
    }
    Ok(pieces)
}

fn numbered(pieces: Vec<Arc<str>>) -> Result<Value, Failure> {
    let entries: BTreeMap<Arc<str>, Value> =
        pieces.into_iter().enumerate().map(|(at, piece)| (format!("_{at}").into(), Value::Text(piece))).collect();
    Ok(Value::dict(entries.into())?)
}

fn split(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    numbered(pieces(budget, text(arguments, 0)?, text(arguments, 1)?, None)?)
}

fn splitn(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let most = usize::try_from(whole(arguments, 1)?).ok();
    numbered(pieces(budget, text(arguments, 0)?, text(arguments, 2)?, most)?)
}

fn split_list(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    listed(pieces(budget, text(arguments, 0)?, text(arguments, 1)?, None)?)
}

fn sort_alpha(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = &arguments[0];
    if subject.as_list().is_none() {
        return listed([go_format::display(budget, subject)?]);
    }
    let mut items = strings(budget, subject)?;
    // A comparison looks at text as far as it is equal: at most at all of it, once per level of the sort.
    let bytes: usize = items.iter().map(|item| item.len()).sum();
    scan(
        budget,
        bytes.saturating_add(items.len()).saturating_mul(items.len().checked_ilog2().unwrap_or(0) as usize + 1),
    )?;
    items.sort();
    listed(items)
}
