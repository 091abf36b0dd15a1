//! From one type to another, and asking for types.
//!
//! Go's templates see whole numbers of values files as `float64`, those of its command line as `int64` and literals as
//! `int`. Here a whole number is one thing: its type is `int64`, and the tests of type say yes to all three names.

#![expect(clippy::unnecessary_wraps, reason = "all functions of a table have one signature")]

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::arguments::text;
use super::numbers::{float, parse_int, scan, to_float, to_int};
use super::{Entry, go_format, numbers};

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("int", 1, 1, int),
    Entry::new("int64", 1, 1, int),
    Entry::new("float64", 1, 1, float64),
    Entry::new("atoi", 1, 1, atoi),
    Entry::new("toDecimal", 1, 1, to_decimal),
    Entry::new("typeOf", 1, 1, type_of).lenient(),
    Entry::new("typeIs", 2, 2, type_is).lenient(),
    Entry::new("typeIsLike", 2, 2, type_is).lenient(),
    Entry::new("kindOf", 1, 1, kind_of).lenient(),
    Entry::new("kindIs", 2, 2, kind_is).lenient(),
    Entry::new("deepEqual", 2, 2, deep_equal),
];

const NUMBERS: [&str; 3] = ["int", "int64", "float64"];

fn int(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    to_int(&arguments[0]).map(Value::Int)
}

fn float64(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(float(to_float(&arguments[0])))
}

fn atoi(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let digits = text(arguments, 0)?;
    scan(budget, digits.len())?;
    Ok(numbers::atoi(digits).into())
}

fn to_decimal(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let digits = go_format::display(budget, &arguments[0])?;
    Ok(parse_int(&digits, 8).unwrap_or(0).into())
}

fn type_of(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(go_format::type_name(&arguments[0]).into())
}

fn type_is(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (wanted, value) = (text(arguments, 0)?, &arguments[1]);
    Ok(is_number(wanted, value).unwrap_or(wanted == go_format::type_name(value)).into())
}

fn kind_of(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(kind(&arguments[0]).into())
}

fn kind_is(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (wanted, value) = (text(arguments, 0)?, &arguments[1]);
    Ok(is_number(wanted, value).unwrap_or(wanted == kind(value)).into())
}

/// For a whole number, whether this is one of the names that Go may have for its type.
fn is_number(wanted: &str, value: &Value) -> Option<bool> {
    matches!(value, Value::Int(_)).then(|| NUMBERS.contains(&wanted))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::Text(_) => "string",
        Value::List(_) => "slice",
        Value::Dict(_) => "map",
    }
}

fn deep_equal(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (left, right) = (&arguments[0], &arguments[1]);
    budget.steps(left.size().min(right.size()))?;
    Ok((left == right).into())
}
