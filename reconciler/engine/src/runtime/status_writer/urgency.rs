//! When a status is written. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::State;

use crate::backoff::Backoff;
use crate::clock::after;

/// How long news that something is further on its way may wait for better news.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a runtime tells how far it is.
const PROGRESS: Duration = Duration::from_secs(20);
/// How long after one component the next one tells how far it is. A thousand must not spend their time on telling.
const SPACING: Duration = Duration::from_secs(1);
/// How long any of them may wait.
const LONGEST: Duration = Duration::from_secs(30);
/// The same for what was said of them and no longer holds, such as that they are ready.
const UNTRUE_SPACING: Duration = Duration::from_millis(500);
const UNTRUE_LONGEST: Duration = Duration::from_secs(20);
/// How long what could not be written waits, first and at most.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_mins(1));

/// How soon a status must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Urgency {
    /// It is decided.
    Now,
    /// It is under way, and was not before: what was said no longer holds.
    Turned,
    /// It is under way, and nothing was said of it before.
    Begun,
    /// It is further on its way.
    Soon,
}

impl Urgency {
    /// How soon a status must be seen that follows on one of this state. What is only looked at again, without a change of
    /// it, is mostly soon as it was.
    pub(in crate::runtime) fn of(before: Option<State>, turned: bool, settled: bool, changes: bool) -> Self {
        match (turned, settled) {
            (true, true) => Self::Now,
            (true, false) if changes && before.is_none() => Self::Begun,
            (true, false) if changes => Self::Turned,
            (true | false, _) => Self::Soon,
        }
    }
}

/// When a runtime tells of itself, which it did last at `told`.
pub(super) fn of_runtime(urgency: Urgency, told: Timestamp, now: Timestamp) -> Timestamp {
    match urgency {
        Urgency::Now | Urgency::Turned | Urgency::Begun => now,
        Urgency::Soon => after(now, PATIENCE).max(after(told, PROGRESS)),
    }
}

/// When a component tells of itself while so many others wait to.
pub(super) fn of_component(urgency: Urgency, others: usize, now: Timestamp) -> Timestamp {
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    let spaced = SPACING.saturating_mul(others).min(LONGEST);
    match urgency {
        Urgency::Now => now,
        Urgency::Turned => after(now, UNTRUE_SPACING.saturating_mul(others).min(UNTRUE_LONGEST)),
        Urgency::Begun => after(now, spaced),
        Urgency::Soon => after(now, spaced.max(PATIENCE)),
    }
}

/// How long to wait after so many failures in a row.
pub(super) fn retry(failures: u32) -> Duration {
    BACKOFF.delay(failures.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn what_is_decided_and_that_a_runtime_is_under_way_is_told_at_once() {
        for urgency in [Urgency::Now, Urgency::Turned, Urgency::Begun] {
            assert_eq!(of_runtime(urgency, NOW, NOW), NOW);
            assert_eq!(of_component(urgency, 0, NOW), NOW);
        }
        assert_eq!(of_component(Urgency::Now, 1000, NOW), NOW);
    }

    #[test]
    fn many_components_under_way_tell_so_one_after_the_other_and_none_waits_for_long() {
        assert_eq!(of_component(Urgency::Begun, 2, NOW), after(NOW, SPACING * 2));
        for others in [1000, usize::MAX] {
            assert_eq!(of_component(Urgency::Begun, others, NOW), after(NOW, LONGEST));
        }
    }

    #[test]
    fn what_is_no_longer_true_is_taken_back_before_others_tell_how_far_they_are() {
        for others in [2, 20, 1000, usize::MAX] {
            let [turned, begun] = [Urgency::Turned, Urgency::Begun].map(|urgency| of_component(urgency, others, NOW));
            assert!(turned < begun && turned <= after(NOW, UNTRUE_LONGEST), "{others}: {turned}, {begun}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_tried_less_and_less_often() {
        assert_eq!([1, 2, 3].map(retry), [5, 10, 20].map(Duration::from_secs));
        assert_eq!([5, 100].map(retry), [BACKOFF.longest; 2]);
    }

    #[test]
    fn progress_waits_for_better_news_and_for_the_time_since_the_last() {
        assert_eq!(of_component(Urgency::Soon, 0, NOW), after(NOW, PATIENCE));
        assert_eq!(of_runtime(Urgency::Soon, NOW, NOW), after(NOW, PROGRESS));
        assert_eq!(of_runtime(Urgency::Soon, NOW, after(NOW, PROGRESS)), after(after(NOW, PROGRESS), PATIENCE));
    }

    #[test]
    fn only_a_change_is_told_of_before_it_is_done() {
        let ready = Some(State::Ready);
        assert_eq!(Urgency::of(ready, true, false, true), Urgency::Turned);
        assert_eq!(Urgency::of(None, true, false, true), Urgency::Begun, "nothing that was said is untrue");
        assert_eq!(Urgency::of(ready, true, false, false), Urgency::Soon, "it is looked at again");
        assert_eq!(Urgency::of(ready, true, true, false), Urgency::Now);
        assert_eq!(Urgency::of(ready, false, false, true), Urgency::Soon);
    }
}
