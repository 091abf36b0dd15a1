//! Reading numbers as Go and Sprig read them: from any value, from text, from arguments that must be whole.
//!
//! Sprig's casts never fail: what is no number counts as 0. Only a number that fits no 64 bits is an error here, since Go
//! gives another result for it on every processor.

use crate::budget::{Budget, Exceeded};
use crate::failure::Failure;
use crate::value::Value;

use super::arguments;

const EXACT: f64 = 9_007_199_254_740_992.0;

/// The whole number at `at`, for parameters that are `int` in Go.
pub(super) fn whole(arguments: &[Value], at: usize) -> Result<i64, Failure> {
    match arguments.get(at) {
        Some(Value::Int(number)) => Ok(*number),
        Some(Value::Float(number)) if number.fract() == 0.0 && number.abs() <= EXACT => truncated(*number),
        other => Err(arguments::wrong(at, "a whole number", other)),
    }
}

/// Sprig's cast to a whole number.
pub(super) fn to_int(value: &Value) -> Result<i64, Failure> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Float(number) => truncated(*number),
        Value::Bool(truth) => Ok(i64::from(*truth)),
        Value::Text(text) => Ok(parse_int(without_zero_decimals(text), 0).unwrap_or(0)),
        Value::Null | Value::List(_) | Value::Dict(_) => Ok(0),
    }
}

/// Sprig's cast to a float.
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::Text(text) => parse_float(text).unwrap_or(0.0),
        Value::Null | Value::List(_) | Value::Dict(_) => 0.0,
    }
}

/// A float as a result: a whole number where it is one, as numbers in values files are.
pub(super) fn float(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < EXACT && !(number == 0.0 && number.is_sign_negative()) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return Value::Int(number as i64);
    }
    Value::Float(number)
}

/// The float without its fraction.
fn truncated(number: f64) -> Result<i64, Failure> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        #[expect(clippy::cast_possible_truncation, reason = "inside the range, checked above")]
        return Ok(number as i64);
    }
    Err(Failure::argument("the number fits no 64-bit whole number"))
}

/// `12.00` as `12`; everything else as it is.
fn without_zero_decimals(text: &str) -> &str {
    match text.rsplit_once('.') {
        Some((whole, decimals)) if !decimals.is_empty() && decimals.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    }
}

/// Go's reading of a whole number: with `base` 0 its prefix says which base it is in.
pub(super) fn parse_int(text: &str, base: u32) -> Option<i64> {
    let (negative, digits) = sign(text);
    let magnitude = parse_magnitude(digits, base)?;
    let number = if negative { -magnitude } else { magnitude };
    i64::try_from(number).ok()
}

/// Go's `Atoi`: what is no number is 0, what is too large is the largest.
pub(super) fn atoi(text: &str) -> i64 {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let limit = if negative { i64::MIN } else { i64::MAX };
    parse_int(text, 10).unwrap_or(limit)
}

fn sign(text: &str) -> (bool, &str) {
    if let Some(rest) = text.strip_prefix('-') {
        return (true, rest);
    }
    (false, text.strip_prefix('+').unwrap_or(text))
}

fn parse_magnitude(digits: &str, base: u32) -> Option<i128> {
    if base != 0 {
        return unsigned(digits, base);
    }
    let (base, rest) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !rest.contains('_') {
        return unsigned(rest, base);
    }
    // An underscore stands between digits, or between the prefix and the first digit.
    let first_allowed = base != 10 || !rest.starts_with('_');
    if !first_allowed || rest.ends_with('_') || rest.contains("__") {
        return None;
    }
    unsigned(&rest.replace('_', ""), base)
}

fn unsigned(digits: &str, base: u32) -> Option<i128> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    i128::from_str_radix(digits, base).ok()
}

/// Go's reading of a decimal float; nothing when it is none or too large.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let (_, unsigned) = sign(text);
    let signed_nan = unsigned.len() < text.len() && unsigned.eq_ignore_ascii_case("nan");
    if signed_nan {
        return None;
    }
    let number: f64 = if text.contains('_') { without_underscores(text)?.parse() } else { text.parse() }.ok()?;
    let spelled_out = unsigned.starts_with(['i', 'I']);
    (number.is_finite() || number.is_nan() || spelled_out).then_some(number)
}

/// The digits, if every underscore stands between two.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let good = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let all_good = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || good(at));
    all_good.then(|| text.replace('_', ""))
}

/// Pays for looking at this many bytes of text.
pub(super) fn scan(budget: &Budget, bytes: usize) -> Result<(), Exceeded> {
    budget.steps(bytes as u64 / 64 + 1)
}
