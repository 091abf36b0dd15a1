//! Go's layouts: a certain time, written out, shows where each part of a date goes.

/// A part of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumericMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    SpaceDay,
    ZeroDay,
    SpaceYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    ZoneName,
    Zone(Zone),
    /// So many digits, always written.
    Fraction(usize),
    /// So many digits, without zeros at the end.
    ShortFraction(usize),
}

/// How an offset is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one part is written")]
pub(super) struct Zone {
    /// `Z` for UTC.
    pub(super) letter: bool,
    pub(super) colon: bool,
    pub(super) minutes: bool,
    pub(super) seconds: bool,
}

/// The longer ones first, since a shorter one may be the start of a longer.
const SPELLED: [(&str, Element); 27] = [
    ("January", Element::LongMonth),
    ("Monday", Element::LongWeekday),
    ("MST", Element::ZoneName),
    ("2006", Element::LongYear),
    ("__2", Element::SpaceYearDay),
    ("002", Element::ZeroYearDay),
    ("_2", Element::SpaceDay),
    ("01", Element::ZeroMonth),
    ("02", Element::ZeroDay),
    ("03", Element::ZeroHour12),
    ("04", Element::ZeroMinute),
    ("05", Element::ZeroSecond),
    ("06", Element::Year),
    ("15", Element::Hour),
    ("PM", Element::UpperHalf),
    ("pm", Element::LowerHalf),
    ("1", Element::NumericMonth),
    ("2", Element::Day),
    ("3", Element::Hour12),
    ("4", Element::Minute),
    ("5", Element::Second),
    ("070000", Element::Zone(zone(false, true, true))),
    ("07:00:00", Element::Zone(zone(true, true, true))),
    ("0700", Element::Zone(zone(false, true, false))),
    ("07:00", Element::Zone(zone(true, true, false))),
    ("07", Element::Zone(zone(false, false, false))),
    ("Jan", Element::Month),
];

const fn zone(colon: bool, minutes: bool, seconds: bool) -> Zone {
    Zone { letter: false, colon, minutes, seconds }
}

/// The text before the next part, the part, and what follows it.
pub(super) fn next(layout: &str) -> (&str, Option<Element>, &str) {
    for (at, letter) in layout.char_indices() {
        if let Some((skipped, element, length)) = element(letter, &layout[at..]) {
            return (&layout[..at + skipped], Some(element), &layout[at + skipped + length..]);
        }
    }
    (layout, None, "")
}

/// A part at the start of the text: bytes before it, the part, its length.
fn element(letter: char, text: &str) -> Option<(usize, Element, usize)> {
    match letter {
        '-' | 'Z' => {
            let zone = |(spelled, element): &(&str, Element)| match element {
                Element::Zone(zone) if text[1..].starts_with(spelled) => {
                    Some((0, Element::Zone(Zone { letter: letter == 'Z', ..*zone }), spelled.len() + 1))
                }
                _ => None,
            };
            SPELLED.iter().find_map(zone)
        }
        '.' | ',' => fraction(&text[1..]).map(|(element, digits)| (0, element, digits + 1)),
        // An underscore before a year is one.
        '_' if text.starts_with("_2006") => Some((1, Element::LongYear, 4)),
        'J' | 'M' | 'P' | 'p' | '_' | '0'..='6' => {
            let plain = |(spelled, element): &(&str, Element)| {
                let rest = text.strip_prefix(spelled).filter(|_| !matches!(element, Element::Zone(_)))?;
                let word = *element == Element::Month && rest.starts_with(|next: char| next.is_ascii_lowercase());
                (!word).then_some((0, *element, spelled.len()))
            };
            SPELLED.iter().find_map(plain).or_else(|| weekday(text))
        }
        _ => None,
    }
}

/// `Mon`, unless it is the start of another word.
fn weekday(text: &str) -> Option<(usize, Element, usize)> {
    let rest = text.strip_prefix("Mon")?;
    (!rest.starts_with(|next: char| next.is_ascii_lowercase())).then_some((0, Element::Weekday, 3))
}

/// Zeros or nines after the point, which no other digit follows.
fn fraction(text: &str) -> Option<(Element, usize)> {
    let first = text.chars().next().filter(|digit| matches!(digit, '0' | '9'))?;
    let rest = text.trim_start_matches(first);
    if rest.starts_with(|next: char| next.is_ascii_digit()) {
        return None;
    }
    let digits = text.len() - rest.len();
    Some((if first == '0' { Element::Fraction(digits) } else { Element::ShortFraction(digits) }, digits))
}
