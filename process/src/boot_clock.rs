//! The boot-time clock: it goes on while the machine sleeps and while the process is stopped, and nobody sets it.
//!
//! Times of one machine compare with each other and with nothing else.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A moment on the boot-time clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    /// Later than any other.
    pub const NEVER: Self = Self(Duration::MAX);

    pub const fn since_boot(duration: Duration) -> Self {
        Self(duration)
    }

    /// Nothing if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn as_nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        if nanos == u64::MAX { Self::NEVER } else { Self(Duration::from_nanos(nanos)) }
    }
}

impl Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}

impl fmt::Display for BootTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0.as_secs(), self.0.subsec_nanos())
    }
}

/// Whoever knows what time it is.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    fn now(&self) -> BootTime;
}

/// The clock of the kernel, `CLOCK_BOOTTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> BootTime {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
        BootTime(Duration::new(seconds, nanos))
    }
}

/// Follows tokio's clock, so that a test that pauses time pauses this too.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct TestClock(tokio::time::Instant);

#[cfg(test)]
impl TestClock {
    pub(crate) fn start() -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self(tokio::time::Instant::now()))
    }
}

#[cfg(test)]
impl Clock for TestClock {
    fn now(&self) -> BootTime {
        BootTime(Duration::from_secs(1000) + self.0.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_from_boot() {
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split('.').next().unwrap().parse().unwrap();
        let first = BootClock.now();
        assert!(first.0.as_secs_f64() >= uptime && first.0.as_secs_f64() < uptime + 60.0, "{first} against {uptime}");
        assert!(BootClock.now() >= first);
    }

    #[test]
    fn never_survives_the_way_through_an_atomic() {
        assert_eq!(BootTime::from_nanos(BootTime::NEVER.as_nanos()), BootTime::NEVER);
        let moment = BootTime::since_boot(Duration::from_nanos(1_234_567_890));
        assert_eq!(BootTime::from_nanos(moment.as_nanos()), moment);
        assert_eq!(moment.to_string(), "1.234567890");
    }
}
