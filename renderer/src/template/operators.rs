//! What operators do with values. Pays before it makes or walks anything; knows no template.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;

use super::program::{Arithmetic, Comparison};
use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

/// What a value costs to hold in a list.
pub(super) const NODE: u64 = 32;

/// The text of a scalar, as it is written into a template.
pub(super) fn text_of(value: &Value) -> Result<Cow<'_, str>, Failure> {
    match value {
        Value::Text(text) => Ok(Cow::Borrowed(text)),
        Value::Bool(true) => Ok(Cow::Borrowed("true")),
        Value::Bool(false) => Ok(Cow::Borrowed("false")),
        Value::Int(number) => Ok(Cow::Owned(number.to_string())),
        Value::Float(number) => Ok(Cow::Owned(float_text(*number))),
        Value::Null | Value::List(_) | Value::Dict(_) => {
            Err(Failure::argument(format!("{} cannot be written as text", value.kind())))
        }
    }
}

/// A number that keeps its point.
pub(super) fn float_text(number: f64) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = write!(text, "{number}");
    if number.is_finite() && !text.contains('.') {
        text.push_str(".0");
    }
    text
}

enum Numbers {
    Ints(i64, i64),
    Floats(f64, f64),
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(truth) => Some(Value::Int(i64::from(*truth))),
        Value::Int(_) | Value::Float(_) => Some(value.clone()),
        Value::Null | Value::Text(_) | Value::List(_) | Value::Dict(_) => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as everywhere where whole numbers meet others")]
fn numbers(left: &Value, right: &Value) -> Option<Numbers> {
    match (number(left)?, number(right)?) {
        (Value::Int(left), Value::Int(right)) => Some(Numbers::Ints(left, right)),
        (Value::Int(left), Value::Float(right)) => Some(Numbers::Floats(left as f64, right)),
        (Value::Float(left), Value::Int(right)) => Some(Numbers::Floats(left, right as f64)),
        (Value::Float(left), Value::Float(right)) => Some(Numbers::Floats(left, right)),
        _ => None,
    }
}

/// `left operator right`.
pub(super) fn arithmetic(budget: &Budget, operator: Arithmetic, left: &Value, right: &Value) -> Result<Value, Failure> {
    match (operator, left, right) {
        (Arithmetic::Add, Value::Text(left), Value::Text(right)) => {
            budget.memory(left.len() as u64 + right.len() as u64)?;
            return Ok(Value::from([&**left, &**right].concat()));
        }
        (Arithmetic::Add, Value::List(left), Value::List(right)) => {
            budget.memory((left.len() as u64 + right.len() as u64) * NODE)?;
            return Ok(Value::list([left.items(), right.items()].concat())?);
        }
        (Arithmetic::Multiply, Value::Text(_) | Value::List(_), count)
        | (Arithmetic::Multiply, count, Value::Text(_) | Value::List(_)) => {
            let subject = if matches!(left, Value::Text(_) | Value::List(_)) { left } else { right };
            return repeat(budget, subject, count);
        }
        _ => {}
    }
    let Some(numbers) = numbers(left, right) else {
        return Err(Failure::argument(format!("`{operator}` does not work on {} and {}", left.kind(), right.kind())));
    };
    let result = match numbers {
        Numbers::Ints(left, right) => ints(operator, left, right),
        Numbers::Floats(left, right) => floats(operator, left, right).map(Value::Float),
    };
    result.ok_or_else(|| {
        let (left, right) = (text_of(left).unwrap_or_default(), text_of(right).unwrap_or_default());
        Failure::argument(format!("{left} {operator} {right} cannot be calculated"))
    })
}

#[expect(clippy::cast_precision_loss, reason = "division gives a fraction")]
fn ints(operator: Arithmetic, left: i64, right: i64) -> Option<Value> {
    match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => {
            return (right != 0).then(|| Value::Float(left as f64 / right as f64));
        }
        Arithmetic::FloorDivide => floor_divide(left, right).map(|(quotient, _)| quotient),
        Arithmetic::Remainder => match right {
            -1 => Some(0),
            _ => floor_divide(left, right).map(|(_, remainder)| remainder),
        },
        Arithmetic::Power if right < 0 => {
            return (left != 0).then(|| Value::Float((left as f64).powf(right as f64)));
        }
        Arithmetic::Power => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
    }
    .map(Value::Int)
}

