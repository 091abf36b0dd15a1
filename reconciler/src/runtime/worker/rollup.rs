//! How the runtimes of one source are doing, in one place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reeve_crds::State;
use tokio::sync::Notify;

/// State and message by runtime. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Rollup(Arc<(Mutex<BTreeMap<Arc<str>, (State, String)>>, Notify)>);

impl Rollup {
    /// A runtime is doing so.
    pub fn set(&self, runtime: &Arc<str>, state: State, message: String) {
        let before = self.lock().insert(runtime.clone(), (state, message.clone()));
        if before != Some((state, message)) {
            self.0.1.notify_one();
        }
    }

    /// A runtime is gone.
    pub fn remove(&self, runtime: &str) {
        if self.lock().remove(runtime).is_some() {
            self.0.1.notify_one();
        }
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Arc<str>, (State, String)> {
        self.lock().clone()
    }

    /// Resolves when something changed.
    pub async fn changed(&self) {
        self.0.1.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, (State, String)>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
