//! What is counted of one plugin while it is in force: what became of its calls, and how long they took.

use std::time::Duration;

use jiff::Timestamp;

use crate::chain::{Answer, Note};
use crate::hook::Hook;
use crate::hook_set::Limits;
use crate::registry::Trial;
use crate::state::{Calls, LastError};

/// Fewer calls than this say nothing of a revision.
const ENOUGH: u64 = 10;
/// After so many within its limits a revision has proven itself.
pub(crate) const PROVEN: u64 = 50;

/// Bounds of the buckets: from 10 us, each a fifth more than the one before, to beyond a minute.
const BUCKETS: usize = 88;
const FIRST: f64 = 10.0;
const GROWTH: f64 = 1.2;

#[derive(Clone, Debug)]
pub(crate) struct Stats {
    counts: Calls,
    buckets: [u64; BUCKETS],
    slow: u64,
    last_error: Option<LastError>,
}

impl Default for Stats {
    fn default() -> Self {
        Self { counts: Calls::default(), buckets: [0; BUCKETS], slow: 0, last_error: None }
    }
}

/// Whom a call was about, for an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) hook: Hook,
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
}

impl Stats {
    /// Counts a call: how it was answered, in which time, and what was noted of it.
    pub(crate) fn observe(
        &mut self,
        timed_out: bool,
        took: Duration,
        notes: &[Note],
        max_latency: Option<Duration>,
        about: About,
        now: Timestamp,
    ) {
        self.counts.calls += 1;
        self.counts.timeouts += u64::from(timed_out);
        self.slow += u64::from(max_latency.is_some_and(|max| took > max));
        self.buckets[bucket(took)] += 1;
        let mut is_changed = false;
        for note in notes {
            match note {
                Note::Changed { .. } | Note::Audited { .. } => is_changed = true,
                Note::NotAllowed { .. } => self.counts.forbidden_changes += 1,
                Note::Kept { .. } | Note::Overruled { .. } => self.counts.conflicts += 1,
                Note::Denied { .. } => self.counts.refusals += 1,
                Note::Failed { reason, .. } => {
                    self.counts.failures += 1;
                    self.last_error = Some(LastError {
                        time: now,
                        hook: about.hook,
                        pod: format!("{}/{}", about.namespace, about.pod),
                        message: reason.clone(),
                    });
                }
            }
        }
        self.counts.changes += u64::from(is_changed);
    }

    pub(crate) fn calls(&self) -> Calls {
        Calls { p50: self.quantile(50), p99: self.quantile(99), ..self.counts }
    }

    pub(crate) fn last_error(&self) -> Option<&LastError> {
        self.last_error.as_ref()
    }

    /// Why a plugin is not within the limits of its revision.
    pub(crate) fn excess(&self, plugin: &str, limits: &Limits) -> Option<String> {
        let Calls { calls, failures, .. } = self.counts;
        if calls < ENOUGH {
            return None;
        }
        let may_fail = u64::from(limits.max_failure_percent);
        if may_fail > 0 && failures * 100 > calls * may_fail {
            return Some(format!(
                "{failures} of {calls} calls to plugin {plugin} failed: more than {may_fail} percent"
            ));
        }
        let latency = limits.max_latency.filter(|_| self.slow * 100 > calls)?;
        let slow = self.slow;
        Some(format!("{slow} of {calls} calls to plugin {plugin} took longer than {} ms", latency.as_millis()))
    }

    /// No call of so many percent took longer.
    fn quantile(&self, percent: u64) -> Option<Duration> {
        let calls: u64 = self.buckets.iter().sum();
        let wanted = (calls * percent).div_ceil(100);
        let mut below = 0;
        let found = self.buckets.iter().position(|count| {
            below += count;
            calls > 0 && below >= wanted
        });
        found.map(bound)
    }
}

impl Trial {
    /// Why the revision is to be left, by what was counted of one of its plugins.
    pub(crate) fn verdict(&self, plugin: &str, stats: &Stats) -> Option<String> {
        stats.excess(plugin, &self.limits)
    }
}

/// Whether an answer is none because time was over.
pub(crate) fn is_timeout(answer: &Answer) -> bool {
    matches!(answer, Answer::TimedOut(_))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small whole number that is not negative"
)]
fn bucket(took: Duration) -> usize {
    let micros = took.as_secs_f64() * 1e6;
    if micros <= FIRST {
        return 0;
    }
    ((micros / FIRST).log(GROWTH).ceil() as usize).min(BUCKETS - 1)
}

fn bound(bucket: usize) -> Duration {
    let exponent = i32::try_from(bucket).unwrap_or(i32::MAX);
    Duration::from_secs_f64(FIRST * GROWTH.powi(exponent) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About = About { hook: Hook::PreCreateContainer, namespace: "shop", pod: "web" };

    fn observe(stats: &mut Stats, fails: bool, took: Duration, max_latency: Option<Duration>) {
        let failed = [Note::Failed { plugin: "p".to_owned(), reason: "broken".to_owned() }];
        let notes = if fails { &failed[..] } else { &[] };
        stats.observe(false, took, notes, max_latency, ABOUT, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn a_quantile_is_a_bound_that_is_at_most_a_fifth_too_high() {
        let mut stats = Stats::default();
        for micros in 1..=1000 {
            observe(&mut stats, false, Duration::from_micros(micros), None);
        }
        let Calls { p50: Some(p50), p99: Some(p99), .. } = stats.calls() else { panic!("no quantiles") };
        assert!((500..=600).contains(&p50.as_micros()), "{p50:?}");
        assert!((990..=1188).contains(&p99.as_micros()), "{p99:?}");
        assert_eq!(Stats::default().calls().p50, None);
        observe(&mut stats, false, Duration::from_hours(1), None);
    }

    #[test]
    fn a_revision_is_left_when_more_calls_fail_than_may_and_not_before_enough_were_made() {
        let limits = Limits { max_failure_percent: 10, max_latency: None };
        let mut stats = Stats::default();
        for _ in 0..9 {
            observe(&mut stats, true, Duration::ZERO, None);
        }
        assert_eq!(stats.excess("p", &limits), None);
        observe(&mut stats, false, Duration::ZERO, None);
        let reason = stats.excess("p", &limits).unwrap();
        assert_eq!(reason, "9 of 10 calls to plugin p failed: more than 10 percent");
        assert_eq!(stats.excess("p", &Limits::default()), None, "without limits nothing is left");
        let mut stats = Stats::default();
        for number in 0..100 {
            observe(&mut stats, number % 10 == 9, Duration::ZERO, None);
        }
        assert_eq!(stats.excess("p", &limits), None, "ten percent are within ten percent");
    }

    #[test]
    fn a_revision_is_left_when_more_than_one_call_in_a_hundred_is_slow() {
        let max = Some(Duration::from_millis(50));
        let limits = Limits { max_failure_percent: 0, max_latency: max };
        let mut stats = Stats::default();
        for number in 0..200 {
            observe(&mut stats, false, Duration::from_millis(if number < 2 { 80 } else { 1 }), max);
        }
        assert_eq!(stats.excess("p", &limits), None);
        observe(&mut stats, false, Duration::from_millis(51), max);
        assert_eq!(stats.excess("p", &limits).unwrap(), "3 of 201 calls to plugin p took longer than 50 ms");
    }
}
