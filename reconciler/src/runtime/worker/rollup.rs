//! How the runtimes of one source are doing, in one place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use reeve_crds::State;
use tokio::sync::Notify;

/// How one runtime is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// In one word.
    pub state: State,
    /// In a sentence.
    pub message: String,
    /// How many of its components are in which state.
    pub components: BTreeMap<State, usize>,
}

/// What is shared by the clones of a [`Rollup`].
#[derive(Debug, Default)]
pub struct RollupInner {
    standings: Mutex<BTreeMap<Arc<str>, Standing>>,
    changed: Notify,
}

/// Standings by runtime. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Rollup(Arc<RollupInner>);

impl From<Arc<RollupInner>> for Rollup {
    fn from(inner: Arc<RollupInner>) -> Self {
        Self(inner)
    }
}

impl Rollup {
    /// A runtime is doing so.
    pub fn set(&self, runtime: &Arc<str>, standing: Standing) {
        let mut standings = self.lock();
        if standings.get(runtime) != Some(&standing) {
            standings.insert(runtime.clone(), standing);
            drop(standings);
            self.0.changed.notify_one();
        }
    }

    /// A runtime was last said to be doing so; its worker may know better.
    pub fn set_first(&self, runtime: &Arc<str>, state: State, message: &str) {
        let first = || Standing { state, message: message.to_owned(), components: BTreeMap::new() };
        self.lock().entry(runtime.clone()).or_insert_with(first);
    }

    /// A runtime is gone.
    pub fn remove(&self, runtime: &str) {
        if self.lock().remove(runtime).is_some() {
            self.0.changed.notify_one();
        }
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Arc<str>, Standing> {
        self.lock().clone()
    }

    /// Resolves when something changed.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// A reference that keeps nothing alive.
    pub fn downgrade(&self) -> Weak<RollupInner> {
        Arc::downgrade(&self.0)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Standing>> {
        self.0.standings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
