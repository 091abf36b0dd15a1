//! What a replica of the data plane tells the leader of the switch, and what the two agree on besides.
//!
//! # The seam
//!
//! | status.mode | a replica does with a request |
//! |---|---|
//! | `Direct`, `HandingOver`, `FailOpen`, `Untouched` | forwards it, and tells pooled clients to go (`Connection: close`, GOAWAY) |
//! | `Entering`, `Proxied` | forwards it; with no ready pod it holds it, and wakes the target if its scale is zero |
//! | `Draining` | holds it, forwards nothing, wakes nothing: the barrier before the sleep. What is in flight goes on |
//! | `Asleep`, `Waking` | holds it, wakes the target if its scale is zero, and forwards when a pod is ready |
//!
//! - A replica listens on every port in `status.ports` of every rule, in every mode, as long as the port stands there.
//! - Pods are found in `EndpointSlice`s labelled [`RULE_LABEL`] (the rule's name) and [`SERVICE_LABEL`] (the Service's):
//!   those of the shadow Service. Port names are those of the Service, `status.ports[].name`.
//! - A request with the header [`PROBE_HEADER`] is answered `200` with the same header and value at once, in every mode;
//!   it neither counts nor wakes.
//! - A replica reports by `POST /v1/replicas/{name}` to the leader's address (annotation of the Lease
//!   [`crate::args::LEASE`], read by `reeve_process::lease::holder_address`) each second, and at once when a rule's
//!   `mode` or `holding`, a listener or `draining` changes, when `held` or `in_flight` leave zero, and when both come
//!   back to zero while `Draining`. Any answer but `204` means that somebody else leads.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;
use serde::{Deserialize, Serialize};

/// On a shadow Service and its slices: the name of the rule.
pub const RULE_LABEL: &str = "reeve.dev/rule";
/// On a shadow Service and its slices: the name of the Service that it stands for.
pub const SERVICE_LABEL: &str = "reeve.dev/service";
/// By which the switch sees who answers: the value is a nonce.
pub const PROBE_HEADER: &str = "reeve-probe";

/// Names a `ScalingRule`; written as `namespace/name`.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct RuleKey {
    pub namespace: String,
    pub name: String,
}

impl RuleKey {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// Text that names no rule.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{0}` is not namespace/name")]
pub struct RuleKeyError(String);

impl FromStr for RuleKey {
    type Err = RuleKeyError;

    fn from_str(text: &str) -> Result<Self, RuleKeyError> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(Self::new(namespace, name)),
            _ => Err(RuleKeyError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for RuleKey {
    type Error = RuleKeyError;

    fn try_from(text: String) -> Result<Self, RuleKeyError> {
        text.parse()
    }
}

impl From<RuleKey> for String {
    fn from(key: RuleKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for RuleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What one replica knows, whole: a report replaces the one before.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaReport {
    /// Name of the replica: the pod's.
    pub replica: String,
    /// Drawn at the start of the process: a replica that restarts is another instance.
    pub instance: String,
    /// Grows with every report of an instance; an older one than the last is dropped.
    pub sequence: u64,
    /// Addresses at which it listens, at most one of each family.
    pub addresses: Vec<IpAddr>,
    /// Node on which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// When it was made, by the replica's clock.
    pub at: Timestamp,
    /// Whether the replica is about to end and wants no more traffic.
    pub draining: bool,
    /// Ports of rules.
    pub listeners: Vec<ListenerReport>,
    /// One for each rule that it knows, silent ones too.
    pub rules: Vec<RuleReport>,
}

/// A port that stands for a port of a Service.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerReport {
    pub rule: RuleKey,
    /// `status.ports[].resolverPort`.
    pub port: u16,
    /// Whether connections are accepted and can be served.
    pub bound: bool,
    /// Why they cannot be served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a replica knows of a rule.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleReport {
    pub rule: RuleKey,
    /// The mode by which it acts, as it read it in the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TrafficMode>,
    /// `status.modeChanges` as it stood beside that mode: tells one `Draining` from the next.
    #[serde(default)]
    pub mode_changes: i64,
    /// Whether no request that comes from now on is forwarded: in `Draining` and `Asleep`, once that is so.
    pub holding: bool,
    /// Requests and upgraded connections that were forwarded and have not ended.
    pub in_flight: u32,
    /// Requests that wait.
    pub held: u32,
    /// Ready pods that it knows: a target sleeps only when no replica would still forward to one that is about to end.
    #[serde(default)]
    pub ready_pods: u32,
    /// Requests since the replica started.
    pub requests_total: u64,
    /// When the last request came, by the replica's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_request: Option<Timestamp>,
    /// The last wake that this replica began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<WakeReport>,
}

/// A wake, as the replica that began it saw it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WakeReport {
    /// When the first request came.
    pub started_at: Timestamp,
    /// What it was, such as `GET /orders`.
    pub cause: String,
    /// How many replicas were asked for.
    pub replicas: i32,
    /// How many requests waited when a pod was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<u32>,
    /// Milliseconds until the scale was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_ms: Option<u64>,
    /// Milliseconds until a pod was ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_ms: Option<u64>,
    /// Milliseconds until the first request had its first byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
}
