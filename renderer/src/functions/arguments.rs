//! Reading arguments as Go's templates and Sprig would, with errors that name the argument.

use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::{Dict, List, Value};

/// The text of argument `at` (from 0).
pub(super) fn text(arguments: &[Value], at: usize) -> Result<&str, Failure> {
    match arguments.get(at) {
        Some(Value::Text(text)) => Ok(text),
        other => Err(wrong(at, "text", other)),
    }
}

/// The list at `at`.
pub(super) fn list(arguments: &[Value], at: usize) -> Result<&List, Failure> {
    match arguments.get(at) {
        Some(Value::List(list)) => Ok(list),
        other => Err(wrong(at, "a list", other)),
    }
}

/// The map at `at`.
pub(super) fn dict(arguments: &[Value], at: usize) -> Result<&Dict, Failure> {
    match arguments.get(at) {
        Some(Value::Dict(dict)) => Ok(dict),
        other => Err(wrong(at, "a map", other)),
    }
}

/// The refusal of an argument of the wrong kind.
pub(super) fn wrong(at: usize, wanted: &str, found: Option<&Value>) -> Failure {
    let found = found.map_or("nothing", Value::kind);
    Failure::argument(format!("argument {} must be {wanted}, not {found}", at + 1))
}

/// Text as a result, paid for.
pub(super) fn made(budget: &Budget, text: impl Into<Arc<str>>) -> Result<Value, Failure> {
    let text = text.into();
    budget.memory(text.len() as u64)?;
    Ok(Value::Text(text))
}
