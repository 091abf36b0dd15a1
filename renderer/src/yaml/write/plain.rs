//! Text that must be quoted because unquoted it would be something else: a number, a boolean, null, a date.

use std::ops::RangeInclusive;

/// Whether some reader of YAML takes this text for something other than text.
pub(super) fn is_something_else(text: &str) -> bool {
    is_word(text) || is_number(text) || is_sexagesimal(text) || is_timestamp(text)
}

fn is_word(text: &str) -> bool {
    let folded = match text.len() {
        0 => return true,
        1..=5 => text.to_ascii_lowercase(),
        _ => return false,
    };
    let known = matches!(
        folded.as_str(),
        "~" | "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | ".nan" | ".inf" | "+.inf" | "-.inf"
    );
    // `tRue` is text to all readers; `.NaN` is the one word with a spelling of its own.
    let mut letters = text.trim_start_matches(['.', '+', '-']).chars();
    let first_is_upper = letters.next().is_some_and(char::is_uppercase);
    let rest = letters.as_str();
    let even = rest.chars().all(char::is_lowercase) || (first_is_upper && rest.chars().all(char::is_uppercase));
    known && (even || text == ".NaN")
}

fn all_digits(text: &str, base: u32) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_digit(base))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn is_number(text: &str) -> bool {
    let digits = unsigned(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let bare = digits.replace('_', "");
    let based = |base: u32, prefixes: [&str; 2]| {
        prefixes.iter().any(|prefix| bare.strip_prefix(prefix).is_some_and(|rest| all_digits(rest, base)))
    };
    if based(16, ["0x", "0X"]) || based(8, ["0o", "0O"]) || based(2, ["0b", "0B"]) {
        return true;
    }
    let (mantissa, exponent) = match bare.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (bare.as_str(), None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa = format!("{whole}{fraction}");
    all_digits(&mantissa, 10) && exponent.is_none_or(|exponent| all_digits(unsigned(exponent), 10))
}

/// `12:30:45`, which old readers take for a number to base sixty.
fn is_sexagesimal(text: &str) -> bool {
    let bare = unsigned(text).replace('_', "");
    let mut parts = bare.split(':');
    let Some(first) = parts.next() else { return false };
    let mut rest: Vec<&str> = parts.collect();
    let Some(last) = rest.last_mut() else { return false };
    // Our own reader looks no further than the point.
    *last = last.split_once('.').map_or(*last, |(whole, _)| whole);
    let below_sixty =
        |part: &&str| part.len() <= 2 && all_digits(part, 10) && part.parse().is_ok_and(|part: u8| part < 60);
    all_digits(first, 10) && rest.iter().all(below_sixty)
}

/// A date, or a date and a time.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    let Some((month, rest)) = rest.split_once('-') else { return false };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (day, time) = rest.split_at(end);
    let (Some(year), Some(month)) = (short(year, 4..=4, 9999), short(month, 1..=2, 12)) else { return false };
    if month == 0 || short(day, 1..=2, days(year, month)).is_none_or(|day| day == 0) {
        return false;
    }
    match time.as_bytes().first() {
        None => true,
        Some(b' ') => is_clock(&time[1..]),
        Some(b'T' | b't') => with_zone(&time[1..]),
        Some(_) => false,
    }
}

fn short(text: &str, length: RangeInclusive<usize>, most: u32) -> Option<u32> {
    if !length.contains(&text.len()) || !all_digits(text, 10) {
        return None;
    }
    text.parse().ok().filter(|number| *number <= most)
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_clock(text: &str) -> bool {
    let (seconds_end, fraction) = match text.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let parts: Vec<&str> = seconds_end.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    short(hour, 1..=2, 23).is_some()
        && short(minute, 1..=2, 59).is_some()
        && short(second, 1..=2, 59).is_some()
        && fraction.is_none_or(|fraction| fraction.len() <= 9 && all_digits(fraction, 10))
}

fn with_zone(text: &str) -> bool {
    if let Some(clock) = text.strip_suffix('Z') {
        return is_clock(clock);
    }
    let Some((clock, zone)) = text.rsplit_once(['+', '-']) else { return false };
    let Some((hours, minutes)) = zone.split_once(':') else { return false };
    is_clock(clock) && short(hours, 2..=2, 24).is_some() && short(minutes, 2..=2, 59).is_some()
}
