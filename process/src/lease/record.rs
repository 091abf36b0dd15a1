//! Reads and writes the fields of a Lease that we use; the others (`preferredHolder`, `strategy`) stay as they are.

use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::LeaseConfig;

/// The annotation that says where the holder is found.
const ADDRESS: &str = "reeve.dev/address";

/// Nobody, if the holder is missing or empty.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// How long its holder asked others to wait for it.
pub(super) fn duration(lease: &Lease) -> Option<Duration> {
    let seconds = lease.spec.as_ref()?.lease_duration_seconds?;
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// Where the holder is found, if it says so.
pub(super) fn address(lease: &Lease) -> Option<SocketAddr> {
    holder(lease)?;
    lease.metadata.annotations.as_ref()?.get(ADDRESS)?.parse().ok()
}

/// Differs whenever anything was written in between.
pub(super) fn version(lease: &Lease) -> Version {
    Version { uid: lease.metadata.uid.clone(), resource_version: lease.metadata.resource_version.clone() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    uid: Option<String>,
    resource_version: Option<String>,
}

/// A lease that the contender holds from `at` on.
pub(super) fn created(by: &LeaseConfig, at: Timestamp) -> Lease {
    let metadata = ObjectMeta { name: Some(by.name.clone()), ..ObjectMeta::default() };
    let mut lease = Lease { metadata, spec: None };
    set_holder(&mut lease, by, at);
    lease
}

/// Makes the contender the holder from `at` on.
pub(super) fn taken(mut lease: Lease, by: &LeaseConfig, at: Timestamp) -> Lease {
    set_holder(&mut lease, by, at);
    let spec = lease.spec.get_or_insert_default();
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default().saturating_add(1));
    lease
}

pub(super) fn renewed(mut lease: Lease, lasting: Duration, at: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.lease_duration_seconds = whole_seconds(lasting);
    spec.renew_time = Some(MicroTime(at));
    lease
}

pub(super) fn released(mut lease: Lease) -> Lease {
    lease.spec.get_or_insert_default().holder_identity = None;
    lease
}

fn set_holder(lease: &mut Lease, by: &LeaseConfig, at: Timestamp) {
    let annotations = lease.metadata.annotations.get_or_insert_default();
    // What stands there is where the one before was found.
    annotations.remove(ADDRESS);
    annotations.extend(by.address.map(|address| (ADDRESS.to_owned(), address.to_string())));
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(by.identity.clone());
    spec.lease_duration_seconds = whole_seconds(by.timing.lease_duration());
    spec.acquire_time = Some(MicroTime(at));
    spec.renew_time = Some(MicroTime(at));
    spec.lease_transitions.get_or_insert(0);
}

fn whole_seconds(lasting: Duration) -> Option<i32> {
    i32::try_from(lasting.as_secs()).ok()
}
