//! Durations as people write them in YAML: `30s`, `1m30s`, `2h`.
//!
//! What is accepted here is what the rule in the schema accepts, which in turn is a part of what the API server's
//! `duration()` parses; so a duration that was admitted is never an error later.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::schema::rule;

const MAX_LENGTH: usize = 24;
const MAX: time::Duration = time::Duration::from_hours(8760);
const FORM: &str = "^([0-9]+([.][0-9]+)?(us|ms|s|m|h))+$";
const MESSAGE: &str =
    "write a duration of at most 8760h with a unit behind every number, such as 500ms, 30s, 1m30s or 2h";

/// A length of time, written like `500ms`, `30s`, `1m30s` or `2h`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Duration(time::Duration);

/// Why a text is not a duration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DurationError {
    /// The text is empty.
    #[error("a duration cannot be empty; write for example 30s")]
    Empty,
    /// The text is longer than any duration needs to be.
    #[error("a duration has at most {MAX_LENGTH} characters")]
    TooLong,
    /// Somewhere a number is missing or malformed.
    #[error("a duration is numbers with units, such as 1m30s")]
    Number,
    /// A number has no unit, or one that is not known.
    #[error("a number in a duration needs one of the units us, ms, s, m, h")]
    Unit,
    /// More than a year.
    #[error("a duration is at most 8760h")]
    TooLarge,
}

impl Duration {
    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(time::Duration::from_secs(seconds))
    }

    /// A duration of whole milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(time::Duration::from_millis(milliseconds))
    }
}

impl From<Duration> for time::Duration {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

/// Rounds to microseconds, the finest unit that is written, and stops at a year, the most that can be read back.
impl From<time::Duration> for Duration {
    fn from(duration: time::Duration) -> Self {
        let rounded = duration.saturating_add(time::Duration::from_nanos(500)).min(MAX);
        Self(time::Duration::new(rounded.as_secs(), rounded.subsec_micros() * 1000))
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(DurationError::Empty);
        }
        if text.chars().count() > MAX_LENGTH {
            return Err(DurationError::TooLong);
        }
        let mut rest = text;
        let mut total = time::Duration::ZERO;
        while !rest.is_empty() {
            let (number, behind) = split_before(rest, |c| !(c.is_ascii_digit() || c == '.'));
            let (unit, next) = split_before(behind, |c| !c.is_ascii_alphabetic());
            let part = scale(number, unit)?;
            total = total.checked_add(part).filter(|sum| *sum <= MAX).ok_or(DurationError::TooLarge)?;
            rest = next;
        }
        Ok(Self(total))
    }
}

fn split_before(text: &str, end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(end).unwrap_or(text.len()))
}

fn scale(number: &str, unit: &str) -> Result<time::Duration, DurationError> {
    let nanoseconds_per_unit: u128 = match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(DurationError::Unit),
    };
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let digits = |text: &str| match text.parse::<u128>() {
        Ok(value) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(value),
        _ => Err(DurationError::Number),
    };
    let mut total = digits(whole)? * nanoseconds_per_unit;
    if let Some(fraction) = fraction {
        let denominator = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| DurationError::Number)?);
        total += digits(fraction)? * nanoseconds_per_unit / denominator;
    }
    let total = u64::try_from(total).map_err(|_| DurationError::TooLarge)?;
    Ok(time::Duration::from_nanos(total))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, microseconds) = (self.0.as_secs(), self.0.subsec_micros());
        match (seconds, microseconds) {
            (0, 0) => return f.write_str("0s"),
            (0, 1..1000) => return write!(f, "{microseconds}us"),
            (0, _) => return write_fraction(f, u64::from(microseconds / 1000), microseconds % 1000, 3, "ms"),
            (1.., _) => {}
        }
        for (amount, unit) in [(seconds / 3600, "h"), (seconds / 60 % 60, "m")] {
            if amount > 0 {
                write!(f, "{amount}{unit}")?;
            }
        }
        if seconds % 60 > 0 || microseconds > 0 {
            write_fraction(f, seconds % 60, microseconds, 6, "s")?;
        }
        Ok(())
    }
}

/// Writes `whole.fraction` with so many digits behind the point, less the zeros at the end.
fn write_fraction(f: &mut fmt::Formatter<'_>, whole: u64, fraction: u32, digits: usize, unit: &str) -> fmt::Result {
    if fraction == 0 {
        return write!(f, "{whole}{unit}");
    }
    let fraction = format!("{fraction:0digits$}");
    write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": MAX_LENGTH, "x-kubernetes-validations": [parses()] })
    }
}

/// The schema of a duration that only Reeve writes: bounded, with no rule to pay for.
pub(crate) fn reported(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": MAX_LENGTH })
}

/// The rule that every duration in a spec obeys.
fn parses() -> Value {
    rule(&format!("self.matches('{FORM}') && duration(self) <= duration('8760h')"), MESSAGE)
}

/// The rules of a duration that must also lie between two others.
pub(crate) fn between(least: &str, most: &str) -> Value {
    let expression = format!(
        "!self.matches('{FORM}') || (duration(self) >= duration('{least}') && duration(self) <= duration('{most}'))"
    );
    Value::Array(vec![parses(), rule(&expression, &format!("write a duration from {least} to {most}"))])
}

/// The rule of a struct in which one duration must not be above another; both have defaults.
pub(crate) fn in_order(lower: &str, upper: &str) -> Value {
    let expression = format!(
        "!self.{lower}.matches('{FORM}') || !self.{upper}.matches('{FORM}') || duration(self.{lower}) <= duration(self.{upper})"
    );
    rule(&expression, &format!("write a value of {upper} that is not below {lower}"))
}

#[cfg(test)]
mod tests;
