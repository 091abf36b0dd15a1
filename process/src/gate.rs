//! The gate that only a leader passes.
//!
//! A [`Term`] is one stretch of leadership. It is over once the holder's right has run out on the boot-time clock,
//! whether or not anyone of this process was awake to notice, and it never comes back: a later stretch is another term.
//! Whoever leads asks the [`Gate`] for a term, works with [`Term::client`], and starts anew with the next one; what was
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
mod requests;
mod term;

pub use client::GatedClientError;
pub use credentials::Acceptance;
pub use layer::{GateLayer, GateService};
pub use requests::{Counting, Requests};
pub use term::{NotLeader, Term};

/// Tells whether this process leads. Clones look at the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    terms: watch::Receiver<Option<Term>>,
    elsewhere: watch::Receiver<Option<SocketAddr>>,
    requests: Requests,
}

impl Gate {
    /// A gate that nobody guards: for commands that a person runs, and for tests.
    pub fn always_open() -> Self {
        let term = Term::begin(1, BootTime::NEVER, Arc::new(BootClock), None);
        let elsewhere = watch::channel(None).1;
        Self { terms: watch::channel(Some(term)).1, elsewhere, requests: Requests::default() }
    }

    /// The same gate, whose clients count what they ask.
    #[must_use]
    pub fn counting(self, requests: &Requests) -> Self {
        Self { requests: requests.clone(), ..self }
    }

    /// The term of this moment.
    pub fn term(&self) -> Result<Term, NotLeader> {
        let term = self.terms.borrow().clone().ok_or(NotLeader)?;
        term.check()?;
        Ok(term.counting(&self.requests))
    }

    pub fn check(&self) -> Result<(), NotLeader> {
        self.term().map(drop)
    }

    pub fn is_open(&self) -> bool {
        self.check().is_ok()
    }

    /// Where the process is found that leads in our stead, if one does and says so.
    pub fn elsewhere(&self) -> Option<SocketAddr> {
        *self.elsewhere.borrow()
    }

    /// Waits until this process leads. An error says that it never will again: whoever contended has ended.
    pub async fn leading(&self) -> Result<Term, NotLeader> {
        let mut terms = self.terms.clone();
        loop {
            let open = terms.wait_for(|term| term.as_ref().is_some_and(|term| term.check().is_ok())).await;
            match open {
                Ok(term) => {
                    if let Some(term) = term.as_ref() {
                        return Ok(term.clone().counting(&self.requests));
                    }
                }
                Err(_) => return self.term(),
            }
        }
    }
}

/// Opens and closes a gate; held by whoever contends for the lease. Dropping it closes the gate for good.
#[derive(Debug)]
pub(crate) struct GateKeeper {
    terms: watch::Sender<Option<Term>>,
    elsewhere: watch::Sender<Option<SocketAddr>>,
    clock: Arc<dyn Clock>,
    margin: Duration,
    begun: u64,
}

impl GateKeeper {
    /// `margin` is how long after the end of a term nobody else may start.
    pub(crate) fn new(clock: Arc<dyn Clock>, margin: Duration) -> (Self, Gate) {
        let (terms, gate) = watch::channel(None);
        let (elsewhere, found) = watch::channel(None);
        let gate = Gate { terms: gate, elsewhere: found, requests: Requests::default() };
        (Self { terms, elsewhere, clock, margin, begun: 0 }, gate)
    }

    /// Says where another leads.
    pub(crate) fn point_to(&self, elsewhere: Option<SocketAddr>) {
        self.elsewhere.send_replace(elsewhere);
    }

    /// Lets the gate be open until `until`, or closes it. True if a new term began.
    pub(crate) fn set(&mut self, until: Option<BootTime>) -> bool {
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
        self.set(None);
    }
}

#[cfg(test)]
mod tests;
