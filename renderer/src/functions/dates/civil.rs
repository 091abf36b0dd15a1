//! A moment at an offset from UTC, over the calendar of `jiff::civil`.

use jiff::SignedDuration;
use jiff::civil::DateTime;

/// A moment as a clock at some offset from UTC shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) local: DateTime,
    /// Seconds east of UTC.
    pub(super) offset: i32,
}

impl Time {
    /// The start of the year 1, Go's time before all times.
    pub(super) const ZERO: Self = Self { local: DateTime::constant(1, 1, 1, 0, 0, 0, 0), offset: 0 };
    const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

    /// So many seconds after 1970, shown at an offset; none outside of the years 0 to 9999.
    pub(super) fn from_unix(seconds: i64, nanoseconds: i32, offset: i32) -> Option<Self> {
        let since = SignedDuration::new(seconds.checked_add(i64::from(offset))?, nanoseconds);
        let local = Self::EPOCH.checked_add(since).ok()?;
        (local.year() >= 0).then_some(Self { local, offset })
    }

    /// Whole seconds since 1970.
    pub(super) fn seconds(&self) -> i64 {
        let nanoseconds = SignedDuration::from_nanos(self.local.subsec_nanosecond().into());
        (self.local.duration_since(Self::EPOCH) - nanoseconds).as_secs() - i64::from(self.offset)
    }

    /// The same moment at another offset.
    pub(super) fn at(&self, offset: i32) -> Option<Self> {
        Self::from_unix(self.seconds(), self.local.subsec_nanosecond(), offset)
    }

    /// So many nanoseconds later.
    pub(super) fn moved(&self, nanoseconds: i64) -> Option<Self> {
        let local = self.local.checked_add(SignedDuration::from_nanos(nanoseconds)).ok()?;
        (local.year() >= 0).then_some(Self { local, ..*self })
    }
}
