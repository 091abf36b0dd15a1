//! Whether a rule's windows keep its target awake now. Pure; a start is five fields as cron has them.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reeve_crds::scaling_rule::AwakeWindow;

/// Whether a window is open, or why that cannot be known: then the target stays awake.
pub(super) fn is_open(window: &AwakeWindow, now: Timestamp) -> Result<bool, String> {
    let schedule = Schedule::parse(&window.start)?;
    let zone = match window.time_zone.as_str() {
        "UTC" => TimeZone::UTC,
        name => TimeZone::get(name).map_err(|_| format!("the time zone {name} is not known here"))?,
    };
    let minutes = Duration::from(window.duration).as_secs().div_ceil(60);
    // It is open if it began at a minute that lies less than its duration back.
    for back in 0..minutes {
        let Ok(begun) = now.checked_sub(Duration::from_secs(back * 60)) else { break };
        if schedule.matches(&begun.to_zoned(zone.clone())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The minutes at which something begins.
struct Schedule {
    minutes: Vec<bool>,
    hours: Vec<bool>,
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
    /// Where both are restricted, either suffices: so cron has it.
    any_day: bool,
    any_weekday: bool,
}

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Schedule {
    fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split(' ').collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(format!("`{text}` has not five fields"));
        };
        let mut of_week = field(weekdays, 0, 7, &WEEKDAYS, 0)?;
        // Sunday is both 0 and 7.
        of_week[0] |= of_week[7];
        Ok(Self {
            minutes: field(minutes, 0, 59, &[], 0)?,
            hours: field(hours, 0, 23, &[], 0)?,
            days: field(days, 1, 31, &[], 0)?,
            months: field(months, 1, 12, &MONTHS, 1)?,
            weekdays: of_week,
            any_day: days.starts_with('*'),
            any_weekday: weekdays.starts_with('*'),
        })
    }

    fn matches(&self, time: &Zoned) -> bool {
        let has = |set: &[bool], value: i8| usize::try_from(value).is_ok_and(|value| set.get(value) == Some(&true));
        let day = has(&self.days, time.day());
        let weekday = has(&self.weekdays, time.weekday().to_sunday_zero_offset());
        let on_day = if self.any_day || self.any_weekday { day && weekday } else { day || weekday };
        has(&self.minutes, time.minute()) && has(&self.hours, time.hour()) && has(&self.months, time.month()) && on_day
    }
}

/// One field as a set: lists of values, ranges and steps, with names where there are any.
fn field(text: &str, least: usize, most: usize, names: &[&str], first: usize) -> Result<Vec<bool>, String> {
    let wrong = || format!("`{text}` is not a field of a schedule");
    let value = |word: &str| -> Result<usize, String> {
        let by_name = names.iter().position(|name| name.eq_ignore_ascii_case(word)).map(|index| index + first);
        let value = by_name.or_else(|| word.parse().ok()).ok_or_else(wrong)?;
        if (least..=most).contains(&value) { Ok(value) } else { Err(wrong()) }
    };
    let mut set = vec![false; most + 1];
    for part in text.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let step_by: usize = step.map_or(Ok(1), |step| step.parse().map_err(|_| wrong()))?;
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((from, to)) => (value(from)?, value(to)?),
            None if step.is_some() => (value(range)?, most),
            None => (value(range)?, value(range)?),
        };
        if step_by == 0 || from > to {
            return Err(wrong());
        }
        (from..=to).step_by(step_by).for_each(|value| set[value] = true);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn window(start: &str, duration: &str, zone: &str) -> AwakeWindow {
        let window = json!({ "name": "w", "start": start, "duration": duration, "timeZone": zone });
        serde_json::from_value(window).unwrap()
    }

    fn open(start: &str, duration: &str, now: &str) -> bool {
        is_open(&window(start, duration, "UTC"), now.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_window_is_open_from_its_start_for_its_duration() {
        // 2026-11-16 is a Monday.
        assert!(!open("0 8 * * 1-5", "10h", "2026-11-16T07:59:59Z"));
        assert!(open("0 8 * * 1-5", "10h", "2026-11-16T08:00:00Z"));
        assert!(open("0 8 * * 1-5", "10h", "2026-11-16T17:59:59Z"));
        assert!(!open("0 8 * * 1-5", "10h", "2026-11-16T18:00:00Z"));
        assert!(!open("0 8 * * 1-5", "10h", "2026-11-15T09:00:00Z"), "a Sunday");
        assert!(open("0 22 * * *", "8h", "2026-11-16T03:00:00Z"), "over midnight");
    }

    #[test]
    fn lists_ranges_steps_and_names_are_as_cron_has_them() {
        assert!(open("*/30 8-18 * NOV,DEC MON-FRI", "1m", "2026-11-16T08:30:00Z"));
        assert!(!open("*/30 8-18 * NOV,DEC MON-FRI", "1m", "2026-11-16T08:31:00Z"));
        assert!(open("0 0 * * 7", "1m", "2026-11-15T00:00:00Z"), "7 is Sunday too");
        assert!(open("0 0 1 * 1", "1m", "2026-11-16T00:00:00Z"), "a day of the month or of the week");
        for wrong in ["60 * * * *", "0 8 * *", "0 8 * * MOO", "5-1 * * * *", "*/0 * * * *"] {
            assert!(is_open(&window(wrong, "1h", "UTC"), Timestamp::UNIX_EPOCH).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_zone_that_is_not_known_is_said() {
        let told = is_open(&window("0 8 * * *", "1h", "Nowhere/Else"), Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(told, "the time zone Nowhere/Else is not known here");
    }
}
