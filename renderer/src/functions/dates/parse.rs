//! Reading a time by a layout.

use std::str::FromStr;

use jiff::civil::DateTime;

use super::civil::Time;
use super::format::{MONTHS, WEEKDAYS};
use super::layout::{self, Element, Zone};

/// A time in the form in which times are passed around.
pub(super) fn rfc3339(text: &str) -> Option<Time> {
    parse("2006-01-02T15:04:05Z07:00", text)
}

/// `+02:00`, `-0530` or `+02`, in seconds.
pub(super) fn fixed_offset(text: &str) -> Option<i32> {
    let plain = text.strip_prefix("UTC").unwrap_or(text);
    let colon = plain.contains(':');
    let zone = Zone { letter: true, colon, minutes: plain.len() > 3, seconds: false };
    let mut rest = plain;
    let offset = offset(&mut rest, zone)?;
    rest.is_empty().then_some(offset)
}

/// The time that the text says by the layout; nothing when it does not follow it.
pub(super) fn parse(layout: &str, text: &str) -> Option<Time> {
    let mut reading = Reading::of(text);
    let mut layout = layout;
    while !layout.is_empty() {
        let (before, element, after) = layout::next(layout);
        reading.skip(before)?;
        if let Some(element) = element {
            reading.read(element, after)?;
        }
        layout = after;
    }
    reading.finish()
}

struct Reading<'a> {
    rest: &'a str,
    year: i16,
    month: i8,
    day: i8,
    hour: i8,
    minute: i8,
    second: i8,
    nanoseconds: i32,
    offset: i32,
    afternoon: Option<bool>,
}

impl<'a> Reading<'a> {
    fn of(rest: &'a str) -> Self {
        let (month, day, afternoon) = (1, 1, None);
        Self { rest, year: 0, month, day, hour: 0, minute: 0, second: 0, nanoseconds: 0, offset: 0, afternoon }
    }

    /// Skips text of the layout; spaces stand for any number of them.
    fn skip(&mut self, mut expected: &str) -> Option<()> {
        while let Some(letter) = expected.chars().next() {
            if letter == ' ' {
                if !self.rest.is_empty() && !self.rest.starts_with(' ') {
                    return None;
                }
                expected = expected.trim_start_matches(' ');
                self.rest = self.rest.trim_start_matches(' ');
            } else {
                self.rest = self.rest.strip_prefix(letter)?;
                expected = &expected[letter.len_utf8()..];
            }
        }
        Some(())
    }

    fn read(&mut self, element: Element, layout_after: &str) -> Option<()> {
        match element {
            Element::LongMonth => self.month = self.name(&MONTHS, usize::MAX)? + 1,
            Element::Month => self.month = self.name(&MONTHS, 3)? + 1,
            Element::NumericMonth => self.month = self.number(false)?,
            Element::ZeroMonth => self.month = self.number(true)?,
            // A weekday is read and not compared with the date.
            Element::LongWeekday => {
                self.name(&WEEKDAYS, usize::MAX)?;
            }
            Element::Weekday => {
                self.name(&WEEKDAYS, 3)?;
            }
            Element::Day => self.day = self.number(false)?,
            Element::SpaceDay => {
                self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                self.day = self.number(false)?;
            }
            Element::ZeroDay => self.day = self.number(true)?,
            Element::SpaceYearDay | Element::ZeroYearDay => return None,
            Element::Hour | Element::Hour12 => self.hour = self.number(false)?,
            Element::ZeroHour12 => self.hour = self.number(true)?,
            Element::Minute => self.minute = self.number(false)?,
            Element::ZeroMinute => self.minute = self.number(true)?,
            Element::Second | Element::ZeroSecond => {
                self.second = self.number(element == Element::ZeroSecond)?;
                let (_, next, _) = layout::next(layout_after);
                if !matches!(next, Some(Element::Fraction(_) | Element::ShortFraction(_))) {
                    self.optional_fraction()?;
                }
            }
            Element::LongYear => self.year = self.digits(4)?,
            Element::Year => {
                let year: i16 = self.digits(2)?;
                self.year = if year >= 69 { 1900 + year } else { 2000 + year };
            }
            Element::UpperHalf => self.half("AM", "PM")?,
            Element::LowerHalf => self.half("am", "pm")?,
            Element::ZoneName => self.zone_name()?,
            Element::Zone(zone) => self.offset = offset(&mut self.rest, zone)?,
            Element::Fraction(digits) => self.fraction(digits)?,
            Element::ShortFraction(_) => self.optional_fraction()?,
        }
        let hour = if matches!(element, Element::Hour12 | Element::ZeroHour12) { 0..=12 } else { 0..=23 };
        let good = hour.contains(&self.hour) && self.minute < 60 && self.second < 60;
        good.then_some(())
    }

