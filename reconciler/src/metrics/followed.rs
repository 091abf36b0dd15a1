//! What is measured when somebody asks: the states of runtimes, components and sources, and what a term works with.
//!
//! Nothing here keeps anything alive: what a term began leaves the page with it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use reeve_crds::State;
use tokio::sync::Semaphore;

use crate::cluster::Breaker;
use crate::runtime::{Rollup, RollupInner};

/// All states, in the order of their words.
const STATES: [State; 7] =
    [State::Deleting, State::Error, State::Processing, State::Ready, State::Suspended, State::Unknown, State::Warning];

type Counts = [i64; STATES.len()];

/// What is known of one source.
#[derive(Clone, Debug, Default)]
pub struct SourceFacts {
    /// How it is doing, in one word.
    pub state: State,
    /// Whether the last fetch failed.
    pub unfetched: bool,
    /// Whether the newest commit is refused.
    pub rejected: bool,
    /// When it was last fetched, or first looked at.
    pub fetched_at: Option<Timestamp>,
    /// When the commit in force was accepted.
    pub accepted_at: Option<Timestamp>,
}

/// How one source is doing. It leaves the page when this is dropped.
#[derive(Debug, Default)]
pub struct SourceStanding(Arc<Mutex<SourceFacts>>);

impl SourceStanding {
    /// It is doing so.
    pub fn set(&self, facts: SourceFacts) {
        *lock(&self.0) = facts;
    }
}

/// What a term of leadership works with.
#[derive(Debug)]
pub struct TermFacts {
    breaker: Breaker,
    writes: Arc<Semaphore>,
    limit: usize,
}

/// Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed(Arc<Mutex<References>>);

#[derive(Debug, Default)]
struct References {
    rollups: Vec<Weak<RollupInner>>,
    sources: Vec<Weak<Mutex<SourceFacts>>>,
    term: Weak<TermFacts>,
}

impl Followed {
    pub(super) fn rollup(&self, rollup: &Rollup) {
        let mut references = lock(&self.0);
        references.rollups.retain(|known| known.strong_count() > 0);
        references.rollups.push(rollup.downgrade());
    }

    pub(super) fn source(&self) -> SourceStanding {
        let standing = SourceStanding::default();
        let mut references = lock(&self.0);
        references.sources.retain(|known| known.strong_count() > 0);
        references.sources.push(Arc::downgrade(&standing.0));
        standing
    }

    /// The semaphore must be all free.
    pub(super) fn term(&self, breaker: Breaker, writes: Arc<Semaphore>) -> Arc<TermFacts> {
        let term = Arc::new(TermFacts { breaker, limit: writes.available_permits(), writes });
        lock(&self.0).term = Arc::downgrade(&term);
        term
    }

    /// How many runtimes and how many components are in each state.
    fn runtimes(&self) -> [Counts; 2] {
        let rollups: Vec<Rollup> = lock(&self.0).rollups.iter().filter_map(Weak::upgrade).map(Rollup::from).collect();
        let mut counts = [[0; STATES.len()]; 2];
        for standing in rollups.iter().flat_map(|rollup| rollup.all().into_values()) {
            counts[0][at(standing.state)] += 1;
            for (state, number) in &standing.components {
                counts[1][at(*state)] += i64::try_from(*number).unwrap_or(i64::MAX);
            }
        }
        counts
    }

    fn sources(&self) -> Vec<SourceFacts> {
        let sources: Vec<_> = lock(&self.0).sources.iter().filter_map(Weak::upgrade).collect();
        sources.iter().map(|source| lock(source).clone()).collect()
    }
}

impl Collector for Followed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let [runtimes, components] = self.runtimes();
        states(&mut encoder, "runtimes", "Runtimes, by state", &runtimes)?;
        states(&mut encoder, "components", "Components, by state", &components)?;
        source_metrics(&mut encoder, &self.sources())?;
        let term = lock(&self.0).term.upgrade();
        term.map_or(Ok(()), |term| term_metrics(&mut encoder, &term))
    }
}

fn source_metrics(encoder: &mut DescriptorEncoder<'_>, sources: &[SourceFacts]) -> Result<(), fmt::Error> {
    let mut counts = Counts::default();
    for source in sources {
        counts[at(source.state)] += 1;
    }
    states(encoder, "sources", "Sources, by state", &counts)?;
    let number = |is_so: fn(&SourceFacts) -> bool| count(sources.iter().filter(|source| is_so(source)).count());
    let unfetched = number(|source| source.unfetched);
    gauge(encoder, "sources_unfetched", "Sources whose last fetch failed", unfetched)?;
    let rejected = number(|source| source.rejected);
    gauge(encoder, "sources_rejected", "Sources whose newest commit is refused", rejected)?;
    // Nobody fetches those that rest.
    let followed = sources.iter().filter(|source| !matches!(source.state, State::Suspended | State::Deleting));
    if let Some(oldest) = followed.filter_map(|source| source.fetched_at).min() {
        let help = "When the source was last fetched for which that was longest ago, since 1970";
        gauge(encoder, "oldest_fetch_timestamp_seconds", help, oldest.as_second())?;
    }
    if let Some(newest) = sources.iter().filter_map(|source| source.accepted_at).max() {
        let help = "When a commit was last put in force, since 1970";
        gauge(encoder, "last_commit_timestamp_seconds", help, newest.as_second())?;
    }
    Ok(())
}

fn term_metrics(encoder: &mut DescriptorEncoder<'_>, term: &TermFacts) -> Result<(), fmt::Error> {
    let reachable = i64::from(!term.breaker.is_open());
    gauge(encoder, "api_server_reachable", "Whether writes are let through to the API server", reachable)?;
    let running = term.limit.saturating_sub(term.writes.available_permits());
    gauge(encoder, "writes_running", "Writes that are under way", count(running))?;
    gauge(encoder, "writes_limit", "How many writes may be under way", count(term.limit))
}

fn states(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, counts: &Counts) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (state, count) in STATES.iter().zip(counts) {
        let word = format!("{state:?}");
        let labels = [("state", word.as_str())];
        ConstGauge::new(*count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> Result<(), fmt::Error> {
    ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn at(state: State) -> usize {
    STATES.iter().position(|known| *known == state).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
