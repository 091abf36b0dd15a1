//! What a rule in mode `Observe` would have done: how often and for how long its target would have slept. Pure.
//!
//! Idleness is read from the network counters of the pods. Time of which nothing is known counts as awake, and so does
//! the time in which no switch looked.

use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::Lenient;
use reeve_crds::scaling_rule::status::Totals;

use super::machine::Policy;
use super::quiet::{Quiet, Silence};

/// Counters of which nothing is known for so long will not come.
const UNKNOWN_FOR: Duration = Duration::from_secs(90);
/// Kubelets count pods every ten or fifteen seconds.
const LOOK_EVERY: Duration = Duration::from_secs(15);
const LOOK_AT_MOST_EVERY: Duration = Duration::from_secs(2);

/// What is remembered of a rule that only observes.
#[derive(Clone, Debug)]
pub(super) struct Observing {
    pub(super) silence: Silence,
    sleeps: i64,
    wakes: i64,
    slept: Duration,
    is_asleep: bool,
    awake_since: Timestamp,
    /// Up to when sleep is counted.
    counted: Timestamp,
    /// Since when nothing is known of the pods.
    unknown_since: Option<Timestamp>,
    looked: Option<Timestamp>,
}

impl Observing {
    /// From the status: somebody who slept once more than they woke is asleep.
    pub(super) fn recover(totals: Option<&Totals>, now: Timestamp) -> Self {
        let totals = totals.cloned().unwrap_or_default();
        Self {
            silence: Silence::default(),
            is_asleep: totals.sleeps > totals.wakes,
            sleeps: totals.sleeps,
            wakes: totals.wakes,
            slept: totals.asleep.and_then(|asleep| asleep.known().copied()).map(Into::into).unwrap_or_default(),
            awake_since: now,
            counted: now,
            unknown_since: Some(now),
            looked: None,
        }
    }

    /// When the pods are looked at next.
    pub(super) fn next_look(&self, idle_after: Duration) -> Timestamp {
        let pause = (idle_after / 4).clamp(LOOK_AT_MOST_EVERY, LOOK_EVERY);
        self.looked.map_or(Timestamp::MIN, |looked| looked.saturating_add(pause).unwrap_or(Timestamp::MAX))
    }

    /// The pods were looked at.
    pub(super) fn step(&mut self, quiet: Quiet, policy: &Policy, now: Timestamp) {
        self.looked = Some(now);
        if quiet == Quiet::Unknown {
            self.unknown_since.get_or_insert(now);
        } else {
            self.unknown_since = None;
        }
        let since_counted = Duration::try_from(now.duration_since(self.counted)).unwrap_or_default();
        self.counted = now;
        match (self.is_asleep, quiet) {
            (_, Quiet::Unknown) | (false, Quiet::Busy) => {}
            (true, Quiet::Since(_)) if !policy.keep_awake => self.slept += since_counted,
            (true, Quiet::Since(_) | Quiet::Busy) => {
                self.wakes += 1;
                self.is_asleep = false;
                self.awake_since = now;
            }
            (false, Quiet::Since(since)) => {
                let add = |time: Timestamp, wait| time.saturating_add(wait).unwrap_or(Timestamp::MAX);
                let due = add(since, policy.idle_after).max(add(self.awake_since, policy.min_awake));
                if now >= due && !policy.keep_awake {
                    self.sleeps += 1;
                    self.is_asleep = true;
                }
            }
        }
    }

    /// For the status: in whole minutes, or in seconds before the first, since every change is a write.
    pub(super) fn totals(&self) -> Totals {
        let seconds = self.slept.as_secs();
        let seconds = if seconds < 60 { seconds } else { seconds - seconds % 60 };
        let asleep = Duration::from_secs(seconds);
        Totals {
            sleeps: self.sleeps,
            wakes: self.wakes,
            asleep: Some(Lenient::from(reeve_crds::Duration::from(asleep))),
        }
    }

