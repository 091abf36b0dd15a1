//! Reading a time by a layout.

use super::civil::{Time, days_in};
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
    let mut reading = Reading { rest: text, time: Time { year: 0, ..Time::ZERO }, afternoon: None };
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
    time: Time,
    afternoon: Option<bool>,
}

impl Reading<'_> {
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
            Element::LongMonth => self.time.month = self.name(&MONTHS, usize::MAX)? + 1,
            Element::Month => self.time.month = self.name(&MONTHS, 3)? + 1,
            Element::NumericMonth => self.time.month = self.number(false)?,
            Element::ZeroMonth => self.time.month = self.number(true)?,
            // A weekday is read and not compared with the date.
            Element::LongWeekday => {
                self.name(&WEEKDAYS, usize::MAX)?;
            }
            Element::Weekday => {
                self.name(&WEEKDAYS, 3)?;
            }
            Element::Day => self.time.day = self.number(false)?,
            Element::SpaceDay => {
                self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                self.time.day = self.number(false)?;
            }
            Element::ZeroDay => self.time.day = self.number(true)?,
            Element::SpaceYearDay | Element::ZeroYearDay => return None,
            Element::Hour | Element::Hour12 => self.time.hour = self.number(false)?,
            Element::ZeroHour12 => self.time.hour = self.number(true)?,
            Element::Minute => self.time.minute = self.number(false)?,
            Element::ZeroMinute => self.time.minute = self.number(true)?,
            Element::Second | Element::ZeroSecond => {
                self.time.second = self.number(element == Element::ZeroSecond)?;
                let (_, next, _) = layout::next(layout_after);
                if !matches!(next, Some(Element::Fraction(_) | Element::ShortFraction(_))) {
                    self.optional_fraction()?;
                }
            }
            Element::LongYear => self.time.year = self.digits(4)?,
            Element::Year => {
                let year = self.digits(2)?;
                self.time.year = if year >= 69 { 1900 + year } else { 2000 + year };
            }
            Element::UpperHalf => self.half("AM", "PM")?,
            Element::LowerHalf => self.half("am", "pm")?,
            Element::ZoneName => self.zone_name()?,
            Element::Zone(zone) => self.time.offset = offset(&mut self.rest, zone)?,
            Element::Fraction(digits) => self.fraction(digits)?,
            Element::ShortFraction(_) => self.optional_fraction()?,
        }
        let hour = if matches!(element, Element::Hour12 | Element::ZeroHour12) { 0..=12 } else { 0..=23 };
        let good = hour.contains(&self.time.hour) && self.time.minute < 60 && self.time.second < 60;
        good.then_some(())
    }

    /// Which of the names it starts with, in any case, each name cut to so many letters.
    fn name(&mut self, names: &[&str], length: usize) -> Option<i64> {
        let found = names.iter().enumerate().find_map(|(at, name)| {
            let name = &name[..length.min(name.len())];
            let start = self.rest.get(..name.len())?;
            start.eq_ignore_ascii_case(name).then_some((at, name.len()))
        });
        let (at, length) = found?;
        self.rest = &self.rest[length..];
        i64::try_from(at).ok()
    }

    /// Two digits, or one where two are not asked for.
    fn number(&mut self, two: bool) -> Option<i64> {
        let digits = self.rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        if digits == 0 || two && digits == 1 { None } else { self.digits(digits) }
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
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
        self.time.nanoseconds = format!("{:0<9}", &written[..digits.min(9)]).parse().ok()?;
        Some(())
    }

    fn finish(mut self) -> Option<Time> {
        match self.afternoon {
            Some(true) if self.time.hour < 12 => self.time.hour += 12,
            Some(false) if self.time.hour == 12 => self.time.hour = 0,
            _ => {}
        }
        let in_month = (1..=12).contains(&self.time.month)
            && (1..=days_in(self.time.year, self.time.month)).contains(&self.time.day);
        (self.rest.is_empty() && in_month).then_some(self.time)
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
