//! Choosing and comparing: defaults, requirements, Go's comparisons.
//!
//! `and` and `or` are operators of the template language and no functions here. Numbers compare by their value, be they
//! whole or not: in Helm all numbers of values files are floats, here whole ones are whole.

use std::cmp::Ordering;

use super::arguments::{self, wrong};
use super::{Entry, cost};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

pub(super) static TABLE: &[Entry] = &[
    Entry::variadic("default", 1, default).lenient(),
    Entry::new("empty", 1, 1, empty).lenient(),
    Entry::variadic("coalesce", 0, coalesce).lenient(),
    Entry::new("ternary", 3, 3, ternary).lenient(),
    Entry::new("required", 2, 2, required).lenient(),
    Entry::new("fail", 1, 1, fail),
    Entry::new("not", 1, 1, not).lenient(),
    Entry::variadic("eq", 2, eq),
    Entry::new("ne", 2, 2, ne),
    Entry::new("lt", 2, 2, lt),
    Entry::new("le", 2, 2, le),
    Entry::new("gt", 2, 2, gt),
    Entry::new("ge", 2, 2, ge),
];

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn default(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let given = arguments.get(1).filter(|given| given.is_truthy());
    Ok(given.unwrap_or(&arguments[0]).clone())
}

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn empty(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!arguments[0].is_truthy()))
}

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn coalesce(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(arguments.iter().find(|value| value.is_truthy()).cloned().unwrap_or(Value::Null))
}

fn ternary(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    match &arguments[2] {
        Value::Bool(true) => Ok(arguments[0].clone()),
        Value::Bool(false) => Ok(arguments[1].clone()),
        other => Err(wrong(2, "a boolean", Some(other))),
    }
}

fn required(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let message = arguments::text(arguments, 0)?;
    let value = &arguments[1];
    if *value == Value::Null || value.as_text() == Some("") {
        return Err(Failure::Chart(message.to_owned()));
    }
    Ok(value.clone())
}

fn fail(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Err(Failure::Chart(arguments::text(arguments, 0)?.to_owned()))
}

#[expect(clippy::unnecessary_wraps, reason = "every function of the library has this shape")]
fn not(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!arguments[0].is_truthy()))
}

fn eq(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    for other in &arguments[1..] {
        if equal(budget, &arguments[0], other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn ne(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!equal(budget, &arguments[0], &arguments[1])?))
}

/// Null equals null only; lists and maps compare with nothing but null.
fn equal(budget: &Budget, left: &Value, right: &Value) -> Result<bool, Failure> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(left == right),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Text(_), Value::Text(_)) => cost::same(budget, left, right),
        _ => Ok(numbers(left, right)? == Some(Ordering::Equal)),
    }
}

/// How two numbers compare, exactly; NaN compares with none.
fn numbers(left: &Value, right: &Value) -> Result<Option<Ordering>, Failure> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(Some(left.cmp(right))),
        (Value::Float(left), Value::Float(right)) => Ok(left.partial_cmp(right)),
        (Value::Int(left), Value::Float(right)) => Ok(whole_and_float(*left, *right)),
        (Value::Float(left), Value::Int(right)) => Ok(whole_and_float(*right, *left).map(Ordering::reverse)),
        _ => Err(Failure::argument(format!("{} and {} cannot be compared", left.kind(), right.kind()))),
    }
}

fn whole_and_float(whole: i64, float: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float >= LIMIT {
        return Some(Ordering::Less);
    }
    if float < -LIMIT {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "inside the range, checked above; NaN is none below")]
    let floor = float.floor() as i64;
    let fraction = float.partial_cmp(&float.floor())?;
    // What the floor leaves over decides between equal whole parts.
    Some(whole.cmp(&floor).then(fraction.reverse()))
}

fn order(budget: &Budget, arguments: &[Value]) -> Result<Option<Ordering>, Failure> {
    let (left, right) = (&arguments[0], &arguments[1]);
    if let (Value::Text(left), Value::Text(right)) = (left, right) {
        budget.steps(1 + (left.len().min(right.len()) / 64) as u64)?;
        return Ok(Some(left.cmp(right)));
    }
    numbers(left, right)
}

fn lt(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(order(budget, arguments)?.is_some_and(Ordering::is_lt)))
}

fn le(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(order(budget, arguments)?.is_some_and(Ordering::is_le)))
}

fn gt(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(order(budget, arguments)?.is_some_and(Ordering::is_gt)))
}

fn ge(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(order(budget, arguments)?.is_some_and(Ordering::is_ge)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limits;

    #[test]
    fn whole_numbers_and_floats_compare_exactly() {
        let largest = 9_007_199_254_740_993;
        for (whole, float, expected) in [
            (1, 1.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (largest, 9_007_199_254_740_992.0, Ordering::Greater),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, f64::NEG_INFINITY, Ordering::Greater),
        ] {
            assert_eq!(whole_and_float(whole, float), Some(expected), "{whole} and {float}");
        }
        assert_eq!(whole_and_float(0, f64::NAN), None);
    }

    #[test]
    fn a_chart_that_requires_a_value_fails_in_its_own_words() {
        let budget = Budget::new(Limits::default());
        let failure = required(&budget, &[Value::from("set the host"), Value::Null]);
        assert_eq!(failure, Err(Failure::Chart("set the host".to_owned())));
        assert_eq!(required(&budget, &[Value::from("x"), Value::Int(0)]), Ok(Value::Int(0)));
    }
}