    /// Whether the kubelets do not say what the pods send, now and, as it looks, ever.
    pub(super) fn is_blind(&self, now: Timestamp) -> bool {
        let unknown = self.unknown_since.map(|since| Duration::try_from(now.duration_since(since)).unwrap_or_default());
        unknown.is_some_and(|unknown| unknown >= UNKNOWN_FOR)
    }

    /// What came of it, for people.
    pub(super) fn summary(&self) -> String {
        let totals = self.totals();
        let asleep = totals.asleep.and_then(|asleep| asleep.known().copied()).unwrap_or(Duration::ZERO.into());
        let now = if self.is_asleep { "would sleep now" } else { "would be awake now" };
        format!("observes only: would have slept {asleep} in {} sleeps, {now}", self.sleeps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Intent, SleepBy};
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn policy() -> Policy {
        Policy {
            intent: Intent::Leave { finish: false },
            idle_after: Duration::from_secs(20),
            min_awake: Duration::from_mins(1),
            wake: 1,
            hand_over: None,
            keep_awake: false,
            asked: None,
            sleep_by: SleepBy::Switch,
        }
    }

    fn told(observing: &Observing) -> (i64, i64, u64) {
        (observing.sleeps, observing.wakes, observing.slept.as_secs())
    }

    #[test]
    fn a_target_would_sleep_after_an_idle_time_and_wake_when_it_is_called() {
        let mut observing = Observing::recover(None, at(0));
        observing.step(Quiet::Since(at(30)), &policy(), at(49));
        observing.step(Quiet::Since(at(30)), &policy(), at(59));
        assert_eq!(told(&observing), (0, 0, 0), "idle for long enough, but not awake for its minimum");
        observing.step(Quiet::Since(at(30)), &policy(), at(60));
        observing.step(Quiet::Since(at(30)), &policy(), at(80));
        observing.step(Quiet::Busy, &policy(), at(100));
        assert_eq!(told(&observing), (1, 1, 20), "of the time in which it was called nobody knows how much it slept");
        observing.step(Quiet::Since(at(100)), &policy(), at(159));
        assert_eq!(told(&observing), (1, 1, 20));
        observing.step(Quiet::Since(at(100)), &policy(), at(160));
        assert_eq!(told(&observing), (2, 1, 20));
    }

    #[test]
    fn time_of_which_nothing_is_known_is_not_slept() {
        let mut observing = Observing::recover(None, at(-60));
        observing.step(Quiet::Since(at(-60)), &policy(), at(0));
        observing.step(Quiet::Unknown, &policy(), at(1000));
        observing.step(Quiet::Since(at(990)), &policy(), at(1010));
        assert_eq!(told(&observing), (1, 0, 10));
        let mut next = Observing::recover(Some(&observing.totals()), at(5000));
        next.step(Quiet::Since(at(4990)), &policy(), at(5005));
        assert_eq!(told(&next), (1, 0, 15), "while no switch looked nothing was counted");
    }

    #[test]
    fn a_window_keeps_it_awake() {
        let mut observing = Observing::recover(None, at(-60));
        let open = Policy { keep_awake: true, ..policy() };
        observing.step(Quiet::Since(at(-60)), &open, at(0));
        assert_eq!(told(&observing), (0, 0, 0));
        observing.step(Quiet::Since(at(-60)), &policy(), at(10));
        observing.step(Quiet::Since(at(-60)), &open, at(20));
        assert_eq!(told(&observing), (1, 1, 0));
    }

    #[test]
    fn kubelets_that_count_nothing_are_told_of_after_a_while() {
        let mut observing = Observing::recover(None, at(0));
        observing.step(Quiet::Unknown, &policy(), at(80));
        assert!(!observing.is_blind(at(80)));
        assert!(observing.is_blind(at(90)));
        observing.step(Quiet::Busy, &policy(), at(100));
        assert!(!observing.is_blind(at(1000)));
    }
}
