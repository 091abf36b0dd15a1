//! Days and seconds: the calendar that Go uses, without leap seconds.

const DAY: i64 = 86_400;
const NANOSECONDS: i128 = 1_000_000_000;
/// Days of 400 years, after which the calendar repeats.
const CYCLE: i64 = 146_097;

/// A moment as a clock at some offset from UTC shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanoseconds: u32,
    /// Seconds east of UTC.
    pub(super) offset: i32,
}

impl Time {
    /// The start of the year 1, Go's time before all times.
    pub(super) const ZERO: Self =
        Self { year: 1, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanoseconds: 0, offset: 0 };

    /// So many seconds after 1970, shown at an offset; none outside of the years 0 to 9999.
    pub(super) fn from_unix(seconds: i64, nanoseconds: u32, offset: i32) -> Option<Self> {
        let local = seconds.checked_add(i64::from(offset))?;
        let (year, month, day) = date_of(local.div_euclid(DAY));
        let second = local.rem_euclid(DAY);
        (0..=9999).contains(&year).then_some(Self {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            nanoseconds,
            offset,
        })
    }

    /// Seconds since 1970.
    pub(super) fn seconds(&self) -> i64 {
        let days = days_before(self.year, self.month) + self.day - 1;
        days * DAY + self.hour * 3600 + self.minute * 60 + self.second - i64::from(self.offset)
    }

    /// So many nanoseconds later.
    pub(super) fn moved(&self, nanoseconds: i64) -> Option<Self> {
        let sum = i128::from(self.seconds()) * NANOSECONDS + i128::from(self.nanoseconds) + i128::from(nanoseconds);
        let seconds = i64::try_from(sum.div_euclid(NANOSECONDS)).ok()?;
        Self::from_unix(seconds, u32::try_from(sum.rem_euclid(NANOSECONDS)).ok()?, self.offset)
    }

    /// From Sunday, 0.
    pub(super) fn weekday(&self) -> usize {
        let days = days_before(self.year, self.month) + self.day - 1;
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)
    }

    /// From 1.
    pub(super) fn day_of_year(&self) -> i64 {
        days_before(self.year, self.month) - days_before(self.year, 1) + self.day
    }
}

/// How many days the month has.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to the first of the month. Years start in March here, so that the leap day is the last of a year.
fn days_before(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    cycle * CYCLE + year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (day * 5 + 2) / 153;
    let first = (month * 153 + 2) / 5;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (cycle * 400 + year, month, day - first + 1)
}
