//! Durations as people write them: `500ms`, `30s`, `1m30s`. They stay text here; whoever applies gives them a type.

use std::sync::Arc;

use super::decode::{Decoder, Field};
use crate::diagnostic::Diagnostic;
use crate::value::Value;
use crate::yaml::Content;

const LONGEST_TEXT: usize = 24;

/// A year, the longest that is taken.
const LONGEST: u64 = 8760 * 3_600_000_000_000;

/// The nanoseconds of a duration that the kinds take.
fn nanoseconds(text: &str) -> Option<u64> {
    if text.is_empty() || text.len() > LONGEST_TEXT {
        return None;
    }
    let mut rest = text;
    let mut total = 0u64;
    while !rest.is_empty() {
        let (number, behind) = split_before(rest, |c| !(c.is_ascii_digit() || c == '.'));
        let (unit, next) = split_before(behind, |c| !c.is_ascii_alphabetic());
        total = total.checked_add(scale(number, unit)?).filter(|sum| *sum <= LONGEST)?;
        rest = next;
    }
    Some(total)
}

fn split_before(text: &str, end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(end).unwrap_or(text.len()))
}

fn scale(number: &str, unit: &str) -> Option<u64> {
    let unit: u128 = match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let mut total = digits(whole)?.checked_mul(unit)?;
    if let Some(fraction) = fraction {
        let denominator = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        total = total.checked_add(digits(fraction)?.checked_mul(unit)? / denominator)?;
    }
    u64::try_from(total).ok()
}

fn digits(text: &str) -> Option<u128> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl Decoder {
    /// A duration between two others, as it is written.
    pub(super) fn duration(&mut self, field: &Field<'_>, least: &str, most: &str) -> Option<Arc<str>> {
        let Some(text) = self.text(field) else {
            // A number is probably meant to be seconds; as text it would be no duration either.
            if let (Content::Scalar(Value::Int(number)), Some(finding)) =
                (&field.node.content, self.findings.last_mut())
            {
                finding.help = Some(format!("write it with its unit, like {number}s"));
            }
            return None;
        };
        let Some(found) = nanoseconds(&text.value) else {
            let finding = Diagnostic::error("bad-duration", format!("`{}` is not a duration", text.value));
            self.report(text.span, &field.path, finding.help("write it like 30s, 5m or 1h30m"));
            return None;
        };
        let within =
            nanoseconds(least).is_none_or(|least| found >= least) && nanoseconds(most).is_none_or(|most| found <= most);
        if !within {
            let message = format!("`{}` must be between {least} and {most}, not {}", field.path, text.value);
            self.report(text.span, &field.path, Diagnostic::error("out-of-range", message));
        }
        within.then_some(text.value)
    }
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn a_duration_is_what_the_kinds_take_for_one() {
        for (text, expected) in [
            ("0s", 0),
            ("10us", 10_000),
            ("500ms", 500_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("8760h", super::LONGEST),
        ] {
            assert_eq!(nanoseconds(text), Some(expected), "{text}");
        }
        for text in ["", "5", "s", "-1s", "+1s", ".5s", "1.s", "1..2s", "1d", "5 m", "1ns", "8760h1us", "1é", "½s"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
        assert_eq!(nanoseconds("99999999999999999999999h"), None);
        assert_eq!(nanoseconds("0.0000000000000000000001s"), None, "longer than any duration needs to be");
    }
}
