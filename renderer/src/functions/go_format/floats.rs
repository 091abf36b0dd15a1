//! The digits of floats as Go writes them.

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
            let (digits, exponent) = scientific(number, precision);
            written_out(&digits, exponent, verb)
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
    let significant = precision.map(|precision| precision.max(1));
    let (digits, exponent) = scientific(number, significant.map(|count| count - 1));
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let limit = i32::try_from(significant.unwrap_or(SHORTEST_LIMIT)).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        return written_out(digits, exponent, if verb == 'G' { 'E' } else { 'e' });
    }
    positional(digits, exponent)
}

/// Significant digits without a point, and the power of ten of the first.
fn scientific(number: f64, decimals: Option<usize>) -> (String, i32) {
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

fn written_out(digits: &str, exponent: i32, letter: char) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}{letter}{sign}{:02}", exponent.unsigned_abs())
}

fn positional(digits: &str, exponent: i32) -> String {
    let Ok(before) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat((-exponent - 1).unsigned_abs() as usize);
        return format!("0.{zeros}{digits}");
    };
    if before == 0 {
        return format!("0.{digits}");
    }
    if digits.len() <= before {
        return format!("{digits}{}", "0".repeat(before - digits.len()));
    }
    let (whole, fraction) = digits.split_at(before);
    format!("{whole}.{fraction}")
}
