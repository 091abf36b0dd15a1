//! Arithmetic. Whole numbers wrap around as in Go; floats are added, subtracted, multiplied and divided in decimals, as
//! Sprig does, so that 0.1 and 0.2 make 0.3.

#![expect(clippy::unnecessary_wraps, reason = "all functions of a table have one signature")]

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::wrong;
use super::numbers::{float, to_float, to_int, whole};

use decimal::Decimal;

mod decimal;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::variadic("add", 0, add),
    Entry::new("add1", 1, 1, add1),
    Entry::new("sub", 2, 2, sub),
    Entry::new("div", 2, 2, div),
    Entry::new("mod", 2, 2, modulo),
    Entry::variadic("mul", 1, mul),
    Entry::variadic("max", 1, max),
    Entry::variadic("biggest", 1, max),
    Entry::variadic("min", 1, min),
    Entry::variadic("addf", 0, addf),
    Entry::new("add1f", 1, 1, add1f),
    Entry::variadic("subf", 1, subf),
    Entry::variadic("divf", 1, divf),
    Entry::variadic("mulf", 1, mulf),
    Entry::variadic("maxf", 1, maxf),
    Entry::variadic("minf", 1, minf),
    Entry::new("ceil", 1, 1, ceil),
    Entry::new("floor", 1, 1, floor),
    Entry::new("round", 2, 3, round),
    Entry::new("until", 1, 1, until),
    Entry::new("untilStep", 3, 3, until_step),
    Entry::variadic("seq", 0, seq),
];

/// What a whole number in a list takes, and what one takes in text.
const ITEM: u64 = 32;
const DIGITS: u64 = 21;

fn folded(arguments: &[Value], fold: impl Fn(i64, i64) -> i64) -> Result<Value, Failure> {
    let mut result = to_int(&arguments[0])?;
    for value in &arguments[1..] {
        result = fold(result, to_int(value)?);
    }
    Ok(result.into())
}

fn add(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    if arguments.is_empty() { Ok(Value::Int(0)) } else { folded(arguments, i64::wrapping_add) }
}

fn add1(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(to_int(&arguments[0])?.wrapping_add(1).into())
}

fn sub(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    folded(arguments, i64::wrapping_sub)
}

fn mul(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    folded(arguments, i64::wrapping_mul)
}

fn max(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    folded(arguments, i64::max)
}

fn min(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    folded(arguments, i64::min)
}

fn div(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let divisor = divisor(&arguments[1])?;
    Ok(to_int(&arguments[0])?.wrapping_div(divisor).into())
}

fn modulo(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let divisor = divisor(&arguments[1])?;
    Ok(to_int(&arguments[0])?.wrapping_rem(divisor).into())
}

fn divisor(value: &Value) -> Result<i64, Failure> {
    match to_int(value)? {
        0 => Err(by_zero()),
        divisor => Ok(divisor),
    }
}

fn by_zero() -> Failure {
    Failure::argument("division by zero")
}

/// The arguments taken together as decimals, from the first on.
fn decimals(
    budget: &Budget,
    arguments: &[Value],
    fold: impl Fn(&Decimal, &Decimal) -> Option<Decimal>,
) -> Result<Value, Failure> {
    let read = |value: &Value| {
        let number = to_float(value);
        Decimal::from_float(number).ok_or_else(|| Failure::argument(format!("there is no arithmetic with {number}")))
    };
    let Some((first, rest)) = arguments.split_first() else { return Ok(Value::Int(0)) };
    let mut result = read(first)?;
    for value in rest {
        let next = read(value)?;
        budget.steps(result.cost(&next))?;
        result = fold(&result, &next).ok_or_else(by_zero)?;
    }
    Ok(float(result.to_float()))
}

fn addf(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    decimals(budget, arguments, |left, right| Some(left.plus(right)))
}

fn add1f(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    addf(budget, &[arguments[0].clone(), Value::Int(1)])
}

fn subf(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    decimals(budget, arguments, |left, right| Some(left.minus(right)))
}

fn mulf(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    decimals(budget, arguments, |left, right| Some(left.times(right)))
}

fn divf(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    decimals(budget, arguments, Decimal::divided_by)
}

fn maxf(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(chosen(arguments, |number| number.is_infinite() && number > 0.0, f64::max))
}

fn minf(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(chosen(arguments, |number| number.is_infinite() && number < 0.0, f64::min))
}

/// What wins outright wins, also over what is no number; else what is no number.
fn chosen(arguments: &[Value], wins: impl Fn(f64) -> bool, choose: impl Fn(f64, f64) -> f64) -> Value {
    let picked = arguments.iter().map(to_float).reduce(|left, right| match (wins(left), wins(right)) {
        (true, _) => left,
        (_, true) => right,
        (false, false) if left.is_nan() || right.is_nan() => f64::NAN,
        (false, false) => choose(left, right),
    });
    float(picked.unwrap_or(0.0))
}

fn ceil(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(float(to_float(&arguments[0]).ceil()))
}

fn floor(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(float(to_float(&arguments[0]).floor()))
}

fn round(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let places = whole(arguments, 1)?;
    let round_on = match arguments.get(2) {
        None => 0.5,
        Some(value @ (Value::Int(_) | Value::Float(_))) => to_float(value),
        other => return Err(wrong(2, "a number", other)),
    };
    let power = 10f64.powi(i32::try_from(places.clamp(-400, 400)).unwrap_or(0));
    let digits = power * to_float(&arguments[0]);
    let rounded = if digits.fract() >= round_on { digits.ceil() } else { digits.floor() };
    Ok(float(rounded / power))
}

/// The numbers from `start` on that lie before `end`, `step` apart.
fn steps(start: i64, end: i64, step: i64) -> impl Iterator<Item = i64> + Clone {
    let empty = step == 0 || (end < start) != (step < 0);
    let first = (!empty && start != end).then_some(start);
    std::iter::successors(first, move |number| {
        number.checked_add(step).filter(|next| if step > 0 { *next < end } else { *next > end })
    })
}

fn how_many(start: i64, end: i64, step: i64) -> u64 {
    end.abs_diff(start).checked_div(step.unsigned_abs()).unwrap_or(0).saturating_add(1)
}

fn numbers(budget: &Budget, start: i64, end: i64, step: i64) -> Result<Value, Failure> {
    let numbers = steps(start, end, step);
    if numbers.clone().next().is_some() {
        let count = how_many(start, end, step);
        budget.steps(count)?;
        budget.memory(count.saturating_mul(ITEM))?;
    }
    Ok(Value::list(numbers.map(Value::Int).collect())?)
}

fn until(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let end = whole(arguments, 0)?;
    numbers(budget, 0, end, if end < 0 { -1 } else { 1 })
}

fn until_step(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    numbers(budget, whole(arguments, 0)?, whole(arguments, 1)?, whole(arguments, 2)?)
}

fn seq(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let parameters = (0..arguments.len()).map(|at| whole(arguments, at)).collect::<Result<Vec<_>, _>>()?;
    let towards = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, last) = match parameters[..] {
        [last] => (1, towards(1, last), last),
        [start, last] => (start, towards(start, last), last),
        [start, step, last] if last >= start || step <= 0 => (start, step, last),
        _ => return Ok(Value::from("")),
    };
    let end = last.wrapping_add(towards(start, last));
    let numbers = steps(start, end, step);
    if numbers.clone().next().is_some() {
        let count = how_many(start, end, step);
        budget.steps(count)?;
        budget.memory(count.saturating_mul(DIGITS))?;
    }
    let mut out = String::new();
    for number in numbers {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&number.to_string());
    }
    Ok(out.into())
}
