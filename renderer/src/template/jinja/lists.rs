//! Filters on lists.

use super::maps::{order, pay_for_sorting};
use super::{Function, Given, attribute, count, whole, word};
use crate::failure::Failure;
use crate::template::operators::{self, NODE};
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    Function::new("length", 1, 1, length),
    Function::new("count", 1, 1, length),
    Function::new("sort", 1, 4, sort),
    Function::new("unique", 1, 3, unique),
    Function::new("batch", 2, 3, batch),
    Function::new("groupby", 2, 4, groupby),
    Function::variadic("zip", 1, zip),
    Function::variadic("chain", 1, chain),
];

fn length(given: &Given<'_>) -> Result<Value, Failure> {
    match given.subject() {
        Value::Text(text) => {
            given.budget.steps(text.len() as u64 / 16)?;
            Ok(count(text.chars().count()))
        }
        Value::List(list) => Ok(count(list.len())),
        Value::Dict(dict) => Ok(count(dict.len())),
        other => Err(Failure::argument(format!("{} has no length", other.kind()))),
    }
}

fn sort(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["reverse", "case_sensitive", "attribute"])?;
    let case_sensitive = given.flag(2, "case_sensitive");
    let path = given.argument(3, "attribute").map(|name| word(name, "`attribute`")).transpose()?;
    let items = given.items()?;
    given.budget.memory(items.len() as u64 * NODE * 2)?;
    pay_for_sorting(given, &Value::List(items.clone()), items.len())?;
    let keys = |item: &Value| -> Vec<Value> {
        let Some(path) = path else { return vec![item.clone()] };
        path.split(',').map(|path| attribute(item, path.trim()).cloned().unwrap_or(Value::Null)).collect()
    };
    let mut keyed: Vec<(Vec<Value>, Value)> = items.items().iter().map(|item| (keys(item), item.clone())).collect();
    let reverse = given.flag(1, "reverse");
    keyed.sort_by(|(left, _), (right, _)| {
        let mut pairs = left.iter().zip(right).map(|(left, right)| order(left, right, case_sensitive));
        let found = pairs.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal);
        if reverse { found.reverse() } else { found }
    });
    Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect())?)
}

fn unique(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["case_sensitive", "attribute"])?;
    let case_sensitive = given.flag(1, "case_sensitive");
    let path = given.argument(2, "attribute").map(|name| word(name, "`attribute`")).transpose()?;
    let items = given.items()?;
    let whole = Value::List(items.clone());
    given.budget.steps(whole.size().saturating_mul(items.len() as u64))?;
    given.budget.memory(items.len() as u64 * NODE)?;
    let key = |item: &Value| match path {
        Some(path) => attribute(item, path).cloned().unwrap_or(Value::Null),
        None => item.clone(),
    };
    let mut seen: Vec<Value> = Vec::new();
    let mut kept = Vec::new();
    for item in items.items() {
        let key = key(item);
        if !seen.iter().any(|seen| order(seen, &key, case_sensitive).is_eq()) {
            seen.push(key);
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept)?)
}

fn batch(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["fill_with"])?;
    let size = whole(given.values.get(1).unwrap_or(&Value::Null), "the size of a batch")?;
    let size = usize::try_from(size).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| Failure::argument("the size of a batch must be at least 1"))?;
    let filler = given.argument(2, "fill_with");
    let items = given.items()?;
    given.budget.memory(items.len() as u64 * NODE * 2)?;
    if filler.is_some() && !items.is_empty() {
        given.budget.memory((size as u64).saturating_mul(NODE))?;
    }
    let batch = |chunk: &[Value]| {
        let mut chunk = chunk.to_vec();
        if let Some(filler) = filler {
            chunk.resize(size, filler.clone());
        }
        Value::list(chunk)
    };
    Ok(Value::list(items.items().chunks(size).map(batch).collect::<Result<_, _>>()?)?)
}

/// Pairs of a key and the items that have it, in the order of the keys.
fn groupby(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["attribute", "default", "case_sensitive"])?;
    let path = word(given.argument(1, "attribute").unwrap_or(&Value::Null), "the attribute")?;
    let default = given.argument(2, "default");
    let case_sensitive = given.flag(3, "case_sensitive");
    let items = given.items()?;
    given.budget.memory(items.len() as u64 * NODE * 4)?;
    pay_for_sorting(given, &Value::List(items.clone()), items.len())?;
    let mut keyed = Vec::with_capacity(items.len());
    for item in items.items() {
        let key = attribute(item, path).or(default).cloned();
        let key = key.ok_or_else(|| Failure::argument(format!("an item has no `{path}`")))?;
        keyed.push((key, item.clone()));
    }
    keyed.sort_by(|(left, _), (right, _)| order(left, right, case_sensitive));
    let groups = keyed.chunk_by(|(left, _), (right, _)| order(left, right, case_sensitive).is_eq());
    let group = |group: &[(Value, Value)]| {
        let key = group.first().map_or(Value::Null, |(key, _)| key.clone());
        Value::list(vec![key, Value::list(group.iter().map(|(_, item)| item.clone()).collect())?])
    };
    Ok(Value::list(groups.map(group).collect::<Result<_, _>>()?)?)
}

fn zip(given: &Given<'_>) -> Result<Value, Failure> {
    let lists = given.values.iter().map(|value| super::items(given.budget, value)).collect::<Result<Vec<_>, _>>()?;
    let length = lists.iter().map(crate::value::List::len).min().unwrap_or(0);
    given.budget.memory((length as u64).saturating_mul(lists.len() as u64 + 2).saturating_mul(NODE))?;
    let row = |at: usize| Value::list(lists.iter().filter_map(|list| list.items().get(at).cloned()).collect());
    Ok(Value::list((0..length).map(row).collect::<Result<_, _>>()?)?)
}

fn chain(given: &Given<'_>) -> Result<Value, Failure> {
    let mut whole = Vec::new();
    for value in given.values {
        let items = super::items(given.budget, value)?;
        given.budget.memory(items.len() as u64 * operators::NODE)?;
        whole.extend(items.items().iter().cloned());
    }
    Ok(Value::list(whole)?)
}
