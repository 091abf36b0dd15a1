//! When a status is written. Pure.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::after;

/// How long news that something is further on its way may wait for better news.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a runtime tells how far it is.
const PROGRESS: Duration = Duration::from_secs(20);
/// How long after one component the next one tells that it is under way. A thousand must not spend their time on telling.
const SPACING: Duration = Duration::from_secs(2);
/// How long any of them may wait.
const LONGEST: Duration = Duration::from_mins(1);

/// How soon a status must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Haste {
    /// It is decided.
    Now,
    /// It is under way, and was not before: what was said no longer holds.
    Turned,
    /// It is further on its way.
    Soon,
}

/// When a runtime tells of itself, which it did last at `told`.
pub(super) fn of_runtime(haste: Haste, told: Timestamp, now: Timestamp) -> Timestamp {
    match haste {
        Haste::Now | Haste::Turned => now,
        Haste::Soon => after(now, PATIENCE).max(after(told, PROGRESS)),
    }
}

/// When a component tells of itself while so many others wait to.
pub(super) fn of_component(haste: Haste, others: usize, now: Timestamp) -> Timestamp {
    let spaced = SPACING.saturating_mul(u32::try_from(others).unwrap_or(u32::MAX)).min(LONGEST);
    match haste {
        Haste::Now => now,
        Haste::Turned => after(now, spaced),
        Haste::Soon => after(now, spaced.max(PATIENCE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn what_is_decided_and_that_a_runtime_is_under_way_is_told_at_once() {
        for haste in [Haste::Now, Haste::Turned] {
            assert_eq!(of_runtime(haste, NOW, NOW), NOW);
        }
        assert_eq!(of_component(Haste::Now, 1000, NOW), NOW);
        assert_eq!(of_component(Haste::Turned, 0, NOW), NOW);
    }

    #[test]
    fn many_components_under_way_tell_so_one_after_the_other_and_none_waits_for_long() {
        assert_eq!(of_component(Haste::Turned, 2, NOW), after(NOW, SPACING * 2));
        for others in [1000, usize::MAX] {
            assert_eq!(of_component(Haste::Turned, others, NOW), after(NOW, LONGEST));
        }
    }

    #[test]
    fn progress_waits_for_better_news_and_for_the_time_since_the_last() {
        assert_eq!(of_component(Haste::Soon, 0, NOW), after(NOW, PATIENCE));
        assert_eq!(of_runtime(Haste::Soon, NOW, NOW), after(NOW, PROGRESS));
        assert_eq!(of_runtime(Haste::Soon, NOW, after(NOW, PROGRESS)), after(after(NOW, PROGRESS), PATIENCE));
    }
}
