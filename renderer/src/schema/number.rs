//! Numbers as JSON Schema sees them: `1` and `1.0` are the same, and `0.3` is a multiple of `0.1`.
//!
//! Compared and divided exactly: a float stands for the shortest decimal that is read as it, never for the binary
//! fraction behind it.

use std::cmp::Ordering;

use crate::value::Value;

/// The order of two numbers; `None` if one of them is none.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Float(right)) => mixed(*left, *right),
        (Value::Float(left), Value::Int(right)) => mixed(*right, *left).map(Ordering::reverse),
        _ => None,
    }
}

fn mixed(whole: i64, float: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= BEYOND {
        return Some(Ordering::Less);
    }
    if float < -BEYOND {
        return Some(Ordering::Greater);
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the range, and without its fraction")]
    let truncated = float.trunc() as i64;
    Some(whole.cmp(&truncated).then_with(|| 0.0f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)))
}

/// Whether it is a number without a fraction.
pub(super) fn is_whole(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Float(number) => number.is_finite() && number.fract() == 0.0,
        _ => false,
    }
}

/// The number as a count; `None` if it is negative, has a fraction or is none. What no count can hold is the largest.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative; saturates")]
        Value::Float(number) if is_whole(value) && *number >= 0.0 => Some(*number as u64),
        _ => None,
    }
}

/// `digits * 10^exponent`, without sign.
struct Decimal {
    digits: u128,
    exponent: i32,
}

fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(number) => Some(Decimal { digits: u128::from(number.unsigned_abs()), exponent: 0 }),
        Value::Float(number) if number.is_finite() => {
            let written = format!("{:e}", number.abs());
            let (mantissa, exponent) = written.split_once('e')?;
            let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(after.len()).ok()?)?;
            Some(Decimal { digits: format!("{before}{after}").parse().ok()?, exponent })
        }
        _ => None,
    }
}

/// Whether `value` is a whole number of times `step`.
pub(super) fn is_multiple(value: &Value, step: &Value) -> bool {
    let (Some(value), Some(step)) = (decimal(value), decimal(step)) else { return false };
    if step.digits == 0 {
        return false;
    }
    let shift = value.exponent - step.exponent;
    if shift >= 0 {
        let rest = value.digits % step.digits;
        return (rest * power(10, shift.unsigned_abs(), step.digits)).is_multiple_of(step.digits);
    }
    let step = 10u128.checked_pow(shift.unsigned_abs()).and_then(|scale| step.digits.checked_mul(scale));
    // A step that overflows is larger than any value here.
    step.map_or(value.digits == 0, |step| value.digits % step == 0)
}

/// `base^exponent` modulo a number below 2^64.
fn power(base: u128, exponent: u32, modulus: u128) -> u128 {
    let (mut result, mut base, mut exponent) = (1 % modulus, base % modulus, exponent);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    result
}

/// An order of all values that takes equal numbers for equal, whatever their type.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            compare(left, right).unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
        }
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::List(left), Value::List(right)) => {
            let items = left.items().iter().zip(right.items());
            let first = items.map(|(left, right)| order(left, right)).find(|order| order.is_ne());
            first.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Dict(left), Value::Dict(right)) => {
            let entries = left.entries().iter().zip(right.entries());
            let first = entries.map(|(left, right)| left.0.cmp(right.0).then_with(|| order(left.1, right.1)));
            first.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

// A template can make one; without a place in the order, sorting would not be one.
fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(number) if number.is_nan())
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Float(_) => 2,
        Value::Text(_) => 3,
        Value::List(_) => 4,
        Value::Dict(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_exact_for_decimals() {
        let cases = [
            (Value::Float(0.3), Value::Float(0.1), true),
            (Value::Float(0.35), Value::Float(0.1), false),
            (Value::Float(1.1), Value::Float(0.01), true),
            (Value::Float(0.0075), Value::Float(0.0001), true),
            (Value::Float(1e308), Value::Float(0.5), true),
            (Value::Float(1e308), Value::Float(0.123_456_789), false),
            (Value::Int(i64::MIN), Value::Int(-2), true),
            (Value::Float(5e-324), Value::Float(1e308), false),
            (Value::Int(0), Value::Float(1e308), true),
            (Value::Int(7), Value::Int(0), false),
        ];
        for (value, step, expected) in cases {
            assert_eq!(is_multiple(&value, &step), expected, "{value:?} {step:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_comes_after_all_numbers() {
        let nan = Value::Float(f64::NAN);
        for number in [Value::Int(1), Value::Float(f64::INFINITY)] {
            assert_eq!(order(&nan, &number), Ordering::Greater);
            assert_eq!(order(&number, &nan), Ordering::Less);
        }
        assert_eq!(order(&nan, &nan), Ordering::Equal);
    }

    #[test]
    fn whole_numbers_and_floats_are_compared_exactly() {
        let largest = Value::Int(i64::MAX);
        assert_eq!(compare(&largest, &Value::Float(9_223_372_036_854_775_808.0)), Some(Ordering::Less));
        assert_eq!(compare(&Value::Int(i64::MIN), &Value::Float(-9_223_372_036_854_775_808.0)), Some(Ordering::Equal));
        assert_eq!(compare(&Value::Int(1), &Value::Float(1.5)), Some(Ordering::Less));
        assert_eq!(compare(&Value::Int(-1), &Value::Float(-1.5)), Some(Ordering::Greater));
        assert_eq!(compare(&Value::Float(2.5), &Value::Int(2)), Some(Ordering::Greater));
    }
}
