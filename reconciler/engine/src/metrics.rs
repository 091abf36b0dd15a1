//! What the engine counts. Labels are words of closed sets, never names of objects: their number does not grow with the
//! fleet.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_crds::Reason;
use tokio::sync::Semaphore;

use crate::rollup::Rollup;
use crate::target::Target;

mod observed;
mod states;
#[cfg(test)]
mod tests;

use observed::Observed;
pub use observed::TermFacts;
pub use states::{StateCounts, encode_gauge, to_gauge};

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Write {
    verb: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Failure {
    reason: &'static str,
}

/// The metrics of the engine. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    writes: Family<Write, Counter>,
    waiting: Gauge,
    drift: Family<Outcome, Counter>,
    failures: Family<Failure, Counter>,
    rollout_time: Histogram,
    observed: Observed,
}

impl Default for Inner {
    fn default() -> Self {
        // At zero from the start, so that the first one counts as a rise.
        let writes = Family::<Write, Counter>::default();
        for verb in ["apply", "delete"] {
            drop(writes.get_or_create(&Write { verb, outcome: Reason::Succeeded.as_str() }));
        }
        let drift = Family::<Outcome, Counter>::default();
        for outcome in ["repaired", "reported", "contested"] {
            drop(drift.get_or_create(&Outcome { outcome }));
        }
        Self {
            writes,
            waiting: Gauge::default(),
            drift,
            failures: Family::default(),
            // From a millisecond to somewhat over a quarter of an hour.
            rollout_time: Histogram::new(exponential_buckets(0.001, 4.0, 11)),
            observed: Observed::default(),
        }
    }
}

impl Metrics {
    /// Puts them on the page of a process.
    pub fn register(&self, page: &reeve_process::metrics::Metrics) {
        let inner = &self.0;
        page.register("object_writes", "Objects written, by verb and outcome", inner.writes.clone());
        page.register("writes_waiting", "Writes that wait for a slot", inner.waiting.clone());
        page.register("drift", "Drift that was found, by what was done about it", inner.drift.clone());
        page.register("component_failures", "Tries of components that failed, by reason", inner.failures.clone());
        page.register(
            "rollout_seconds",
            "How long a runtime takes from a new revision until it is ready",
            inner.rollout_time.clone(),
        );
        page.register_collector(inner.observed.clone());
    }

    /// Counts a write of an object.
    pub fn written(&self, verb: &'static str, outcome: Reason) {
        self.0.writes.get_or_create(&Write { verb, outcome: outcome.as_str() }).inc();
    }

    /// Waits for a slot to write in, and counts the write as waiting meanwhile.
    pub async fn waiting<T>(&self, slot: impl Future<Output = T>) -> T {
        let _counted = Counted::new(&self.0.waiting);
        slot.await
    }

    /// Counts drift.
    pub fn drifted(&self, outcome: &'static str) {
        self.0.drift.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a failed try of a component. The reason is the word of its condition.
    pub fn failed(&self, reason: Reason) {
        self.0.failures.get_or_create(&Failure { reason: reason.as_str() }).inc();
    }

    /// A runtime is ready with a new revision.
    pub fn rolled_out(&self, took: Duration) {
        self.0.rollout_time.observe(took.as_secs_f64());
    }

    /// Shows the states of these runtimes and their components for as long as somebody keeps them.
    pub fn observe_runtimes(&self, rollup: &Rollup) {
        self.0.observed.rollup(rollup);
    }

    /// Shows what a term of leadership works with for as long as somebody keeps what is returned.
    #[must_use]
    pub fn observe_term(&self, target: &Target, writes: Arc<Semaphore>) -> Arc<TermFacts> {
        self.0.observed.term(target.clone(), writes)
    }
}

/// One more, until it is dropped.
struct Counted<'a>(&'a Gauge);

impl<'a> Counted<'a> {
    fn new(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
