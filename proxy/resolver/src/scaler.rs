//! KEDA's external-push scaler: tells KEDA whether a target is wanted, and by how many requests.
//!
//! The leader of the switch serves it; it offers for each rule what its last look found, and nobody else answers KEDA. It
//! decides nothing: what is offered is decided by `switch::machine`.

use reeve_crds::WorkloadRef;

mod messages;
mod offers;
mod server;

pub(crate) use offers::{Activity, METRIC_CONCURRENCY, METRIC_REQUEST_RATE, Offer, Offers};
pub(crate) use server::{RULE_KEY, Scaler};

/// Group and version of KEDA's kinds.
pub(crate) const KEDA: &str = "keda.sh/v1alpha1";

/// Whether the target is KEDA's own: it has no scale to write, KEDA creates Jobs for it, and they end by themselves.
pub(crate) fn is_scaled_job(target: &WorkloadRef) -> bool {
    target.kind == "ScaledJob" && target.api_version == KEDA
}
