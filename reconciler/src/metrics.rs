//! What is counted. Labels are words of closed sets, never names of objects: their number does not grow with the fleet.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

mod sources;
#[cfg(test)]
mod tests;

use sources::Sources;
pub use sources::{SourceFacts, SourceGauge};

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Outcome {
    outcome: &'static str,
}

/// The metrics of the reconciler, with those of the engine and of Git. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Of the engine.
    pub engine: reeve_reconciler_engine::metrics::Metrics,
    /// Of fetches and webhooks.
    pub git: reeve_reconciler_git::Metrics,
    own: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    revisions: Family<Outcome, Counter>,
    watch_failures: Counter,
    notifications: Family<Outcome, Counter>,
    render_time: Histogram,
    sources: Sources,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            revisions: outcomes(["accepted", "rejected"]),
            watch_failures: Counter::default(),
            notifications: outcomes(["Succeeded", "Failed", "dropped"]),
            // From a millisecond to somewhat over a quarter of an hour.
            render_time: Histogram::new(exponential_buckets(0.001, 4.0, 11)),
            sources: Sources::default(),
        }
    }
}

/// With these at zero from the start, so that the first one counts as a rise.
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
        self.engine.register(page);
        self.git.register(page);
        let own = &self.own;
        page.register("revisions", "Revisions that were looked at, by outcome", own.revisions.clone());
        page.register(
            "watch_failures",
            "Watches of Reeve's own kinds that broke off or did not begin",
            own.watch_failures.clone(),
        );
        page.register("notifications", "Notifications, by outcome", own.notifications.clone());
        page.register(
            "render_seconds",
            "How long reading, checking and rendering a revision takes",
            own.render_time.clone(),
        );
        page.register_collector(own.sources.clone());
    }

    /// Counts a revision that was accepted or rejected.
    pub fn revision(&self, outcome: &'static str) {
        self.own.revisions.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a watch that broke off, or could not begin.
    pub fn watch_failed(&self) {
        self.own.watch_failures.inc();
    }

    /// Counts a revision that was rendered.
    pub fn rendered(&self, took: Duration) {
        self.own.render_time.observe(took.as_secs_f64());
    }

    /// Counts a notification.
    pub fn notified(&self, outcome: &'static str) {
        self.own.notifications.get_or_create(&Outcome { outcome }).inc();
    }

    /// Shows a source for as long as somebody keeps what is returned.
    pub fn observe_source(&self) -> SourceGauge {
        self.own.sources.add()
    }
}
