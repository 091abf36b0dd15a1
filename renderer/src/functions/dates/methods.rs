//! What a time of Go's answers to its methods, for times in the form in which they are passed around.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::civil::Time;
use super::format::{self, MONTHS, WEEKDAYS};
use super::{duration, parse, too_far};
use crate::functions::arguments::{made, text};
use crate::functions::numbers::whole;

/// What a method gives.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Another time.
    Time(Value),
    /// Anything else.
    Value(Value),
}

/// How Go prints a time.
pub(crate) fn printed(time: &str) -> Option<String> {
    parse::rfc3339(time).map(|time| format::format("2006-01-02 15:04:05.999999999 -0700 MST", &time))
}

/// A method of a time; nothing if a time has none of that name, or it takes other arguments.
pub(crate) fn method(budget: &Budget, time: &str, name: &str, arguments: &[Value]) -> Option<Result<Answer, Failure>> {
    let time = parse::rfc3339(time)?;
    let answer = match arguments.len() {
        0 => field(&time, name).map(|value| Ok(Answer::Value(value))).or_else(|| match name {
            "UTC" | "Local" => Some(shown(time.at(0))),
            _ => None,
        })?,
        1 => match name {
            "Format" => layout(budget, &time, arguments).map(Answer::Value),
            "Add" => whole(arguments, 0).and_then(|nanoseconds| shown(time.moved(nanoseconds))),
            "Sub" | "After" | "Before" | "Equal" | "Compare" => {
                super::time(arguments, 0).map(|other| Answer::Value(compared(&time, &other, name)))
            }
            _ => return None,
        },
        3 if name == "AddDate" => moved_by_days(&time, arguments),
        _ => return None,
    };
    Some(answer)
}

fn field(time: &Time, name: &str) -> Option<Value> {
    let local = &time.local;
    let index = |at: i8| usize::try_from(at).unwrap_or(0);
    Some(match name {
        "Year" => Value::Int(local.year().into()),
        "Month" => Value::from(MONTHS[index(local.month() - 1) % 12]),
        "Day" => Value::Int(local.day().into()),
        "Hour" => Value::Int(local.hour().into()),
        "Minute" => Value::Int(local.minute().into()),
        "Second" => Value::Int(local.second().into()),
        "Nanosecond" => Value::Int(local.subsec_nanosecond().into()),
        "Weekday" => Value::from(WEEKDAYS[index(local.weekday().to_sunday_zero_offset()) % 7]),
        "YearDay" => Value::Int(local.day_of_year().into()),
        "Unix" => Value::Int(time.seconds()),
        "UnixMilli" => Value::Int(time.seconds() * 1000 + i64::from(local.subsec_nanosecond() / 1_000_000)),
        "IsZero" => Value::Bool(time.at(0) == Some(Time::ZERO)),
        "String" => Value::from(format::format("2006-01-02 15:04:05.999999999 -0700 MST", time)),
        _ => return None,
    })
}

fn shown(time: Option<Time>) -> Result<Answer, Failure> {
    let time = time.ok_or_else(too_far)?;
    Ok(Answer::Time(format::rfc3339(&time).into()))
}

fn layout(budget: &Budget, time: &Time, arguments: &[Value]) -> Result<Value, Failure> {
    let layout = text(arguments, 0)?;
    budget.memory(layout.len() as u64 * 10)?;
    made(budget, format::format(layout, time))
}

fn compared(time: &Time, other: &Time, name: &str) -> Value {
    let nanoseconds =
        |time: &Time| i128::from(time.seconds()) * 1_000_000_000 + i128::from(time.local.subsec_nanosecond());
    let (one, other) = (nanoseconds(time), nanoseconds(other));
    match name {
        "After" => Value::Bool(one > other),
        "Before" => Value::Bool(one < other),
        "Equal" => Value::Bool(one == other),
        "Compare" => Value::Int(one.cmp(&other) as i64),
        // As Go: what is too long for a duration is the longest one.
        _ => {
            let apart = (one - other).clamp(i64::MIN.into(), i64::MAX.into());
            Value::from(duration::written(i64::try_from(apart).unwrap_or(0)))
        }
    }
}

/// Years, months and days later; a day that the month does not have is one of the next.
fn moved_by_days(time: &Time, arguments: &[Value]) -> Result<Answer, Failure> {
    let (years, months, days) = (whole(arguments, 0)?, whole(arguments, 1)?, whole(arguments, 2)?);
    let moved = || {
        let local = time.local;
        let months = i64::from(local.month() - 1).checked_add(months)?;
        let year = i64::from(local.year()).checked_add(years)?.checked_add(months.div_euclid(12))?;
        let month = i8::try_from(months.rem_euclid(12) + 1).ok()?;
        let first = jiff::civil::DateTime::new(
            i16::try_from(year).ok()?,
            month,
            1,
            local.hour(),
            local.minute(),
            local.second(),
            local.subsec_nanosecond(),
        );
        let days = days.checked_add(i64::from(local.day()) - 1)?;
        let local = first.ok()?.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?;
        (local.year() >= 0).then_some(Time { local, ..*time })
    };
    shown(moved())
}
