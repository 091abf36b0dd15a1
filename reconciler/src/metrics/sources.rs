//! The sources that the page of metrics shows. Nothing here keeps a source alive: it leaves the page when it is dropped.

use std::fmt;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use reeve_crds::State;
use reeve_reconciler_engine::metrics::{StateCounts, encode_gauge, to_gauge};

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
pub struct SourceGauge(Arc<Mutex<SourceFacts>>);

impl SourceGauge {
    /// It is doing so.
    pub fn set(&self, facts: SourceFacts) {
        *self.0.lock() = facts;
    }
}

/// Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Arc<Mutex<Vec<Weak<Mutex<SourceFacts>>>>>);

impl Sources {
    pub(super) fn add(&self) -> SourceGauge {
        let summary = SourceGauge::default();
        let mut sources = self.0.lock();
        sources.retain(|known| known.strong_count() > 0);
        sources.push(Arc::downgrade(&summary.0));
        summary
    }

    fn all(&self) -> Vec<SourceFacts> {
        let sources: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        sources.iter().map(|source| source.lock().clone()).collect()
    }
}

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        encode_sources(&mut encoder, &self.all())
    }
}

fn encode_sources(encoder: &mut DescriptorEncoder<'_>, sources: &[SourceFacts]) -> Result<(), fmt::Error> {
    let mut counts = StateCounts::default();
    for source in sources {
        counts.add(source.state, 1);
    }
    counts.encode(encoder, "sources", "Sources, by state")?;
    let number = |is_so: fn(&SourceFacts) -> bool| to_gauge(sources.iter().filter(|source| is_so(source)).count());
    let unfetched = number(|source| source.unfetched);
    encode_gauge(encoder, "sources_unfetched", "Sources whose last fetch failed", unfetched)?;
    let rejected = number(|source| source.rejected);
    encode_gauge(encoder, "sources_rejected", "Sources whose newest commit is refused", rejected)?;
    // Nobody fetches those that rest.
    let followed = sources.iter().filter(|source| !matches!(source.state, State::Suspended | State::Deleting));
    if let Some(oldest) = followed.filter_map(|source| source.fetched_at).min() {
        let help = "When the source was last fetched for which that was longest ago, since 1970";
        encode_gauge(encoder, "oldest_fetch_timestamp_seconds", help, oldest.as_second())?;
    }
    if let Some(newest) = sources.iter().filter_map(|source| source.accepted_at).max() {
        let help = "When a commit was last put in force, since 1970";
        encode_gauge(encoder, "last_commit_timestamp_seconds", help, newest.as_second())?;
    }
    Ok(())
}
