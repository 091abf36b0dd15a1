//! What is counted. Labels are words of closed sets, never names of objects: their number does not grow with the fleet.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::sync::Semaphore;

use crate::cluster::Breaker;
use crate::runtime::Rollup;

mod followed;
#[cfg(test)]
mod tests;

use followed::Followed;
pub use followed::{SourceFacts, SourceStanding, TermFacts};

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
struct Reason {
    reason: String,
}

/// The metrics of the reconciler. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    writes: Family<Write, Counter>,
    waiting: Gauge,
    drift: Family<Outcome, Counter>,
    failures: Family<Reason, Counter>,
    revisions: Family<Outcome, Counter>,
    fetches: Family<Outcome, Counter>,
    webhook_calls: Family<Outcome, Counter>,
    watch_failures: Counter,
    notifications: Family<Outcome, Counter>,
    fetch_time: Histogram,
    render_time: Histogram,
    rollout_time: Histogram,
    followed: Followed,
}

impl Default for Inner {
    fn default() -> Self {
        // From a millisecond to somewhat over a quarter of an hour.
        let time = || Histogram::new(exponential_buckets(0.001, 4.0, 11));
        Self {
            writes: writes(["apply", "delete"]),
            waiting: Gauge::default(),
            drift: outcomes(["repaired", "reported", "contested"]),
            failures: Family::default(),
            revisions: outcomes(["accepted", "rejected"]),
            fetches: outcomes(["Succeeded"]),
            webhook_calls: outcomes(["accepted", "refused", "malformed"]),
            watch_failures: Counter::default(),
            notifications: outcomes(["Succeeded", "Failed", "dropped"]),
            fetch_time: time(),
            render_time: time(),
            rollout_time: time(),
            followed: Followed::default(),
        }
    }
}

fn writes<const N: usize>(verbs: [&'static str; N]) -> Family<Write, Counter> {
    let family = Family::default();
    for verb in verbs {
        drop(family.get_or_create(&Write { verb, outcome: "Succeeded" }));
    }
    family
}

/// With these at nought from the start, so that the first one counts as a rise.
fn outcomes<const N: usize>(known: [&'static str; N]) -> Family<Outcome, Counter> {
    let family = Family::default();
    for outcome in known {
        drop(family.get_or_create(&Outcome { outcome }));
    }
    family
}

impl Metrics {
    /// Puts them on the page of a process.
    pub fn register(&self, page: &reeve_process::metrics::Metrics) {
        let inner = &self.0;
        page.register("object_writes", "Objects written, by verb and outcome", inner.writes.clone());
        page.register("writes_waiting", "Writes that wait for a slot", inner.waiting.clone());
        page.register("drift", "Drift that was found, by what was done about it", inner.drift.clone());
        page.register("component_failures", "Tries of components that failed, by reason", inner.failures.clone());
        page.register("revisions", "Revisions that were looked at, by outcome", inner.revisions.clone());
        page.register("fetches", "Fetches of repositories, by outcome", inner.fetches.clone());
        page.register("webhook_calls", "Calls of webhooks, by outcome", inner.webhook_calls.clone());
        page.register(
            "watch_failures",
            "Watches of Reeve's own kinds that broke off or did not begin",
            inner.watch_failures.clone(),
        );
        page.register("notifications", "Notifications, by outcome", inner.notifications.clone());
        page.register("fetch_seconds", "How long a fetch takes", inner.fetch_time.clone());
        page.register(
            "render_seconds",
            "How long reading, checking and rendering a revision takes",
            inner.render_time.clone(),
        );
        page.register(
            "rollout_seconds",
            "How long a runtime takes from a new revision until it is ready",
            inner.rollout_time.clone(),
        );
        page.register_collector(inner.followed.clone());
    }

    /// An object was written, or not.
    pub fn written(&self, verb: &'static str, outcome: &'static str) {
        self.0.writes.get_or_create(&Write { verb, outcome }).inc();
    }

    /// Waits for a slot to write in, and is counted meanwhile.
    pub async fn waiting<T>(&self, slot: impl Future<Output = T>) -> T {
        let _counted = Counted::new(&self.0.waiting);
        slot.await
    }

    /// Drift was found.
    pub fn drifted(&self, outcome: &'static str) {
        self.0.drift.get_or_create(&Outcome { outcome }).inc();
    }

    /// A component failed, be it for the first time or again. The reason is the word of its condition.
    pub fn failed(&self, reason: &str) {
        self.0.failures.get_or_create(&Reason { reason: reason.to_owned() }).inc();
    }

    /// A revision was taken or refused.
    pub fn revision(&self, outcome: &'static str) {
        self.0.revisions.get_or_create(&Outcome { outcome }).inc();
    }

    /// A repository was asked.
    pub fn fetched(&self, outcome: &'static str, took: Duration) {
        self.0.fetches.get_or_create(&Outcome { outcome }).inc();
        self.0.fetch_time.observe(took.as_secs_f64());
    }

    /// A webhook was called, and this was the answer.
    pub fn called(&self, answer: StatusCode) {
        let outcome = match answer {
            StatusCode::ACCEPTED => "accepted",
            StatusCode::FORBIDDEN => "refused",
            StatusCode::SERVICE_UNAVAILABLE => "leaderless",
            _ => "malformed",
        };
        self.0.webhook_calls.get_or_create(&Outcome { outcome }).inc();
    }

    /// A watch broke off, or could not begin.
    pub fn watch_failed(&self) {
        self.0.watch_failures.inc();
    }

    /// A revision was rendered.
    pub fn rendered(&self, took: Duration) {
        self.0.render_time.observe(took.as_secs_f64());
    }

    /// A runtime is ready with a new revision.
    pub fn rolled_out(&self, took: Duration) {
        self.0.rollout_time.observe(took.as_secs_f64());
    }

    /// Somebody was told, or could not be.
    pub fn notified(&self, outcome: &'static str) {
        self.0.notifications.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts the states of these runtimes and their components for as long as somebody keeps them.
    pub fn follow(&self, rollup: &Rollup) {
        self.0.followed.rollup(rollup);
    }

    /// Counts a source for as long as somebody keeps what is returned.
    pub fn follow_source(&self) -> SourceStanding {
        self.0.followed.source()
    }

    /// Shows what a term of leadership works with for as long as somebody keeps what is returned.
    #[must_use]
    pub fn follow_term(&self, breaker: Breaker, writes: Arc<Semaphore>) -> Arc<TermFacts> {
        self.0.followed.term(breaker, writes)
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
