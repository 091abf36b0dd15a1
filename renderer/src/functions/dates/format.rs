//! Writing a time by a layout.

use std::fmt::Write as _;

use super::civil::Time;
use super::layout::{self, Element, Zone};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The form in which times are passed around.
pub(super) fn rfc3339(time: &Time) -> String {
    format("2006-01-02T15:04:05.999999999Z07:00", time)
}

/// The time as the layout says.
pub(super) fn format(layout: &str, time: &Time) -> String {
    let mut out = String::with_capacity(layout.len() + 8);
    let mut rest = layout;
    while !rest.is_empty() {
        let (before, element, after) = layout::next(rest);
        out.push_str(before);
        if let Some(element) = element {
            write(&mut out, element, time);
        }
        rest = after;
    }
    out
}

fn write(out: &mut String, element: Element, time: &Time) {
    let month = MONTHS[usize::try_from(time.local.month() - 1).unwrap_or(0) % 12];
    let weekday = WEEKDAYS[usize::try_from(time.local.weekday().to_sunday_zero_offset()).unwrap_or(0) % 7];
    let hour12 = (time.local.hour() + 11) % 12 + 1;
    // Writing into a string cannot fail.
    let _ = match element {
        Element::LongMonth => write!(out, "{month}"),
        Element::Month => write!(out, "{}", &month[..3]),
        Element::NumericMonth => write!(out, "{}", time.local.month()),
        Element::ZeroMonth => write!(out, "{:02}", time.local.month()),
        Element::LongWeekday => write!(out, "{weekday}"),
        Element::Weekday => write!(out, "{}", &weekday[..3]),
        Element::Day => write!(out, "{}", time.local.day()),
        Element::SpaceDay => write!(out, "{:2}", time.local.day()),
        Element::ZeroDay => write!(out, "{:02}", time.local.day()),
        Element::SpaceYearDay => write!(out, "{:3}", time.local.day_of_year()),
        Element::ZeroYearDay => write!(out, "{:03}", time.local.day_of_year()),
        Element::Hour => write!(out, "{:02}", time.local.hour()),
        Element::Hour12 => write!(out, "{hour12}"),
        Element::ZeroHour12 => write!(out, "{hour12:02}"),
        Element::Minute => write!(out, "{}", time.local.minute()),
        Element::ZeroMinute => write!(out, "{:02}", time.local.minute()),
        Element::Second => write!(out, "{}", time.local.second()),
        Element::ZeroSecond => write!(out, "{:02}", time.local.second()),
        Element::LongYear => write!(out, "{:04}", time.local.year()),
        Element::Year => write!(out, "{:02}", time.local.year() % 100),
        Element::UpperHalf => write!(out, "{}", if time.local.hour() < 12 { "AM" } else { "PM" }),
        Element::LowerHalf => write!(out, "{}", if time.local.hour() < 12 { "am" } else { "pm" }),
        Element::ZoneName if time.offset == 0 => write!(out, "UTC"),
        Element::ZoneName => {
            write_zone(out, Zone { letter: false, colon: false, minutes: true, seconds: false }, time.offset)
        }
        Element::Zone(zone) => write_zone(out, zone, time.offset),
        Element::Fraction(digits) => write!(out, ".{}", fraction(time, digits)),
        Element::ShortFraction(digits) => match fraction(time, digits).trim_end_matches('0') {
            "" => Ok(()),
            short => write!(out, ".{short}"),
        },
    };
}

fn fraction(time: &Time, digits: usize) -> String {
    let mut all = format!("{:09}", time.local.subsec_nanosecond());
    all.truncate(digits);
    all
}

fn write_zone(out: &mut String, zone: Zone, offset: i32) -> std::fmt::Result {
    if zone.letter && offset == 0 {
        return out.write_str("Z");
    }
    let seconds = offset.unsigned_abs();
    write!(out, "{}{:02}", if offset < 0 { '-' } else { '+' }, seconds / 3600)?;
    let colon = if zone.colon { ":" } else { "" };
    if zone.minutes {
        write!(out, "{colon}{:02}", seconds / 60 % 60)?;
    }
    if zone.seconds {
        write!(out, "{colon}{:02}", seconds % 60)?;
    }
    Ok(())
}
