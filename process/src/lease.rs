//! A leader lease over a `coordination.k8s.io/v1` Lease: of all who contend, at most one acts.
//!
//! The holder's right to act ends `renew_deadline` after it *sent* the last renewal that succeeded; another may take
//! over once it has itself seen the record unchanged for the `lease_duration` written in it. Both measure on their own
//! boot-time clock, and times written by others are never compared with a clock, so that clocks may be wrong. Clocks
//! must only run at about the same rate: the default durations bear one that runs half as fast again as the other.
//!
//! What this cannot do: a Lease deleted or edited by hand may give two leaders for up to `renew_deadline`.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;

use crate::boot_clock::BootClock;
use crate::gate::{Gate, GateKeeper};

mod contender;
mod elector;
mod metrics;
mod record;
mod store;
mod timing;

use contender::Contender;
pub(crate) use metrics::LeaseMetrics;
use store::KubeStore;
pub use timing::{Timing, TimingError};

/// Which lease, and who contends for it.
#[derive(Clone, Debug)]
pub struct LeaseConfig {
    pub namespace: String,
    pub name: String,
    /// Unique per process, never reused: see [`identity`].
    pub identity: String,
    /// Where others find us while we lead, if they have something that only a leader can answer.
    pub address: Option<SocketAddr>,
    /// The `lease` label of the metrics: the name, unless a process contends for several of that name.
    pub label: String,
    pub timing: Timing,
}

impl LeaseConfig {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let (namespace, name) = (namespace.into(), name.into());
        Self { namespace, label: name.clone(), name, identity: identity(), address: None, timing: Timing::default() }
    }
}

/// Host name and a random suffix, drawn anew at every call: a process that restarts is not the one that held the lease.
pub fn identity() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{host}_{:016x}", random())
}

/// Where the holder of a lease is found, for those who do not contend for it.
pub fn holder_address(lease: &Lease) -> Option<SocketAddr> {
    record::address(lease)
}

/// The gate, and the contender that must be polled for it to open: on a task of its own, so that nothing keeps it from
/// renewing in time.
pub(crate) fn contend(client: Client, config: LeaseConfig, metrics: &LeaseMetrics) -> (Gate, Contender) {
    let clock = Arc::new(BootClock);
    let (keeper, gate) = GateKeeper::new(clock.clone(), config.timing.margin());
    let metrics = metrics.of(&config.label, gate.clone());
    let store = KubeStore::new(client, &config.namespace, &config.name);
    (gate, Contender::new(store, config, clock, keeper, metrics))
}

/// Seeded by the operating system; good enough to tell processes apart and to spread them out, not for secrets.
fn random() -> u64 {
    RandomState::new().hash_one(())
}
