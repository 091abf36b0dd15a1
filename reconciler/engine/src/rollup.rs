//! How the runtimes of one source are doing, in one place.
//!
//! Which runtimes there are is said by whoever watches the Runtimes, alone: how one is doing can be said of no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use reeve_crds::State;
use tokio::sync::Notify;

/// How one runtime is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSummary {
    /// In one word.
    pub state: State,
    /// In a sentence.
    pub message: String,
    /// How many of its components are in which state.
    pub components: BTreeMap<State, usize>,
}

impl RuntimeSummary {
    /// Whether some of it does not go on by itself. What keeps an object of a runtime that goes may do so for ever.
    pub fn is_stuck(&self) -> bool {
        let mut states = self.components.keys().chain([&self.state]);
        states.any(|state| matches!(state, State::Error | State::Warning | State::Suspended))
    }
}

/// What is shared by the clones of a [`Rollup`].
#[derive(Debug, Default)]
pub struct RollupInner {
    summaries: Mutex<BTreeMap<Arc<str>, RuntimeSummary>>,
    /// Runtimes whose workers were sent what Git wants and have not looked at it yet.
    unread: Mutex<BTreeSet<Arc<str>>>,
    /// Whether runtimes are yet to be sent what the revision in force says.
    publishing: AtomicBool,
    changed: Notify,
    /// Rings when all workers may know what Git wants.
    settled: Notify,
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
    /// There is a runtime, which was last said to be doing so; its worker may know better.
    pub fn add(&self, runtime: &Arc<str>, state: State, message: &str) {
        let mut summaries = self.lock();
        if !summaries.contains_key(runtime) {
            let summary = RuntimeSummary { state, message: message.to_owned(), components: BTreeMap::new() };
            summaries.insert(runtime.clone(), summary);
            drop(summaries);
            self.0.changed.notify_one();
        }
    }

    /// A runtime is doing so, if there still is one: who speaks of it may be late.
    pub fn set(&self, runtime: &str, summary: RuntimeSummary) {
        let mut summaries = self.lock();
        if let Some(before) = summaries.get_mut(runtime)
            && *before != summary
        {
            *before = summary;
            drop(summaries);
            self.0.changed.notify_one();
        }
    }

    /// A runtime is gone.
    pub fn remove(&self, runtime: &str) {
        self.read(runtime);
        if self.lock().remove(runtime).is_some() {
            self.0.changed.notify_one();
        }
    }

    /// The worker of a runtime is about to be sent what Git wants.
    pub fn sending(&self, runtime: &Arc<str>) {
        self.unread().insert(runtime.clone());
    }

    /// The worker of a runtime knows what Git wants, or there is none.
    pub fn read(&self, runtime: &str) {
        if self.unread().remove(runtime) {
            self.0.changed.notify_one();
            self.0.settled.notify_waiters();
        }
    }

    /// Whether runtimes are yet to be sent what the revision in force says.
    pub fn set_publishing(&self, publishing: bool) {
        if self.0.publishing.swap(publishing, Ordering::AcqRel) && !publishing {
            self.0.settled.notify_waiters();
        }
    }

    /// Resolves when every runtime of the source was sent what Git wants, and its worker knows it.
    pub async fn until_settled(&self) {
        loop {
            let mut next = std::pin::pin!(self.0.settled.notified());
            // From here on nothing is missed.
            next.as_mut().enable();
            if !self.0.publishing.load(Ordering::Acquire) && self.is_read() {
                return;
            }
            next.await;
        }
    }

    /// Whether all workers know what they were sent.
    pub fn is_read(&self) -> bool {
        self.unread().is_empty()
    }

    fn unread(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.0.unread.lock()
    }

    /// How a runtime is doing.
    pub fn get(&self, runtime: &str) -> Option<RuntimeSummary> {
        self.lock().get(runtime).cloned()
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Arc<str>, RuntimeSummary> {
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, RuntimeSummary>> {
        self.0.summaries.lock()
    }
}

/// The worse, the heavier.
pub fn severity(state: State) -> u8 {
    match state {
        State::Ready => 0,
        State::Suspended => 1,
        State::Deleting => 2,
        State::Processing => 3,
        State::Unknown => 4,
        State::Warning => 5,
        State::Error => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_does_not_come_back_by_what_is_said_of_it_late() {
        let (rollup, name) = (Rollup::default(), Arc::from("eu"));
        let ready = RuntimeSummary { state: State::Ready, ..RuntimeSummary::default() };
        rollup.set(&name, ready.clone());
        assert!(rollup.all().is_empty(), "nobody saw it yet");
        rollup.add(&name, State::Processing, "");
        rollup.set(&name, ready.clone());
        rollup.add(&name, State::Processing, "");
        assert_eq!(rollup.all()[&name], ready, "what its worker said counts");
        rollup.remove(&name);
        rollup.set(&name, ready);
        assert!(rollup.all().is_empty());
    }

    #[test]
    fn what_was_sent_is_unread_until_its_worker_or_its_end() {
        let (rollup, names) = (Rollup::default(), ["eu", "us"].map(Arc::from));
        for name in &names {
            rollup.sending(name);
        }
        rollup.read("eu");
        assert!(!rollup.is_read());
        rollup.remove("us");
        assert!(rollup.is_read());
    }

    #[tokio::test]
    async fn it_is_settled_when_all_were_sent_what_git_wants_and_know_it() {
        use futures::FutureExt as _;
        let (rollup, name) = (Rollup::default(), Arc::from("eu"));
        rollup.until_settled().await;
        rollup.set_publishing(true);
        rollup.sending(&name);
        let mut waits = Box::pin(rollup.until_settled());
        assert!((&mut waits).now_or_never().is_none());
        rollup.set_publishing(false);
        assert!((&mut waits).now_or_never().is_none(), "its worker does not know it yet");
        rollup.read(&name);
        waits.await;
    }
}
