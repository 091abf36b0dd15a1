//! How much of a runtime may be under way at once.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// How many writes may be under way, of this runtime and of all together, and how many of its components may be at it.
/// Whoever waits is served in order, and a runtime waits with no more than its own share, so that a large one cannot starve
/// the others. Nobody gets anything once it is closed.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    turns: Arc<Semaphore>,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
    closed: CancellationToken,
}

/// A component's turn, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Semaphore,
    held: Option<SemaphorePermit<'a>>,
}

impl Turn<'_> {
    /// Lets others have the turn during a wait.
    pub(super) async fn step_aside<T>(&mut self, wait: impl Future<Output = T>) -> Option<T> {
        self.held = None;
        let waited = wait.await;
        self.held = Some(self.turns.acquire().await.ok()?);
        Some(waited)
    }
}

impl Budget {
    pub(super) fn new(share: usize, all: Arc<Semaphore>) -> Self {
        let (turns, own) = (Arc::new(Semaphore::new(share)), Arc::new(Semaphore::new(share)));
        Self { turns, own, all, closed: CancellationToken::new() }
    }

    /// The same with another share of its own.
    pub(super) fn with(&self, share: usize) -> Self {
        Self { closed: self.closed.clone(), ..Self::new(share, self.all.clone()) }
    }

    /// A component's turn. More than can write at once would only take memory.
    pub(super) async fn turn(&self) -> Option<Turn<'_>> {
        Some(Turn { turns: &self.turns, held: Some(self.turns.acquire().await.ok()?) })
    }

    /// A slot for one write.
    pub(super) async fn slot(&self) -> Option<(SemaphorePermit<'_>, SemaphorePermit<'_>)> {
        let own = self.own.acquire().await.ok()?;
        Some((own, self.all.acquire().await.ok()?))
    }

    /// What is only waited for, and not written: given up when it is closed, since there is nothing to bring to its end.
    pub(super) async fn wait<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        self.closed.run_until_cancelled(wait).await
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Lets nobody begin any more.
    pub(super) fn close(&self) {
        self.closed.cancel();
        self.turns.close();
        self.own.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_something_else_lets_others_have_its_turn() {
        let budget = Budget::new(1, Arc::new(Semaphore::new(1)));
        let mut first = budget.turn().await.unwrap();
        assert!(budget.turns.try_acquire().is_err(), "there is one turn");
        let other = first.step_aside(async { budget.turn().await.map(drop) }).await;
        assert_eq!(other, Some(Some(())), "another had it meanwhile");
        assert!(budget.turns.try_acquire().is_err(), "it is held again");
        drop(first);
        assert!(budget.turns.try_acquire().is_ok());
    }

    #[tokio::test]
    async fn nobody_gets_a_turn_or_a_slot_once_it_is_closed() {
        let budget = Budget::new(1, Arc::new(Semaphore::new(1)));
        let mut turn = budget.turn().await.unwrap();
        budget.close();
        assert!(turn.step_aside(async {}).await.is_none());
        assert!(budget.turn().await.is_none());
        assert!(budget.slot().await.is_none());
    }

    #[tokio::test]
    async fn a_wait_is_given_up_when_it_is_closed_whatever_the_share_is_by_then() {
        let budget = Budget::new(1, Arc::new(Semaphore::new(1)));
        assert_eq!(budget.wait(async { "done" }).await, Some("done"));
        let begun = budget.clone();
        let waits = begun.wait(std::future::pending::<()>());
        let (ended, ()) = tokio::join!(waits, async { budget.with(2).close() });
        assert!(ended.is_none() && budget.is_closed());
    }
}
