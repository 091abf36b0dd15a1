//! Constants of Go: numbers, characters, quoted text. Nothing else of the language.

use crate::value::Value;

/// The value of a number, or why it has none.
pub(super) fn number(text: &str) -> Result<Value, String> {
    if text.ends_with('i') && !text.contains(['x', 'X']) {
        return Err(format!("`{text}` is a complex number, which no value can hold"));
    }
    let plain = text.replace('_', "");
    let bad_underscore = text.match_indices('_').any(|(at, _)| {
        // As in Go: a digit, or the prefix of a base, on both sides.
        let before = text[..at].chars().next_back().is_some_and(|letter| letter.is_ascii_alphanumeric());
        !before || !text[at + 1..].starts_with(|letter: char| letter.is_ascii_hexdigit())
    });
    if !bad_underscore && let Some(whole) = whole(&plain) {
        return whole.map(Value::Int);
    }
    let unsigned = plain.trim_start_matches(['+', '-']);
    let bad = || format!("`{text}` is no number");
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        return hexadecimal_float(&plain).map(Value::Float).ok_or_else(bad);
    }
    let digits = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E' | '+' | '-');
    if text.contains('_') || !plain.chars().all(digits) {
        return Err(bad());
    }
    match plain.parse::<f64>() {
        Ok(number) if !number.is_finite() => Err(format!("`{text}` is too large for a number")),
        Ok(_) if !text.contains(['.', 'e', 'E']) => Err(format!("`{text}` is too large for a whole number")),
        Ok(number) => Ok(Value::Float(number)),
        Err(_) => Err(bad()),
    }
}

/// A whole number of any base; none if the text is no whole number.
fn whole(text: &str) -> Option<Result<i64, String>> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match unsigned.get(..2) {
        Some("0x" | "0X") => (16, &unsigned[2..]),
        Some("0b" | "0B") => (2, &unsigned[2..]),
        Some("0o" | "0O") => (8, &unsigned[2..]),
        _ if unsigned.len() > 1 && unsigned.starts_with('0') => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let too_large = || format!("`{text}` is too large for a whole number");
    let magnitude = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
    Some(i64::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| too_large()))
}

/// `0x1.8p3`.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let negative = text.starts_with('-');
    let unsigned = text.trim_start_matches(['+', '-']);
    let (mantissa, exponent) = unsigned.get(2..)?.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let mut value = 0.0f64;
    for digit in before.chars().chain(after.chars()) {
        value = value.mul_add(16.0, f64::from(digit.to_digit(16)?));
    }
    let shift = exponent.checked_sub(i32::try_from(after.len()).ok()?.checked_mul(4)?)?;
    let value = value * 2f64.powi(shift);
    value.is_finite().then_some(if negative { -value } else { value })
}

/// What a text in quotes holds; none if an escape is wrong.
pub(super) fn unquoted(quoted: &str) -> Option<String> {
    let inside = quoted.get(1..quoted.len().checked_sub(1)?)?;
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(letter) = rest.chars().next() {
        if letter != '\\' {
            out.extend_from_slice(&rest.as_bytes()[..letter.len_utf8()]);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        rest = escape(&rest[1..], '"', &mut out)?;
    }
    String::from_utf8(out).ok()
}

/// The number of a character in single quotes.
pub(super) fn character(quoted: &str) -> Option<i64> {
    let inside = quoted.get(1..quoted.len().checked_sub(1)?)?;
    let first = inside.chars().next()?;
    if first != '\\' {
        return (inside.len() == first.len_utf8()).then(|| i64::from(u32::from(first)));
    }
    if let Some((code, rest)) = numeric(&inside[1..]) {
        return rest.is_empty().then(|| i64::from(code));
    }
    let mut out = Vec::new();
    let rest = escape(&inside[1..], '\'', &mut out)?;
    let text = String::from_utf8(out).ok()?;
    let mut letters = text.chars();
    let letter = letters.next()?;
    (rest.is_empty() && letters.next().is_none()).then(|| i64::from(u32::from(letter)))
}

/// The number behind `x`, `u`, `U` or of an octal escape, and what follows it.
fn numeric(text: &str) -> Option<(u32, &str)> {
    let (skip, digits, radix) = match text.chars().next()? {
        'x' => (1, 2, 16),
        'u' => (1, 4, 16),
        'U' => (1, 8, 16),
        '0'..='7' => (0, 3, 8),
        _ => return None,
    };
    let written = text.get(skip..skip + digits)?;
    if !written.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    Some((u32::from_str_radix(written, radix).ok()?, &text[skip + digits..]))
}

/// Adds what is behind a backslash; gives back what follows it.
fn escape<'t>(text: &'t str, quote: char, out: &mut Vec<u8>) -> Option<&'t str> {
    let letter = text.chars().next()?;
    if let Some((code, rest)) = numeric(text) {
        if matches!(letter, 'u' | 'U') {
            let mut buffer = [0; 4];
            out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
        } else {
            out.push(u8::try_from(code).ok()?);
        }
        return Some(rest);
    }
    out.push(match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        letter if letter == quote => u8::try_from(letter).ok()?,
        _ => return None,
    });
    text.get(1..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_go_reads() {
        let read = |text| number(text).ok();
        for (text, value) in
            [("0x1F", 31), ("0b101", 5), ("017", 15), ("0o17", 15), ("-7", -7), ("0x_1", 1), ("1_000", 1000)]
        {
            assert_eq!(read(text), Some(Value::Int(value)), "{text}");
        }
        for (text, value) in [("1e3", 1000.0), ("1.5", 1.5), ("0x1p-2", 0.25), (".5", 0.5)] {
            assert_eq!(read(text), Some(Value::Float(value)), "{text}");
        }
        for text in ["1i", "9223372036854775808", "1__0", "08", "1x", "1e999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn escapes_are_what_go_reads() {
        assert_eq!(unquoted(r#""a\n\x41\u00e9\"""#).as_deref(), Some("a\nA\u{e9}\""));
        assert_eq!(unquoted(r#""\q""#), None);
        assert_eq!(character("'a'"), Some(97));
        assert_eq!(character(r"'\n'"), Some(10));
        assert_eq!(character(r"'\xff'"), Some(255));
        assert_eq!(character("'ab'"), None);
    }
}