fn floor_divide(left: i64, right: i64) -> Option<(i64, i64)> {
    let (quotient, remainder) = (left.checked_div(right)?, left.checked_rem(right)?);
    if remainder != 0 && (remainder < 0) != (right < 0) {
        return Some((quotient - 1, remainder + right));
    }
    Some((quotient, remainder))
}

fn floats(operator: Arithmetic, left: f64, right: f64) -> Option<f64> {
    match operator {
        Arithmetic::Add => Some(left + right),
        Arithmetic::Subtract => Some(left - right),
        Arithmetic::Multiply => Some(left * right),
        Arithmetic::Divide => (right != 0.0).then(|| left / right),
        Arithmetic::FloorDivide => (right != 0.0).then(|| (left / right).floor()),
        Arithmetic::Remainder => (right != 0.0).then(|| {
            let remainder = left % right;
            if remainder != 0.0 && (remainder < 0.0) != (right < 0.0) { remainder + right } else { remainder }
        }),
        Arithmetic::Power => (left != 0.0 || right >= 0.0).then(|| left.powf(right)),
    }
}

fn repeat(budget: &Budget, subject: &Value, count: &Value) -> Result<Value, Failure> {
    let Some(count) = integral(count).and_then(|count| usize::try_from(count).ok()) else {
        return Err(Failure::argument(format!("{} can be repeated a whole number of times only", subject.kind())));
    };
    let many = count as u64;
    match subject {
        Value::Text(text) => {
            budget.memory((text.len() as u64).saturating_mul(many))?;
            Ok(Value::from(text.repeat(count)))
        }
        Value::List(list) => {
            budget.memory((list.len() as u64).saturating_mul(many).saturating_mul(NODE))?;
            let whole = std::iter::repeat_n(list.items(), count);
            Ok(Value::list(whole.flatten().cloned().collect())?)
        }
        _ => Err(Failure::argument(format!("{} cannot be repeated", subject.kind()))),
    }
}

/// `-value`.
pub(super) fn negate(value: &Value) -> Result<Value, Failure> {
    match value {
        Value::Int(number) => {
            number.checked_neg().map(Value::Int).ok_or_else(|| Failure::argument(format!("-({number}) is too large")))
        }
        Value::Float(number) => Ok(Value::Float(-number)),
        other => Err(Failure::argument(format!("`-` does not work on {}", other.kind()))),
    }
}

/// `left operator right`, as a truth.
pub(super) fn compare(budget: &Budget, operator: Comparison, left: &Value, right: &Value) -> Result<bool, Failure> {
    match operator {
        Comparison::Equal => equal(budget, left, right),
        Comparison::NotEqual => equal(budget, left, right).map(|equal| !equal),
        Comparison::In => contains(budget, right, left),
        Comparison::NotIn => contains(budget, right, left).map(|contains| !contains),
        Comparison::Less => order(budget, left, right).map(Ordering::is_lt),
        Comparison::LessOrEqual => order(budget, left, right).map(Ordering::is_le),
        Comparison::Greater => order(budget, left, right).map(Ordering::is_gt),
        Comparison::GreaterOrEqual => order(budget, left, right).map(Ordering::is_ge),
    }
}

/// Whether two values are the same; a whole number is the same as the fraction of its value.
pub(super) fn equal(budget: &Budget, left: &Value, right: &Value) -> Result<bool, Failure> {
    budget.steps(left.size().min(right.size()))?;
    Ok(same(left, right))
}

#[expect(clippy::float_cmp, reason = "the same number, not a near one")]
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.items().iter().zip(right.items()).all(|(left, right)| same(left, right))
        }
        (Value::Dict(left), Value::Dict(right)) => {
            left.len() == right.len()
                && left
                    .entries()
                    .iter()
                    .zip(right.entries())
                    .all(|((left_key, left), (right_key, right))| left_key == right_key && same(left, right))
        }
        _ => match numbers(left, right) {
            Some(Numbers::Ints(left, right)) => left == right,
            Some(Numbers::Floats(left, right)) => left == right,
            None => false,
        },
    }
}