    /// Which of the names it starts with, in any case, each name cut to so many letters.
    fn name(&mut self, names: &[&str], length: usize) -> Option<i8> {
        let found = names.iter().enumerate().find_map(|(at, name)| {
            let name = &name[..length.min(name.len())];
            let start = self.rest.get(..name.len())?;
            start.eq_ignore_ascii_case(name).then_some((at, name.len()))
        });
        let (at, length) = found?;
        self.rest = &self.rest[length..];
        i8::try_from(at).ok()
    }

    /// Two digits, or one where two are not asked for.
    fn number(&mut self, two: bool) -> Option<i8> {
        let digits = self.rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        if digits == 0 || two && digits == 1 { None } else { self.digits(digits) }
    }

    fn digits<T: FromStr>(&mut self, count: usize) -> Option<T> {
        let digits = self.rest.get(..count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[count..];
        digits.parse().ok()
    }

    fn half(&mut self, morning: &str, afternoon: &str) -> Option<()> {
        let is_afternoon = self.rest.starts_with(afternoon);
        if !is_afternoon && !self.rest.starts_with(morning) {
            return None;
        }
        self.afternoon = Some(is_afternoon);
        self.rest = &self.rest[2..];
        Some(())
    }

    /// The name of a zone says nothing without a database: the time is taken for UTC.
    fn zone_name(&mut self) -> Option<()> {
        let length = self.rest.bytes().take_while(u8::is_ascii_uppercase).count();
        self.rest = self.rest.get(length..).filter(|_| (3..=5).contains(&length))?;
        Some(())
    }

    fn optional_fraction(&mut self) -> Option<()> {
        let digits = match self.rest.strip_prefix(['.', ',']) {
            Some(after) => after.bytes().take_while(u8::is_ascii_digit).count(),
            None => 0,
        };
        if digits == 0 { Some(()) } else { self.fraction(digits) }
    }

    fn fraction(&mut self, digits: usize) -> Option<()> {
        let after = self.rest.strip_prefix(['.', ','])?;
        let written = after.get(..digits)?;
        if !written.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.rest = &after[digits..];
        self.nanoseconds = format!("{:0<9}", &written[..digits.min(9)]).parse().ok()?;
        Some(())
    }

    fn finish(mut self) -> Option<Time> {
        match self.afternoon {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        let Self { year, month, day, hour, minute, second, nanoseconds, offset, .. } = self;
        let local = DateTime::new(year, month, day, hour, minute, second, nanoseconds).ok()?;
        self.rest.is_empty().then_some(Time { local, offset })
    }
}

fn offset(rest: &mut &str, zone: Zone) -> Option<i32> {
    if let Some(after) = rest.strip_prefix('Z').filter(|_| zone.letter) {
        *rest = after;
        return Some(0);
    }
    let negative = rest.starts_with('-');
    let mut text = rest.strip_prefix(['+', '-'])?;
    let mut part = |wanted: bool, first: bool| -> Option<i32> {
        if !wanted {
            return Some(0);
        }
        if zone.colon && !first {
            text = text.strip_prefix(':')?;
        }
        let digits = text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        text = &text[2..];
        digits.parse().ok()
    };
    let (hours, minutes, seconds) = (part(true, true)?, part(zone.minutes, false)?, part(zone.seconds, false)?);
    *rest = text;
    let valid = hours <= 24 && minutes < 60 && seconds < 60;
    let total = hours * 3600 + minutes * 60 + seconds;
    valid.then_some(if negative { -total } else { total })
}
