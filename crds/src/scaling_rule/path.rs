//! When the resolver leaves the path of traffic and comes back, and when a pod gets its first request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{closed_set, rule};

/// When the resolver leaves the path and when it comes back to look.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [duration::in_order("lookAfter", "lookAfterMax")]))]
pub struct HandOver {
    /// Whether the resolver may leave the path at all.
    pub policy: HandOverPolicy,
    /// Leave when this many requests are in flight.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub in_flight: i32,
    /// Leave when this many requests come in a second. 0 means that the rate does not count.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub requests_per_second: i32,
    /// How long it must be that busy.
    #[schemars(extend("x-kubernetes-validations" = duration::between("0s", "1h")))]
    pub after: Duration,
    /// How long to stay away before coming back to look whether it is still busy. Each look that finds it busy doubles
    /// this, up to lookAfterMax.
    #[schemars(extend("x-kubernetes-validations" = duration::between("5s", "24h")))]
    pub look_after: Duration,
    /// The longest time to stay away.
    #[schemars(extend("x-kubernetes-validations" = duration::between("5s", "24h")))]
    pub look_after_max: Duration,
}

impl Default for HandOver {
    fn default() -> Self {
        Self {
            policy: HandOverPolicy::Auto,
            in_flight: 50,
            requests_per_second: 0,
            after: Duration::from_secs(5),
            look_after: Duration::from_secs(60),
            look_after_max: Duration::from_secs(1800),
        }
    }
}

/// Whether the resolver may leave the path.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum HandOverPolicy {
    /// leave when it is busy, come back when it is not.
    #[default]
    Auto,
    /// stay in the path always.
    Never,
}

/// When a pod may get its first request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Readiness {
    /// Who says that a pod is ready.
    pub from: ReadinessSource,
    /// Path to ask, such as /ready. Empty means that a connection is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 1024),
        extend("x-kubernetes-validations" = [rule(
            "self.startsWith('/')",
            "write a path that starts with /, such as /healthz",
        )])
    )]
    pub path: Option<String>,
}

/// Who says that a pod is ready.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum ReadinessSource {
    /// the pod's Ready condition, as kubelet sees it.
    #[default]
    Kubelet,
    /// the resolver, which asks the pod itself and is often a second earlier.
    Probe,
}
