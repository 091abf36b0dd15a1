//! The gate that only a leader passes.
//!
//! A [`Term`] is one stretch of leadership. It is over once the holder's right has run out on the boot-time clock,
//! whether or not anyone of this process was awake to notice, and it never comes back: a later stretch is another term.
//! A leader asks the [`Gate`] for a term, works with [`Term::client`], and starts over with the next one; what was
//! decided in one term can then not be sent in another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::boot_clock::{BootClock, BootTime, Clock};

mod client;
mod connection;
mod credentials;
mod layer;
mod request_metrics;
mod term;

pub use client::GatedClientError;
pub use credentials::AuthStatus;
pub use layer::{GateLayer, GateService};
pub use request_metrics::{RequestMetrics, RequestMetricsService};
pub use term::{NotLeader, Term};

/// Tells whether this process leads. Clones look at the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    terms: watch::Receiver<Option<Term>>,
    leader_address: watch::Receiver<Option<SocketAddr>>,
    request_metrics: RequestMetrics,
}

impl Gate {
    /// A gate that nobody guards: for commands that a person runs, and for tests.
    pub fn always_open() -> Self {
        let term = Term::begin(1, BootTime::NEVER, Arc::new(BootClock), None);
        let leader_address = watch::channel(None).1;
        Self { terms: watch::channel(Some(term)).1, leader_address, request_metrics: RequestMetrics::default() }
    }

    /// The same gate, whose clients count what they ask.
    #[must_use]
    pub fn with_request_metrics(self, request_metrics: &RequestMetrics) -> Self {
        Self { request_metrics: request_metrics.clone(), ..self }
    }

    /// The term of this moment.
    pub fn term(&self) -> Result<Term, NotLeader> {
        let term = self.terms.borrow().clone().ok_or(NotLeader)?;
        term.check()?;
        Ok(term.with_request_metrics(&self.request_metrics))
    }

    pub fn check(&self) -> Result<(), NotLeader> {
        self.term().map(drop)
    }

    pub fn is_open(&self) -> bool {
        self.check().is_ok()
    }

    /// The address of the leader, if another process leads and its Lease names one.
    pub fn leader_address(&self) -> Option<SocketAddr> {
        *self.leader_address.borrow()
    }

    /// Waits until this process leads. An error says that it never will again: the contender has ended.
    pub async fn wait_for_term(&self) -> Result<Term, NotLeader> {
        let mut terms = self.terms.clone();
        loop {
            let open = terms.wait_for(|term| term.as_ref().is_some_and(|term| term.check().is_ok())).await;
            match open {
                Ok(term) => {
                    if let Some(term) = term.as_ref() {
                        return Ok(term.clone().with_request_metrics(&self.request_metrics));
                    }
                }
                Err(_) => return self.term(),
            }
        }
    }
}

/// Opens and closes a gate; held by the contender for the lease. Dropping it closes the gate for good.
#[derive(Debug)]
pub(crate) struct GateKeeper {
    terms: watch::Sender<Option<Term>>,
    leader_address: watch::Sender<Option<SocketAddr>>,
    clock: Arc<dyn Clock>,
    margin: Duration,
    begun: u64,
}

impl GateKeeper {
    /// `margin` is how long after the end of a term nobody else may start.
    pub(crate) fn new(clock: Arc<dyn Clock>, margin: Duration) -> (Self, Gate) {
        let (terms, gate) = watch::channel(None);
        let (leader_address, found) = watch::channel(None);
        let gate = Gate { terms: gate, leader_address: found, request_metrics: RequestMetrics::default() };
        (Self { terms, leader_address, clock, margin, begun: 0 }, gate)
    }

    /// Says where another process leads.
    pub(crate) fn set_leader_address(&self, leader_address: Option<SocketAddr>) {
        self.leader_address.send_replace(leader_address);
    }

    /// Lets the gate be open until `until`, or closes it. True if a new term began.
    pub(crate) fn set_term_end(&mut self, until: Option<BootTime>) -> bool {
        let current = self.terms.borrow().clone();
        let Some(until) = until else {
            if let Some(term) = current {
                term.end();
                self.terms.send_replace(None);
            }
            return false;
        };
        if current.as_ref().is_some_and(|term| term.extend(until)) {
            return false;
        }
        if let Some(term) = current {
            term.end();
        }
        self.begun += 1;
        let term = Term::begin(self.begun, until, Arc::clone(&self.clock), Some(self.margin));
        self.terms.send_replace(Some(term));
        true
    }
}

impl Drop for GateKeeper {
    fn drop(&mut self) {
        self.set_term_end(None);
    }
}

#[cfg(test)]
mod tests;
