//! The digits of floats as Go writes them.

use crate::number::{positional, scientific};

/// More digits than any double has; all that follow are zeros.
const DIGITS: usize = 1100;

/// From this power of ten on, a number in its shortest form is written with an exponent.
const SHORTEST_LIMIT: usize = 6;

/// A number that is not negative, with verb `e`, `E`, `f`, `g` or `G`; no precision means as few digits as name it.
pub(super) fn format(number: f64, verb: char, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return "Inf".into();
    }
    match verb {
        'f' => fixed(number, precision.unwrap_or(0)),
        'e' | 'E' => {
            let (digits, exponent) = significant(number, precision);
            scientific(&digits, exponent, verb)
        }
        _ => general(number, verb, precision),
    }
}

fn fixed(number: f64, precision: usize) -> String {
    let known = precision.min(DIGITS);
    let mut text = format!("{number:.known$}");
    text.extend(std::iter::repeat_n('0', precision - known));
    text
}

fn general(number: f64, verb: char, precision: Option<usize>) -> String {
    let wanted = precision.map(|precision| precision.max(1));
    let (digits, exponent) = significant(number, wanted.map(|count| count - 1));
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let limit = i32::try_from(wanted.unwrap_or(SHORTEST_LIMIT)).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        return scientific(digits, exponent, if verb == 'G' { 'E' } else { 'e' });
    }
    positional(digits, exponent)
}

/// Significant digits without a point, and the power of ten of the first.
fn significant(number: f64, decimals: Option<usize>) -> (String, i32) {
    let text = match decimals {
        None => format!("{number:e}"),
        Some(count) => {
            let known = count.min(DIGITS);
            format!("{number:.known$e}")
        }
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits = mantissa.replace('.', "");
    if let Some(count) = decimals {
        digits.extend(std::iter::repeat_n('0', (count + 1).saturating_sub(digits.len())));
    }
    (digits, exponent.parse().unwrap_or(0))
}
