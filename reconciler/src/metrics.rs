//! What is counted. Labels are words of closed sets, never names of objects: their number does not grow with the fleet.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_crds::State;

use crate::runtime::Rollup;

/// All states, in the order of their words.
const STATES: [State; 7] =
    [State::Deleting, State::Error, State::Processing, State::Ready, State::Suspended, State::Unknown, State::Warning];

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Write {
    verb: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Outcome {
    outcome: &'static str,
}

/// The metrics of the reconciler. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    writes: Family<Write, Counter>,
    drift: Family<Outcome, Counter>,
    revisions: Family<Outcome, Counter>,
    fetches: Family<Outcome, Counter>,
    notifications: Family<Outcome, Counter>,
    fetch_time: Histogram,
    render_time: Histogram,
    rollout_time: Histogram,
    rollups: Mutex<Vec<Weak<crate::runtime::RollupInner>>>,
}

impl Default for Inner {
    fn default() -> Self {
        // From a millisecond to somewhat over a quarter of an hour.
        let time = || Histogram::new(exponential_buckets(0.001, 4.0, 11));
        Self {
            writes: Family::default(),
            drift: Family::default(),
            revisions: Family::default(),
            fetches: Family::default(),
            notifications: Family::default(),
            fetch_time: time(),
            render_time: time(),
            rollout_time: time(),
            rollups: Mutex::default(),
        }
    }
}

impl Metrics {
    /// Puts them on the page of a process.
    pub fn register(&self, page: &reeve_process::metrics::Metrics) {
        let inner = &self.0;
        page.register("object_writes", "Objects written, by verb and outcome", inner.writes.clone());
        page.register("drift", "Drift that was found, by what was done about it", inner.drift.clone());
        page.register("revisions", "Revisions that were looked at, by outcome", inner.revisions.clone());
        page.register("fetches", "Fetches of repositories, by outcome", inner.fetches.clone());
        page.register("notifications", "Notifications that were sent, by outcome", inner.notifications.clone());
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
        page.register_collector(States(self.clone()));
    }

    /// An object was written, or not.
    pub fn written(&self, verb: &'static str, outcome: &'static str) {
        self.0.writes.get_or_create(&Write { verb, outcome }).inc();
    }

    /// Drift was found.
    pub fn drifted(&self, outcome: &'static str) {
        self.0.drift.get_or_create(&Outcome { outcome }).inc();
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
        let mut rollups = self.0.rollups.lock().unwrap_or_else(PoisonError::into_inner);
        rollups.retain(|known| known.strong_count() > 0);
        rollups.push(rollup.downgrade());
    }

    /// How many runtimes and how many components are in each state.
    fn states(&self) -> [[u64; 7]; 2] {
        let rollups = self.0.rollups.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = [[0; 7]; 2];
        for rollup in rollups.iter().filter_map(Weak::upgrade).map(Rollup::from) {
            for standing in rollup.all().values() {
                counts[0][at(standing.state)] += 1;
                for (state, number) in &standing.components {
                    counts[1][at(*state)] += u64::try_from(*number).unwrap_or_default();
                }
            }
        }
        counts
    }
}

fn at(state: State) -> usize {
    STATES.iter().position(|known| *known == state).unwrap_or_default()
}

#[derive(Debug)]
struct States(Metrics);

impl Collector for States {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let names = [("runtimes", "Runtimes, by state"), ("components", "Components, by state")];
        for ((name, help), counts) in names.into_iter().zip(self.0.states()) {
            let kind = prometheus_client::metrics::MetricType::Gauge;
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (state, count) in STATES.iter().zip(counts) {
                let word = format!("{state:?}");
                let labels = [("state", word.as_str())];
                ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
