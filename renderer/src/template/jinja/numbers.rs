//! Functions on numbers.

use super::{Function, Given, whole};
use crate::failure::Failure;
use crate::template::operators::{self, NODE};
use crate::template::program::Arithmetic;
use crate::value::Value;

pub(super) static TABLE: &[Function] = &[
    Function::new("range", 1, 3, range),
    Function::new("abs", 1, 1, abs),
    Function::new("float", 1, 2, float),
    Function::new("bool", 1, 1, bool),
    Function::new("sum", 1, 3, sum),
];

fn range(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&[])?;
    let number = |at: usize| given.values.get(at).map(|value| whole(value, "a bound of `range`")).transpose();
    let first = number(0)?.unwrap_or(0);
    let (start, end) = match number(1)? {
        Some(end) => (first, end),
        None => (0, first),
    };
    let step = number(2)?.unwrap_or(1);
    if step == 0 {
        return Err(Failure::argument("the step cannot be 0"));
    }
    let distance = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
    let width = i128::from(step.unsigned_abs());
    let length = u64::try_from((distance + width - 1).div_euclid(width).max(0)).unwrap_or(u64::MAX);
    given.budget.memory(length.saturating_mul(NODE))?;
    let numbers = std::iter::successors(Some(start), |number| number.checked_add(step));
    Ok(Value::list(numbers.take(usize::try_from(length).unwrap_or(0)).map(Value::Int).collect())?)
}

fn abs(given: &Given<'_>) -> Result<Value, Failure> {
    match given.subject() {
        Value::Int(number) => number
            .checked_abs()
            .map(Value::Int)
            .ok_or_else(|| Failure::argument(format!("{number} has no counterpart"))),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other => Err(Failure::argument(format!("{} is no number", other.kind()))),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a whole number is turned into another on request")]
fn float(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["default"])?;
    let parsed = match given.subject() {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        Value::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Null => Some(0.0),
        Value::List(_) | Value::Dict(_) => None,
    };
    match (parsed, given.argument(1, "default")) {
        (Some(number), _) => Ok(Value::Float(number)),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(Failure::argument(format!("{} is no number", given.subject().kind()))),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "all functions of the table have one shape")]
fn bool(given: &Given<'_>) -> Result<Value, Failure> {
    Ok(Value::Bool(given.subject().is_truthy()))
}

fn sum(given: &Given<'_>) -> Result<Value, Failure> {
    given.only(&["attribute", "start"])?;
    let attribute = given.argument(1, "attribute").map(|name| super::word(name, "`attribute`")).transpose()?;
    let items = given.items()?;
    given.budget.steps(items.len() as u64)?;
    let mut total = given.argument(2, "start").cloned().unwrap_or(Value::Int(0));
    for item in items.items() {
        let item = match attribute {
            Some(path) => {
                super::attribute(item, path).ok_or_else(|| Failure::argument(format!("an item has no `{path}`")))?
            }
            None => item,
        };
        total = operators::arithmetic(given.budget, Arithmetic::Add, &total, item)?;
    }
    Ok(total)
}
