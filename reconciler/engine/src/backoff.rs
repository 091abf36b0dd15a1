//! How long to wait before the next try.

use std::time::Duration;

/// Doublings after which every backoff is at its longest.
const MAX_DOUBLINGS: u32 = 16;

/// Pauses that begin with the first and double up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub first: Duration,
    /// No pause is longer.
    pub longest: Duration,
}

impl Backoff {
    /// Pauses between these two.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The pause after this failure; the first of a row is number zero.
    pub fn delay(self, failure: u32) -> Duration {
        self.first.saturating_mul(1 << failure.min(MAX_DOUBLINGS)).min(self.longest)
    }

    /// The same, a quarter longer or shorter by the name of what failed: what failed together does not come back together.
    /// It is the same each time, so that tests can tell.
    pub fn spread_delay(self, failure: u32, name: &str) -> Duration {
        let spread = name.bytes().fold(failure, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        self.delay(failure).mul_f64(0.75 + f64::from(spread % 256) / 512.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_the_first_to_the_longest_and_never_overflow() {
        let backoff = Backoff::new(Duration::from_secs(2), Duration::from_mins(1));
        let pauses = [0, 1, 2, 4, 5, 40, u32::MAX].map(|failure| backoff.delay(failure).as_secs());
        assert_eq!(pauses, [2, 4, 8, 32, 60, 60, 60]);
        assert_eq!(Backoff::new(Duration::MAX, Duration::MAX).delay(9), Duration::MAX);
    }

    #[test]
    fn names_spread_a_pause_by_a_quarter_at_most_and_always_alike() {
        let backoff = Backoff::new(Duration::from_secs(8), Duration::from_mins(1));
        let pauses: Vec<Duration> = ["a", "b", "web", "db"].map(|name| backoff.spread_delay(1, name)).to_vec();
        assert!(pauses.iter().all(|pause| (12.0..=20.0).contains(&pause.as_secs_f64())), "{pauses:?}");
        assert!(pauses.windows(2).any(|two| two[0] != two[1]));
        assert_eq!(backoff.spread_delay(1, "web"), pauses[2]);
    }
}
