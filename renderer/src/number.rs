//! Finite floats as Go writes them: for JSON, YAML and TOML, and the digits for `printf`.

/// The shortest digits that read back as `number`, and the power of ten of the first of them.
fn shortest(number: f64) -> (String, i32) {
    let written = format!("{:e}", number.abs());
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn signed(number: f64, magnitude: &str) -> String {
    if number.is_sign_negative() { format!("-{magnitude}") } else { magnitude.to_owned() }
}

/// Digits with the point where the power of ten of the first puts it.
pub(crate) fn positional(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    if digits.len() > whole + 1 {
        format!("{}.{}", &digits[..=whole], &digits[whole + 1..])
    } else {
        format!("{digits}{}", "0".repeat(whole + 1 - digits.len()))
    }
}

/// Digits with an exponent after `letter`.
pub(crate) fn scientific(digits: &str, exponent: i32, letter: char) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}{letter}{sign}{:02}", exponent.unsigned_abs())
}

/// Go's shortest form: an exponent below 1e-4 and from 1e6 on.
pub(crate) fn general(number: f64) -> String {
    let (digits, exponent) = shortest(number);
    let plain = (-4..6).contains(&exponent);
    signed(number, &if plain { positional(&digits, exponent) } else { scientific(&digits, exponent, 'e') })
}

/// A number of JSON: an exponent below 1e-6 and from 1e21 on.
pub(crate) fn json(number: f64) -> String {
    let (digits, exponent) = shortest(number);
    if number == 0.0 || (-6..21).contains(&exponent) {
        return signed(number, &positional(&digits, exponent));
    }
    let written = scientific(&digits, exponent, 'e');
    signed(number, &written.replace("e-0", "e-"))
}

#[cfg(test)]
mod tests {
    use super::{general, json};

    #[test]
    fn an_exponent_is_written_where_go_writes_one() {
        let written: Vec<String> =
            [1.0, 1.5, 1e5, 1e6, 1_234_567.5, 1e-4, 1e-5, -0.0, 0.0, -2.5e-7].iter().map(|n| general(*n)).collect();
        let expected = ["1", "1.5", "100000", "1e+06", "1.2345675e+06", "0.0001", "1e-05", "-0", "0", "-2.5e-07"];
        assert_eq!(written, expected);
    }

    #[test]
    fn json_writes_an_exponent_only_for_the_very_large_and_the_very_small() {
        let written: Vec<String> = [1e6, 0.000_001, 1e-7, 1e20, 1e21, -0.0, 1e-10].iter().map(|n| json(*n)).collect();
        assert_eq!(written, ["1000000", "0.000001", "1e-7", "100000000000000000000", "1e+21", "-0", "1e-10"]);
    }
}
