//! The three durations of a lease, and what must hold between them.

use std::time::Duration;

/// The durations of a lease, known to fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry: Duration,
}

/// Durations that do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    #[error("the lease duration must be whole seconds, at least one: a Lease holds no less")]
    NotWholeSeconds,
    #[error("the renew deadline must be shorter than the lease duration: the difference keeps two leaders apart")]
    DeadlineNotBeforeLease,
    #[error("the retry period must be longer than nothing and shorter than the renew deadline")]
    RetryNotBeforeDeadline,
}

impl Timing {
    /// `lease_duration`: how long others wait for a silent holder. `renew_deadline`: how long a holder acts without a
    /// renewal. `retry`: how often it renews and they look.
    pub fn new(lease_duration: Duration, renew_deadline: Duration, retry: Duration) -> Result<Self, TimingError> {
        if lease_duration.subsec_nanos() != 0
            || i32::try_from(lease_duration.as_secs()).is_err()
            || lease_duration.is_zero()
        {
            return Err(TimingError::NotWholeSeconds);
        }
        if renew_deadline >= lease_duration {
            return Err(TimingError::DeadlineNotBeforeLease);
        }
        if retry.is_zero() || retry >= renew_deadline {
            return Err(TimingError::RetryNotBeforeDeadline);
        }
        Ok(Self { lease_duration, renew_deadline, retry })
    }

    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    pub fn retry(&self) -> Duration {
        self.retry
    }

    /// How long after a holder's right has ended nobody else may start.
    pub(super) fn margin(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline)
    }

    /// The longest that one request may take, so that one that hangs leaves time for another.
    pub(super) fn request(&self) -> Duration {
        (self.renew_deadline / 3).max(self.retry)
    }
}

impl Default for Timing {
    fn default() -> Self {
        let [lease_duration, renew_deadline, retry] = [15, 10, 2].map(Duration::from_secs);
        Self { lease_duration, renew_deadline, retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(lease: u64, renew: u64, retry: u64) -> Result<Timing, TimingError> {
        Timing::new(Duration::from_millis(lease), Duration::from_millis(renew), Duration::from_millis(retry))
    }

    #[test]
    fn durations_that_do_not_fit_are_refused() {
        assert_eq!(timing(15_000, 10_000, 2_000), Ok(Timing::default()));
        assert_eq!(timing(1_500, 1_000, 100), Err(TimingError::NotWholeSeconds));
        assert_eq!(timing(0, 0, 0), Err(TimingError::NotWholeSeconds));
        assert_eq!(timing(2_000, 2_000, 100), Err(TimingError::DeadlineNotBeforeLease));
        assert_eq!(timing(3_000, 2_000, 2_000), Err(TimingError::RetryNotBeforeDeadline));
        assert_eq!(timing(3_000, 2_000, 0), Err(TimingError::RetryNotBeforeDeadline));
    }
}
