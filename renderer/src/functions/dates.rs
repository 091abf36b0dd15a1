//! Dates and durations that need no clock. A time is text in the form of RFC 3339, or seconds since 1970.
//!
//! There is no database of time zones here, since it would change results from machine to machine: a zone is UTC or a
//! fixed offset, `Local` is UTC. Layouts are read in `layout`, days counted in `civil`, durations spelled in `duration`.

#![expect(clippy::unnecessary_wraps, reason = "all functions of a table have one signature")]

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::{made, text, wrong};
use super::numbers::parse_int;

use civil::Time;

mod civil;
mod duration;
mod format;
mod layout;
pub(crate) mod methods;
mod parse;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("date", 2, 2, date),
    Entry::new("dateInZone", 3, 3, date_in_zone),
    Entry::new("date_in_zone", 3, 3, date_in_zone),
    Entry::new("htmlDate", 1, 1, html_date),
    Entry::new("htmlDateInZone", 2, 2, html_date_in_zone),
    Entry::new("dateModify", 2, 2, date_modify),
    Entry::new("date_modify", 2, 2, date_modify),
    Entry::new("mustDateModify", 2, 2, must_date_modify),
    Entry::new("must_date_modify", 2, 2, must_date_modify),
    Entry::new("toDate", 2, 2, to_date),
    Entry::new("mustToDate", 2, 2, must_to_date),
    Entry::new("unixEpoch", 1, 1, unix_epoch),
    Entry::new("duration", 1, 1, duration_of),
    Entry::new("durationRound", 1, 1, duration_round),
];

const HTML: &str = "2006-01-02";

/// The time at `at`.
fn time(arguments: &[Value], at: usize) -> Result<Time, Failure> {
    match arguments.get(at) {
        Some(Value::Int(seconds)) => Time::from_unix(*seconds, 0, 0).ok_or_else(too_far),
        Some(Value::Text(written)) => parse::rfc3339(written).ok_or_else(|| {
            let shown = &written[..written.floor_char_boundary(40)];
            Failure::argument(format!("`{shown}` is no time such as 2006-01-02T15:04:05Z; make one with `toDate`"))
        }),
        other => Err(wrong(at, "a time (text as in RFC 3339, or seconds since 1970)", other)),
    }
}

fn too_far() -> Failure {
    Failure::argument("the time lies outside of the years 0 to 9999")
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Result<i32, Failure> {
    if matches!(zone, "" | "UTC" | "Local" | "Etc/UTC") {
        return Ok(0);
    }
    parse::fixed_offset(zone).ok_or_else(|| {
        let shown = &zone[..zone.floor_char_boundary(40)];
        Failure::argument(format!("the zone `{shown}` is not known: write UTC or an offset such as +02:00"))
    })
}

fn formatted(budget: &Budget, layout: &str, time: Time, zone: &str) -> Result<Value, Failure> {
    let time = time.at(offset(zone)?).ok_or_else(too_far)?;
    // No element of a layout is written with more than ten times its own length.
    budget.memory(layout.len() as u64 * 10)?;
    Ok(format::format(layout, &time).into())
}

fn date(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    formatted(budget, text(arguments, 0)?, time(arguments, 1)?, "")
}

fn date_in_zone(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    formatted(budget, text(arguments, 0)?, time(arguments, 1)?, text(arguments, 2)?)
}

fn html_date(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    formatted(budget, HTML, time(arguments, 0)?, "")
}

fn html_date_in_zone(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    formatted(budget, HTML, time(arguments, 0)?, text(arguments, 1)?)
}

/// The nanoseconds of a duration such as `1h30m`; nothing when it is none.
pub(crate) fn duration(text: &str) -> Option<i64> {
    duration::parse(text)
}

fn date_modify(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (change, time) = (text(arguments, 0)?, time(arguments, 1)?);
    moved(budget, time, duration::parse(change).unwrap_or(0))
}

fn must_date_modify(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (change, time) = (text(arguments, 0)?, time(arguments, 1)?);
    let change = duration::parse(change).ok_or_else(|| {
        let shown = &change[..change.floor_char_boundary(40)];
        Failure::argument(format!("`{shown}` is no duration such as 1h30m"))
    })?;
    moved(budget, time, change)
}

fn moved(budget: &Budget, time: Time, change: i64) -> Result<Value, Failure> {
    let moved = time.moved(change).ok_or_else(too_far)?;
    made(budget, format::rfc3339(&moved))
}

fn to_date(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (layout, written) = (text(arguments, 0)?, text(arguments, 1)?);
    budget.steps((layout.len() + written.len()) as u64 / 8 + 1)?;
    // Go's zero time is what Sprig gives when the text does not follow the layout.
    let time = parse::parse(layout, written).unwrap_or(Time::ZERO);
    made(budget, format::rfc3339(&time))
}

fn must_to_date(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (layout, written) = (text(arguments, 0)?, text(arguments, 1)?);
    budget.steps((layout.len() + written.len()) as u64 / 8 + 1)?;
    let time = parse::parse(layout, written).ok_or_else(|| {
        let shown = &written[..written.floor_char_boundary(40)];
        let layout = &layout[..layout.floor_char_boundary(40)];
        Failure::argument(format!("`{shown}` does not follow the layout `{layout}`"))
    })?;
    made(budget, format::rfc3339(&time))
}

fn unix_epoch(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(time(arguments, 0)?.seconds().to_string().into())
}

fn duration_of(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let seconds = match &arguments[0] {
        Value::Int(seconds) => *seconds,
        Value::Text(digits) => parse_int(digits, 10).unwrap_or(0),
        _ => 0,
    };
    Ok(duration::written(seconds.wrapping_mul(1_000_000_000)).into())
}

fn duration_round(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let nanoseconds = match &arguments[0] {
        Value::Int(nanoseconds) => *nanoseconds,
        Value::Text(written) if parse::rfc3339(written).is_some() => {
            return Err(Failure::argument("how long ago a time was depends on the clock; give a duration such as 26h"));
        }
        Value::Text(written) => duration::parse(written).unwrap_or(0),
        _ => 0,
    };
    Ok(duration::rounded(nanoseconds).into())
}
