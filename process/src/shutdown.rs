//! The way out: not ready, then (after a delay) draining, then closing, then gone; and gone anyway at the deadline.
//!
//! Other rooms take part by [`Shutdown::guard`]: they watch [`Shutdown::draining`], finish what they hold, and drop the
//! guard. What must outlive the drain, such as a leader lease, takes [`Shutdown::closing_guard`] and waits for
//! [`Shutdown::closing`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

mod signals;
mod stop;
pub use signals::Signal;
pub(crate) use signals::signals;
pub(crate) use stop::{Limits, Outcome, Stop};

/// Where the process stands on its way out. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requested: CancellationToken,
    draining: CancellationToken,
    closing: CancellationToken,
    guards: Mutex<Guards>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Guards {
    next: u64,
    held: BTreeMap<u64, (Stage, String)>,
}

/// What a guard holds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Draining,
    Closing,
}

impl Shutdown {
    /// Asks the process to stop, as a signal does. Asking again changes nothing.
    pub fn begin(&self) {
        self.0.requested.cancel();
    }

    /// Resolves when the process has been asked to stop. It still takes work: see [`Shutdown::draining`].
    pub async fn requested(&self) {
        self.0.requested.cancelled().await;
    }

    /// Resolves when no new work may begin.
    pub async fn draining(&self) {
        self.0.draining.cancelled().await;
    }

    pub fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// Cancelled when no new work may begin: for code that wants a token.
    pub fn draining_token(&self) -> CancellationToken {
        self.0.draining.child_token()
    }

    /// Resolves when every [`Shutdown::guard`] is gone: nothing works any more.
    pub async fn closing(&self) {
        self.0.closing.cancelled().await;
    }

    /// The process does not end its drain while this lives, until the deadline; `name` is who is logged if it does.
    pub fn guard(&self, name: impl Into<String>) -> DrainGuard {
        self.add_guard(Stage::Draining, name.into())
    }

    /// The process does not end while this lives, until the deadline.
    pub fn closing_guard(&self, name: impl Into<String>) -> DrainGuard {
        self.add_guard(Stage::Closing, name.into())
    }

    fn add_guard(&self, stage: Stage, name: String) -> DrainGuard {
        let mut guards = self.guards();
        guards.next += 1;
        let number = guards.next;
        guards.held.insert(number, (stage, name));
        DrainGuard { shutdown: self.clone(), number }
    }

    /// Resolves when no guard of `stage` is held.
    async fn wait_for_guards(&self, stage: Stage) {
        loop {
            // Made before the look, so that a guard dropped in between is not missed.
            let changed = self.0.changed.notified();
            if self.guards().held.values().all(|(held, _)| *held != stage) {
                return;
            }
            changed.await;
        }
    }

    /// The names of those who are not done.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        self.guards().held.values().map(|(_, name)| name.clone()).collect()
    }

    fn guards(&self) -> MutexGuard<'_, Guards> {
        self.0.guards.lock()
    }
}

/// Holds up the end of the process while it lives.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once holds nothing up"]
pub struct DrainGuard {
    shutdown: Shutdown,
    number: u64,
}

impl Drop for DrainGuard {
    fn drop(&mut self) {
        self.shutdown.guards().held.remove(&self.number);
        self.shutdown.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
