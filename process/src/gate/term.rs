//! One stretch of leadership.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::RequestMetrics;
use crate::boot_clock::{BootTime, Clock};

/// This process does not lead, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the leader")]
pub struct NotLeader;

impl NotLeader {
    /// Whether `error` says that the gate was closed, however deep: it is nobody's fault and needs no retry.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(error) = next {
            // An io::Error leaves itself out of its chain of sources.
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if error.is::<Self>() || inner.is_some_and(<dyn Error + Send + Sync>::is::<Self>) {
                return true;
            }
            next = error.source();
        }
        false
    }
}

/// One stretch of leadership, from an acquisition to its end. Clones are of the same term.
#[derive(Clone, Debug)]
pub struct Term(Arc<Inner>, RequestMetrics);

#[derive(Debug)]
struct Inner {
    number: u64,
    /// Nanoseconds since boot; only ever grows.
    until: AtomicU64,
    /// Cancelled at the end, by whoever notices first.
    over: CancellationToken,
    clock: Arc<dyn Clock>,
    margin: Option<Duration>,
}

impl Term {
    pub(super) fn begin(number: u64, until: BootTime, clock: Arc<dyn Clock>, margin: Option<Duration>) -> Self {
        let over = CancellationToken::new();
        let inner = Inner { number, until: AtomicU64::new(until.as_nanos()), over, clock, margin };
        Self(Arc::new(inner), RequestMetrics::default())
    }

    /// The same term, whose clients count here what they ask.
    pub(super) fn with_request_metrics(self, request_metrics: &RequestMetrics) -> Self {
        Self(self.0, request_metrics.clone())
    }

    pub(super) fn request_metrics(&self) -> RequestMetrics {
        self.1.clone()
    }

    /// Counts the terms of this process.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Reads the clock: cheap enough to ask before every step.
    pub fn check(&self) -> Result<(), NotLeader> {
        if self.0.over.is_cancelled() {
            return Err(NotLeader);
        }
        if self.0.clock.now() >= self.until() {
            // Seen over once is over for good, even if a renewal is confirmed a moment later.
            self.end();
            return Err(NotLeader);
        }
        Ok(())
    }

    /// Resolves at the end of the term.
    pub async fn ended(&self) {
        while self.check().is_ok() {
            let left = self.until().saturating_since(self.0.clock.now());
            tokio::select! {
                () = self.0.over.cancelled() => {}
                () = sleep(left) => {}
            }
        }
    }

    /// Runs `work` to its end or to that of the term, whichever comes first.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, NotLeader> {
        tokio::select! {
            biased;
            () = self.ended() => Err(NotLeader),
            output = work => Ok(output),
        }
    }

    /// Cancelled at the end of the term, when this process is awake to do so.
    pub fn token(&self) -> CancellationToken {
        self.0.over.child_token()
    }

    /// How long after the end of the term nobody else may start.
    pub(super) fn margin(&self) -> Option<Duration> {
        self.0.margin
    }

    pub(super) fn until(&self) -> BootTime {
        BootTime::from_nanos(self.0.until.load(Ordering::Acquire))
    }

    /// False if the term is over.
    pub(super) fn extend(&self, until: BootTime) -> bool {
        if self.check().is_err() {
            return false;
        }
        self.0.until.fetch_max(until.as_nanos(), Ordering::AcqRel);
        !self.0.over.is_cancelled()
    }

    pub(super) fn end(&self) {
        self.0.over.cancel();
    }
}
