//! What a dashboard learns of the leases of this process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::gate::Gate;
use crate::metrics::Metrics;

type Labels = Vec<(&'static str, String)>;

/// `reeve_leader`, `reeve_leader_terms_total` and `reeve_lease_failures_total`, each by lease. One per process.
#[derive(Clone, Debug)]
pub(crate) struct LeaseMetrics {
    terms: Family<Labels, Counter>,
    failures: Family<Labels, Counter>,
    gates: Gates,
}

impl LeaseMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let gates = Gates::default();
        metrics.register_collector(gates.clone());
        Self {
            terms: metrics.register("leader_terms", "Terms of leadership that this process began", Family::default()),
            failures: metrics.register("lease_failures", "Requests for the lease that failed", Family::default()),
            gates,
        }
    }

    pub(super) fn of(&self, lease: &str, gate: Gate) -> OneLease {
        let label = labels(lease);
        self.gates.lock().insert(lease.to_owned(), gate);
        OneLease {
            terms: self.terms.get_or_create_owned(&label),
            failures: self.failures.get_or_create_owned(&label),
            of: self.clone(),
            lease: lease.to_owned(),
        }
    }
}

fn labels(lease: &str) -> Labels {
    vec![("lease", lease.to_owned())]
}

/// The metrics of one lease, which leave the page with it.
#[derive(Debug)]
pub(super) struct OneLease {
    pub(super) terms: Counter,
    /// Being refused is not a failure.
    pub(super) failures: Counter,
    of: LeaseMetrics,
    lease: String,
}

impl Drop for OneLease {
    fn drop(&mut self) {
        let label = labels(&self.lease);
        self.of.terms.remove(&label);
        self.of.failures.remove(&label);
        self.of.gates.lock().remove(&self.lease);
    }
}

/// Asks each gate itself, so that a process that overslept does not call itself leader.
#[derive(Clone, Debug, Default)]
struct Gates(Arc<Mutex<BTreeMap<String, Gate>>>);

impl Gates {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Gate>> {
        self.0.lock()
    }
}

impl Collector for Gates {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Whether this process may act as the leader";
        let mut metric = encoder.encode_descriptor("leader", help, None, MetricType::Gauge)?;
        for (lease, gate) in self.lock().iter() {
            let leader = ConstGauge::new(i64::from(gate.is_open()));
            leader.encode(metric.encode_family(&labels(lease))?)?;
        }
        Ok(())
    }
}
