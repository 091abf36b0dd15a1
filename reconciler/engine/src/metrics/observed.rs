//! What is measured when somebody asks: the states of runtimes and components, and what a term works with.
//!
//! Nothing here keeps anything alive: what a term began leaves the page with it.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tokio::sync::Semaphore;

use super::states::{StateCounts, encode_gauge, to_gauge};
use crate::rollup::{Rollup, RollupInner};
use crate::target::Target;

/// What a term of leadership works with.
#[derive(Debug)]
pub struct TermFacts {
    target: Target,
    writes: Arc<Semaphore>,
    limit: usize,
}

/// Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed(Arc<Mutex<References>>);

#[derive(Debug, Default)]
struct References {
    rollups: Vec<Weak<RollupInner>>,
    term: Weak<TermFacts>,
}

impl Observed {
    pub(super) fn rollup(&self, rollup: &Rollup) {
        let mut references = self.0.lock();
        references.rollups.retain(|known| known.strong_count() > 0);
        references.rollups.push(rollup.downgrade());
    }

    /// The semaphore must be all free.
    pub(super) fn term(&self, target: Target, writes: Arc<Semaphore>) -> Arc<TermFacts> {
        let term = Arc::new(TermFacts { target, limit: writes.available_permits(), writes });
        self.0.lock().term = Arc::downgrade(&term);
        term
    }

    /// How many runtimes and how many components are in each state.
    fn runtimes(&self) -> [StateCounts; 2] {
        let rollups: Vec<Rollup> = self.0.lock().rollups.iter().filter_map(Weak::upgrade).map(Rollup::from).collect();
        let mut counts = [StateCounts::default(); 2];
        for summary in rollups.iter().flat_map(|rollup| rollup.all().into_values()) {
            counts[0].add(summary.state, 1);
            for (state, number) in &summary.components {
                counts[1].add(*state, *number);
            }
        }
        counts
    }
}

impl Collector for Observed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let [runtimes, components] = self.runtimes();
        runtimes.encode(&mut encoder, "runtimes", "Runtimes, by state")?;
        components.encode(&mut encoder, "components", "Components, by state")?;
        let term = self.0.lock().term.upgrade();
        term.map_or(Ok(()), |term| encode_term(&mut encoder, &term))
    }
}

fn encode_term(encoder: &mut DescriptorEncoder<'_>, term: &TermFacts) -> Result<(), fmt::Error> {
    let reachable = i64::from(!term.target.cluster.breaker().is_open());
    encode_gauge(encoder, "api_server_reachable", "Whether writes are let through to the API server", reachable)?;
    let watches = to_gauge(term.target.watch_cache.watches());
    encode_gauge(encoder, "object_watches", "Watches of kinds of objects that runtimes have", watches)?;
    let running = term.limit.saturating_sub(term.writes.available_permits());
    encode_gauge(encoder, "writes_running", "Writes that are under way", to_gauge(running))?;
    encode_gauge(encoder, "writes_limit", "How many writes may be under way", to_gauge(term.limit))
}
