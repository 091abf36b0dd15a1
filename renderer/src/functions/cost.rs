//! What lists and dicts cost, paid before they are made or compared. Copying an item is a small part of a step.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

/// A list item's own bytes.
const ITEM: u64 = 32;
/// A dict entry's own bytes: two pointers' worth of key, the value, its share of the tree.
const ENTRY: u64 = 64;

/// A list of so many items is about to be made.
pub(super) fn list(budget: &Budget, items: usize) -> Result<(), Failure> {
    budget.steps(items as u64 / 8)?;
    budget.memory((items as u64 + 1) * ITEM)?;
    Ok(())
}

/// A dict of so many entries is about to be made.
pub(super) fn dict(budget: &Budget, entries: usize) -> Result<(), Failure> {
    budget.steps(entries as u64 / 8)?;
    budget.memory((entries as u64 + 1) * ENTRY)?;
    Ok(())
}

/// Texts as long as these are about to be compared with others: looked up, sorted, searched.
pub(super) fn texts<'a>(budget: &Budget, texts: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    for text in texts {
        budget.steps((text.len() / 16) as u64)?;
    }
    Ok(())
}

/// Whether two values are the same in kind and content: `1` is neither `1.0` nor `"1"`.
pub(super) fn same(budget: &Budget, left: &Value, right: &Value) -> Result<bool, Failure> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            budget.steps(1 + (left.len().min(right.len()) / 64) as u64)?;
            Ok(left == right)
        }
        _ if left.size() != right.size() => {
            budget.steps(1)?;
            Ok(false)
        }
        _ => {
            budget.steps(left.size())?;
            Ok(left == right)
        }
    }
}
