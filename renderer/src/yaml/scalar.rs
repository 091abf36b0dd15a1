//! What a plain scalar means, and whether all readers agree on it.

use super::Dialect;
use crate::value::Value;

/// A scalar that readers of YAML 1.1 and 1.2 do not agree on, or that no object can hold.
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) help: String,
}

/// The value of a plain scalar.
pub(super) fn plain(text: &str, dialect: Dialect) -> Result<Value, Refused> {
    Ok(meaning(text, dialect)?.unwrap_or_else(|| Value::from(text)))
}

/// What a plain scalar means, unless it is text.
pub(super) fn meaning(text: &str, dialect: Dialect) -> Result<Option<Value>, Refused> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Some(Value::Null)),
        "true" | "True" | "TRUE" => return Ok(Some(Value::Bool(true))),
        "false" | "False" | "FALSE" => return Ok(Some(Value::Bool(false))),
        _ => {}
    }
    match dialect {
        Dialect::Strict => strict(text),
        Dialect::Helm => Ok(helm(text)),
    }
}

fn word(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn strict(text: &str) -> Result<Option<Value>, Refused> {
    if let Some(value) = word(text) {
        let help = format!("write \"{text}\" for the text, or {value} for the boolean");
        return Err(Refused {
            message: format!("`{text}` is a boolean to some readers of YAML and text to others"),
            help,
        });
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned.as_bytes().first() {
        Some(b'0'..=b'9') => {}
        Some(b'.') if unsigned.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {}
        Some(b'.') if not_finite(unsigned) => {
            let message = format!("`{text}` is no number that an object can hold");
            return Err(Refused { message, help: format!("write \"{text}\" for the text") });
        }
        _ => return Ok(None),
    }
    number(text, unsigned)
}

fn not_finite(unsigned: &str) -> bool {
    matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN")
}

/// A scalar that begins like a number.
fn number(text: &str, unsigned: &str) -> Result<Option<Value>, Refused> {
    if decimal(unsigned) || (unsigned.starts_with("0x") && hexadecimal(&unsigned[2..])) {
        return whole(text, unsigned).map(Some).ok_or_else(|| Refused {
            message: format!("`{text}` is too large for a whole number"),
            help: format!("write \"{text}\" for the text; whole numbers end at {}", i64::MAX),
        });
    }
    if let Some(reading) = ambiguous(text, unsigned) {
        let message = format!("`{text}` is {reading} to some readers of YAML and something else to others");
        let number = helm(text);
        let help = match number {
            Some(Value::Int(number)) => format!("write \"{text}\" for the text, or {number} for the number"),
            Some(Value::Float(number)) => format!("write \"{text}\" for the text, or {number:?} for the number"),
            _ => format!("write \"{text}\" for the text"),
        };
        return Err(Refused { message, help });
    }
    if fraction(unsigned)
        && let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Ok(Some(Value::Float(number)));
    }
    Ok(None)
}

fn decimal(text: &str) -> bool {
    (text == "0" || !text.starts_with('0')) && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn whole(text: &str, unsigned: &str) -> Option<Value> {
    let negative = text.starts_with('-');
    let magnitude = match unsigned.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => unsigned.parse::<i128>().ok()?,
    };
    i64::try_from(if negative { -magnitude } else { magnitude }).ok().map(Value::Int)
}

/// `1.5`, `.5`, `1.`, `1.5e+3`: floats to both.
fn fraction(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let Some((before, after)) = mantissa.split_once('.') else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let signed = |exponent: &str| {
        exponent.strip_prefix(['-', '+']).is_some_and(|exponent| !exponent.is_empty() && digits(exponent))
    };
    digits(before) && digits(after) && !(before.is_empty() && after.is_empty()) && exponent.is_none_or(signed)
}

/// What some readers take a scalar for that others read as something else.
fn ambiguous(text: &str, unsigned: &str) -> Option<&'static str> {
    let bare: String = unsigned.chars().filter(|c| *c != '_').collect();
    let digits = |text: &str, base: u32| !text.is_empty() && text.chars().all(|c| c.is_digit(base));
    if digits(&bare, 10) && bare.len() > 1 && bare.starts_with('0') {
        return Some("an octal number");
    }
    if bare.strip_prefix("0o").is_some_and(|rest| digits(rest, 8)) {
        return Some("an octal number");
    }
    if bare.strip_prefix("0b").is_some_and(|rest| digits(rest, 2)) {
        return Some("a binary number");
    }
    if bare.len() != unsigned.len()
        && (decimal(&bare) || fraction(&bare) || bare.strip_prefix("0x").is_some_and(hexadecimal))
    {
        return Some("a number");
    }
    if sexagesimal(&bare) {
        return Some("a number to base sixty");
    }
    // Without a point, or without a sign in the exponent, YAML 1.1 sees text; commit ids look like this.
    let number = text.parse::<f64>();
    if bare.contains(['e', 'E']) && number.is_ok_and(|number| !fraction(unsigned) || !number.is_finite()) {
        return Some("a number");
    }
    None
}

fn sexagesimal(text: &str) -> bool {
    let mut parts = text.split(':');
    let Some(first) = parts.next() else { return false };
    if !decimal(first) {
        return false;
    }
    let rest: Vec<&str> = parts.collect();
    let sixty = |part: &str| {
        (1..=2).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse().is_ok_and(|n: u8| n < 60)
    };
    let Some((last, middle)) = rest.split_last() else { return false };
    let last = last.split_once('.').map_or(*last, |(whole, _)| whole);
    middle.iter().all(|part| sixty(part)) && sixty(last)
}

/// What Helm reads: YAML 1.1 as its parser for Go has it.
fn helm(text: &str) -> Option<Value> {
    if let Some(value) = word(text) {
        return Some(Value::Bool(value));
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let magnitude = plain.strip_prefix(['-', '+']).unwrap_or(&plain);
    let (written, base) = match magnitude.get(..2) {
        Some("0x" | "0X") => (&magnitude[2..], 16),
        Some("0b" | "0B") => (&magnitude[2..], 2),
        Some("0o" | "0O") => (&magnitude[2..], 8),
        _ if magnitude.len() > 1 && magnitude.starts_with('0') => (&magnitude[1..], 8),
        _ => (magnitude, 10),
    };
    if written.chars().all(|c| c.is_digit(base))
        && let Ok(number) = i128::from_str_radix(written, base)
        && let Ok(number) = i64::try_from(if plain.starts_with('-') { -number } else { number })
    {
        return Some(Value::Int(number));
    }
    if magnitude.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+'))
        && let Ok(number) = plain.parse::<f64>()
        && number.is_finite()
    {
        return Some(Value::Float(number));
    }
    None
}
