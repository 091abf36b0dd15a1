//! How much of a runtime may be under way at once.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many writes may be under way, of this runtime and of all together, and how many of its components may be at it.
/// Whoever waits is served in order, and a runtime waits with no more than its own share, so that a large one cannot starve
/// the others. Nobody gets anything once it is closed.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    turns: Arc<Semaphore>,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

impl Budget {
    pub(super) fn new(share: usize, all: Arc<Semaphore>) -> Self {
        Self { turns: Arc::new(Semaphore::new(share)), own: Arc::new(Semaphore::new(share)), all }
    }

    /// The same with another share of its own.
    pub(super) fn with(&self, share: usize) -> Self {
        Self::new(share, self.all.clone())
    }

    /// A component's turn. More than can write at once would only take memory.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// A slot for one write.
    pub(super) async fn slot(&self) -> Option<(SemaphorePermit<'_>, SemaphorePermit<'_>)> {
        let own = self.own.acquire().await.ok()?;
        Some((own, self.all.acquire().await.ok()?))
    }

    /// Lets nobody begin any more.
    pub(super) fn close(&self) {
        self.turns.close();
        self.own.close();
    }
}
