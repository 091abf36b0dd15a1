//! Tasks that the process owns.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use tokio_util::task::TaskTracker;
use tracing::error;

use crate::shutdown::{DrainGuard, Shutdown};

#[derive(Clone, Debug)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    shutdown: Shutdown,
    panicked: Arc<AtomicBool>,
}

impl Tasks {
    pub(super) fn new(shutdown: Shutdown) -> Self {
        Self { tracker: TaskTracker::new(), shutdown, panicked: Arc::default() }
    }

    /// `guard` is what the task holds up on the way out; it goes with the task.
    pub(super) fn spawn(&self, name: &str, guard: DrainGuard, work: impl Future<Output = ()> + Send + 'static) {
        let (name, tasks) = (name.to_owned(), self.clone());
        self.tracker.spawn(async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                error!(task = name, "a task panicked, stopping");
                tasks.panicked.store(true, Ordering::Release);
                tasks.shutdown.begin();
            }
            drop(guard);
        });
    }

    pub(super) fn have_panicked(&self) -> bool {
        self.panicked.load(Ordering::Acquire)
    }
}
