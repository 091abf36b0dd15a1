//! What was rendered before, found by what the render really read.
//!
//! A render reads its chart, its final values, and some facts of the runtime and the component. Only those facts that it
//! read have to be the same for its result to be used again, so that one chart with the same values is rendered once for
//! a whole fleet.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::diagnostic::Diagnostic;
use crate::object::Draft;
use crate::tree::ContentId;
use crate::value::{Digest, KeyPath, Value};

/// What every render of this chart with these values has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// The chart's content.
    pub chart: ContentId,
    /// The final values.
    pub values: Digest,
    /// What a render may cost, since that decides between a result and an error.
    pub limits: u64,
}

/// Facts that a render read: what it found where. `None` is a fact too: there was nothing.
pub type Touched = BTreeMap<(&'static str, KeyPath), Option<Value>>;

/// The objects of a component, or all that is wrong with its templates.
pub type Outcome = Result<Vec<Draft>, Vec<Diagnostic>>;

/// Keeps outcomes.
pub trait RenderCache: Sync {
    /// An outcome under this key whose facts are all still so.
    fn find(&self, key: &CacheKey, holds: &dyn Fn(&Touched) -> bool) -> Option<Arc<Outcome>>;

    /// Keeps an outcome.
    fn store(&self, key: CacheKey, touched: Touched, outcome: Arc<Outcome>);
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl RenderCache for NoCache {
    fn find(&self, _: &CacheKey, _: &dyn Fn(&Touched) -> bool) -> Option<Arc<Outcome>> {
        None
    }

    fn store(&self, _: CacheKey, _: Touched, _: Arc<Outcome>) {}
}

/// Keeps the outcomes used last, up to a size.
#[derive(Debug)]
pub struct MemoryCache {
    capacity: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    outcomes: HashMap<CacheKey, Vec<Remembered>>,
    size: u64,
    clock: u64,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Remembered {
    touched: Touched,
    outcome: Arc<Outcome>,
    size: u64,
    used: u64,
}

impl MemoryCache {
    /// A cache for outcomes of this many bytes, roughly.
    pub fn new(capacity: u64) -> Self {
        Self { capacity, kept: Mutex::default() }
    }

    /// How many renders were found, and how many were not.
    pub fn counts(&self) -> (u64, u64) {
        let kept = self.kept.lock();
        (kept.hits, kept.misses)
    }
}

impl RenderCache for MemoryCache {
    fn find(&self, key: &CacheKey, holds: &dyn Fn(&Touched) -> bool) -> Option<Arc<Outcome>> {
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let now = kept.clock;
        let found =
            kept.outcomes.get_mut(key).and_then(|all| all.iter_mut().find(|one| holds(&one.touched))).map(|one| {
                one.used = now;
                one.outcome.clone()
            });
        if found.is_some() {
            kept.hits += 1;
        } else {
            kept.misses += 1;
        }
        found
    }

    fn store(&self, key: CacheKey, touched: Touched, outcome: Arc<Outcome>) {
        let facts: u64 = touched.values().map(|value| 256 + value.as_ref().map_or(0, footprint)).sum();
        let kept_outcome: u64 = match &*outcome {
            Ok(drafts) => drafts.iter().map(|draft| 512 + footprint(&Value::Dict(draft.value.clone()))).sum(),
            Err(findings) => 1024 * findings.len() as u64,
        };
        let size = 512 + facts + kept_outcome;
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let used = kept.clock;
        kept.size += size;
        kept.outcomes.entry(key).or_default().push(Remembered { touched, outcome, size, used });
        if kept.size > self.capacity {
            kept.shrink(self.capacity / 4 * 3);
        }
    }
}

/// What a value takes in memory, roughly: far more than its text. A map alone holds room for eleven entries.
fn footprint(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        Value::Text(text) => 32 + text.len() as u64,
        Value::List(list) => 80 + list.items().iter().map(|item| 24 + footprint(item)).sum::<u64>(),
        Value::Dict(dict) => {
            let rooms = 560 * (1 + dict.len() as u64 / 8);
            let entries = dict.entries().iter().map(|(key, value)| 32 + key.len() as u64 + footprint(value));
            64 + rooms + entries.sum::<u64>()
        }
    }
}

impl Kept {
    /// Forgets what was used longest ago.
    fn shrink(&mut self, target: u64) {
        let mut uses: Vec<(u64, u64)> = self.outcomes.values().flatten().map(|one| (one.used, one.size)).collect();
        uses.sort_unstable();
        let mut left = self.size;
        let mut oldest = 0;
        for (used, size) in uses {
            if left <= target {
                break;
            }
            left -= size;
            oldest = used;
        }
        self.outcomes.retain(|_, all| {
            all.retain(|one| one.used > oldest);
            !all.is_empty()
        });
        self.size = left;
    }
}
