//! The edge of the lease: asks the server what the elector wants asked, in time, and keeps the gate in step with it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::elector::{Action, Elector, Event, Now};
use super::metrics::OneLease;
use super::store::{KubeStore, Store, StoreError};
use super::{LeaseConfig, random};
use crate::boot_clock::Clock;
use crate::error_chain;
use crate::gate::GateKeeper;

/// How long the last write, which gives the lease up, may take.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

/// Contends for a lease while it is polled.
pub(crate) struct Contender<S: Store = KubeStore> {
    store: S,
    lease: String,
    identity: String,
    elector: Elector,
    clock: Arc<dyn Clock>,
    keeper: GateKeeper,
    metrics: OneLease,
    leading: bool,
    /// Why the last request failed, if it did.
    last_failure: Mutex<Option<String>>,
}

impl<S: Store> Contender<S> {
    pub(super) fn new(
        store: S,
        config: LeaseConfig,
        clock: Arc<dyn Clock>,
        keeper: GateKeeper,
        metrics: OneLease,
    ) -> Self {
        let (lease, identity) = (config.name.clone(), config.identity.clone());
        let elector = Elector::new(config);
        Self { store, lease, identity, elector, clock, keeper, metrics, leading: false, last_failure: Mutex::default() }
    }

    /// Contends until `stop` resolves, then closes the gate and gives the lease up, so that a standby need not wait.
    /// `stop` is [`Shutdown::closing`](crate::shutdown::Shutdown::closing): after the drain.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        info!(lease = self.lease, identity = self.identity, "contending");
        tokio::select! {
            biased;
            () = stop => {}
            () = self.contend() => {}
        }
        self.keeper.set_term_end(None);
        self.keeper.set_leader_address(None);
        self.log_leadership(false);
        self.release().await;
    }

    async fn contend(&mut self) {
        loop {
            let mut event = Event::Due;
            let mut failed = false;
            loop {
                failed |= matches!(event, Event::Failed);
                let action = self.elector.step(event, self.now());
                self.update_gate();
                event = match action {
                    Action::Read => self.send_request(|store| async { store.read().await.map(Event::Read) }).await,
                    Action::Create(lease) => self.send_write(|store| store.create(&lease)).await,
                    Action::Replace(lease) => self.send_write(|store| store.replace(&lease)).await,
                    Action::Wait => break,
                };
            }
            if !failed {
                self.record_failure(None);
            }
            sleep(self.elector.wait_time(self.clock.now(), jitter())).await;
        }
    }

    async fn send_request<'a, F>(&'a self, request: impl FnOnce(&'a S) -> F) -> Event
    where
        F: Future<Output = Result<Event, StoreError>>,
    {
        let within = self.elector.request_within(self.clock.now());
        match timeout(within, request(&self.store)).await {
            Ok(Ok(event)) => event,
            Ok(Err(StoreError::Changed)) => Event::Refused,
            Ok(Err(error @ StoreError::Request { .. })) => self.on_failure(error_chain(&error)),
            Err(_) => self.on_failure("the lease request was not answered in time".to_owned()),
        }
    }

    /// One line for each changed failure, not for each try.
    fn on_failure(&self, why: String) -> Event {
        self.metrics.failures.inc();
        self.record_failure(Some(why));
        Event::Failed
    }

    fn record_failure(&self, failure: Option<String>) {
        let mut last_failure = self.last_failure.lock();
        if let Some(why) = failure.as_ref().filter(|why| last_failure.as_ref() != Some(*why)) {
            warn!(lease = self.lease, "{why}");
        }
        *last_failure = failure;
    }

    async fn send_write<'a, F>(&'a self, request: impl FnOnce(&'a S) -> F) -> Event
    where
        F: Future<Output = Result<Lease, StoreError>>,
    {
        let sent = self.clock.now();
        self.send_request(|store| {
            let written = request(store);
            async move { written.await.map(|lease| Event::Written { lease, sent }) }
        })
        .await
    }

    /// Brings gate, log and metrics in step with the elector.
    fn update_gate(&mut self) {
        let until = self.elector.leading_until();
        self.keeper.set_leader_address(self.elector.leader_address());
        if self.keeper.set_term_end(until) {
            self.metrics.terms.inc();
            // Within one step a term may have run out and another begun.
            self.log_leadership(false);
        }
        self.log_leadership(until.is_some());
    }

    fn log_leadership(&mut self, leading: bool) {
        if std::mem::replace(&mut self.leading, leading) == leading {
            return;
        }
        let (lease, identity, at) = (&self.lease, &self.identity, self.clock.now());
        if leading {
            info!(lease, identity, %at, "leading");
        } else {
            warn!(lease, identity, %at, "no longer leading");
        }
    }

    /// Looks first: a write whose answer we did not wait for may have made the lease ours.
    async fn release(&self) {
        let release = async {
            let Some(lease) = self.store.read().await? else { return Ok(false) };
            let Some(lease) = self.elector.release(lease) else { return Ok(false) };
            self.store.replace(&lease).await.map(|_| true)
        };
        match timeout(RELEASE_WITHIN, release).await {
            Ok(Ok(true)) => info!(lease = self.lease, "lease released"),
            Ok(Ok(false) | Err(StoreError::Changed)) => debug!(lease = self.lease, "the lease was not ours any more"),
            Ok(Err(error)) => warn!(lease = self.lease, "left to expire, if it is ours: {}", error_chain(&error)),
            Err(_) => warn!(lease = self.lease, "left to expire, if it is ours: no answer in time"),
        }
    }

    fn now(&self) -> Now {
        Now { boot: self.clock.now(), wall: Timestamp::now() }
    }
}

/// From 0 to 1.
fn jitter() -> f64 {
    f64::from(u32::try_from(random() >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests;
