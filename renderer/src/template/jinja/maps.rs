//! Filters on maps.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Function, Given};
use crate::failure::Failure;
use crate::template::operators::{self, NODE};
use crate::value::{Dict, Value};

pub(super) static TABLE: &[Function] = &[
    Function::new("items", 1, 1, items),
    Function::new("dictsort", 1, 4, dictsort),
    Function::new("attr", 2, 2, attr),
];

fn map<'v>(given: &Given<'v>) -> Result<&'v Dict, Failure> {
    let subject = given.subject();
    subject.as_dict().ok_or_else(|| Failure::argument(format!("{} is no map", subject.kind())))
}

/// Pairs of key and value.
pub(super) fn pairs(given: &Given<'_>, dict: &Dict) -> Result<Vec<Value>, Failure> {
    given.budget.memory(dict.len() as u64 * NODE * 5)?;
    let pair = |(key, value): (&Arc<str>, &Value)| Value::list(vec![Value::Text(Arc::clone(key)), value.clone()]);
    Ok(dict.entries().iter().map(pair).collect::<Result<_, _>>()?)
}

fn items(given: &Given<'_>) -> Result<Value, Failure> {
    Ok(Value::list(pairs(given, map(given)?)?)?)
}

fn dictsort(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["case_sensitive", "by", "reverse"])?;
    let dict = map(given)?;
    let by_value = given.argument(2, "by").and_then(Value::as_text) == Some("value");
    let case_sensitive = given.flag(1, "case_sensitive");
    let mut pairs = pairs(given, dict)?;
    let key = |pair: &Value| -> Value {
        let at = usize::from(by_value);
        pair.as_list().and_then(|pair| pair.items().get(at)).cloned().unwrap_or(Value::Null)
    };
    pay_for_sorting(given, given.subject(), pairs.len())?;
    pairs.sort_by(|left, right| order(&key(left), &key(right), case_sensitive));
    if given.flag(3, "reverse") {
        pairs.reverse();
    }
    Ok(Value::list(pairs)?)
}

/// Each of the comparisons of a sort may walk two whole items.
pub(super) fn pay_for_sorting(given: &Given<'_>, subject: &Value, length: usize) -> Result<(), Failure> {
    let rounds = u64::from(usize::BITS - length.leading_zeros());
    Ok(given.budget.steps(subject.size().saturating_mul(rounds))?)
}

/// The order of a sort: letters of either case are the same unless wanted otherwise.
pub(super) fn order(left: &Value, right: &Value, case_sensitive: bool) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) if !case_sensitive => {
            left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
        }
        _ => operators::total_order(left, right),
    }
}

fn attr(given: &Given<'_>) -> Result<Value, Failure> {
    let name = super::word(given.values.get(1).unwrap_or(&Value::Null), "the name")?;
    let found = given.subject().get(name).cloned();
    found.ok_or_else(|| Failure::argument(format!("{} has no key `{name}`", given.subject().kind())))
}
