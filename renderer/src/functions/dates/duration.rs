//! Durations in nanoseconds, written as Go writes them: `1h30m0s`.

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];
const SECOND: i64 = 1_000_000_000;

/// A duration such as `-1.5h3m`; nothing when it is none or too long.
pub(super) fn parse(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (decimals, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && decimals.is_empty() {
            return None;
        }
        let end = after.find(|letter: char| letter == '.' || letter.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let unit = UNITS.iter().find_map(|(known, unit)| (*known == name).then_some(*unit))?;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = whole.checked_mul(i128::from(unit))?.checked_add(total)?.checked_add(fraction(decimals, unit))?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// The decimals of a unit; more than fit a whole number make no difference.
fn fraction(decimals: &str, unit: i64) -> i128 {
    let known = &decimals[..decimals.len().min(18)];
    let scale = 10i128.pow(u32::try_from(known.len()).unwrap_or(0));
    known.parse::<i128>().unwrap_or(0) * i128::from(unit) / scale
}

/// Go's text of a duration.
pub(super) fn written(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let second = SECOND.unsigned_abs();
    if total == 0 {
        return "0s".into();
    }
    if total < second {
        let (unit, name) = match total {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "\u{b5}s"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", decimal(total, unit));
    }
    let (minutes, rest) = (total / second / 60, total % (second * 60));
    let seconds = decimal(rest, second);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// `number / unit`, with as many decimals as there are.
fn decimal(number: u64, unit: u64) -> String {
    let width = unit.ilog10() as usize;
    let whole = number / unit;
    let decimals = format!("{:0width$}", number % unit);
    match decimals.trim_end_matches('0') {
        "" => whole.to_string(),
        decimals => format!("{whole}.{decimals}"),
    }
}

/// Its largest unit only.
pub(super) fn rounded(nanoseconds: i64) -> String {
    const SCALE: [(u64, &str); 6] =
        [(31_536_000, "y"), (2_592_000, "mo"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let total = nanoseconds.unsigned_abs();
    let largest =
        SCALE.iter().map(|(seconds, name)| (seconds * SECOND.unsigned_abs(), name)).find(|(unit, _)| total > *unit);
    largest.map_or_else(|| "0s".into(), |(unit, name)| format!("{}{name}", total / unit))
}