/// The order of two values of one kind.
fn order(budget: &Budget, left: &Value, right: &Value) -> Result<Ordering, Failure> {
    if rank(left) != rank(right) {
        return Err(Failure::argument(format!("{} cannot be compared with {}", left.kind(), right.kind())));
    }
    budget.steps(left.size().min(right.size()))?;
    Ok(total_order(left, right))
}

/// An order of all values, kind by kind, for sorting.
pub(super) fn total_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::List(left), Value::List(right)) => {
            let pairs = left.items().iter().zip(right.items());
            let first = pairs.map(|(left, right)| total_order(left, right)).find(|order| order.is_ne());
            first.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Dict(left), Value::Dict(right)) => {
            let pairs = left.entries().iter().zip(right.entries());
            let first = pairs
                .map(|((left_key, left), (right_key, right))| {
                    left_key.cmp(right_key).then_with(|| total_order(left, right))
                })
                .find(|order| order.is_ne());
            first.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)).then_with(|| match numbers(left, right) {
            Some(Numbers::Ints(left, right)) => left.cmp(&right),
            Some(Numbers::Floats(left, right)) => left.total_cmp(&right),
            None => Ordering::Equal,
        }),
    }
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

/// `wanted in container`.
pub(super) fn contains(budget: &Budget, container: &Value, wanted: &Value) -> Result<bool, Failure> {
    match container {
        Value::Text(text) => {
            budget.steps(text.len() as u64 / 8)?;
            Ok(text.contains(&*text_of(wanted)?))
        }
        Value::List(list) => {
            for item in list.items() {
                if equal(budget, item, wanted)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Dict(dict) => Ok(wanted.as_text().is_some_and(|key| dict.get(key).is_some())),
        other => Err(Failure::argument(format!("{} contains nothing", other.kind()))),
    }
}

/// `subject[start:end:step]`.
pub(super) fn slice(
    budget: &Budget,
    subject: &Value,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> Result<Value, Failure> {
    if step == 0 {
        return Err(Failure::argument("the step of a slice cannot be 0"));
    }
    match subject {
        Value::Text(text) => {
            budget.memory((text.len() as u64).saturating_mul(5))?;
            let letters: Vec<char> = text.chars().collect();
            let picked: String = picked(letters.len(), start, end, step).filter_map(|at| letters.get(at)).collect();
            Ok(Value::from(picked))
        }
        Value::List(list) => {
            budget.memory(list.len() as u64 * NODE)?;
            let items = list.items();
            Ok(Value::list(picked(items.len(), start, end, step).filter_map(|at| items.get(at).cloned()).collect())?)
        }
        Value::Null => Ok(Value::empty_list()),
        other => Err(Failure::argument(format!("{} cannot be sliced", other.kind()))),
    }
}

/// The positions of a slice; a negative bound counts from the end.
fn picked(length: usize, start: Option<i64>, end: Option<i64>, step: i64) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let forward = step > 0;
    let (least, most) = if forward { (0, length) } else { (-1, length - 1) };
    let bound = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(least, most)
    };
    let start = start.map_or(if forward { least } else { most }, bound);
    let end = end.map_or(if forward { most } else { least }, bound);
    let more = move |at: &i64| if forward { *at < end } else { *at > end };
    std::iter::successors(Some(start), move |at| at.checked_add(step))
        .take_while(more)
        .filter_map(|at| usize::try_from(at).ok())
}

/// The whole number that a value is, if it is one.
#[expect(clippy::cast_possible_truncation, reason = "only what has no fraction and fits is taken")]
pub(super) fn integral(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Int(number) => Some(*number),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => Some(*number as i64),
        Value::Float(_) | Value::Null | Value::Text(_) | Value::List(_) | Value::Dict(_) => None,
    }
}
