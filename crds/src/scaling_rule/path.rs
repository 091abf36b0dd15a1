//! How the resolver gets into the path of traffic, what it learns there, and when it leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{LABEL, OBJECT_NAME, closed_set, rule};

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

/// How idleness is known.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "(self.from == 'Prometheus') == has(self.prometheus)",
    "write from: Prometheus together with prometheus, or neither of them",
)]))]
pub struct Idleness {
    /// Who tells.
    pub from: IdlenessSource,
    /// What to ask Prometheus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusQuery>,
}

/// Who tells that a target is idle.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum IdlenessSource {
    /// the resolver, which sees every request while it is in the path.
    #[default]
    Path,
    /// a query; the target is idle while its result is below a threshold.
    Prometheus,
}

/// A query that tells whether a target is idle. Without an answer the target counts as busy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusQuery {
    /// Address of Prometheus, such as http://prometheus.monitoring:9090.
    #[schemars(
        length(max = 1024),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^https?://[^ ]+$')",
            "write an address that starts with http:// or https://, such as http://prometheus.monitoring:9090",
        )])
    )]
    pub address: String,
    /// The query, with one number as its result.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
    /// Below which the target is idle, as a decimal number such as 0.5.
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^[0-9]+([.][0-9]+)?$')",
            "write a decimal number in quotes, such as \"1\" or \"0.5\"",
        )])
    )]
    pub threshold: String,
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

/// How traffic is led to the resolver and away from it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "(self.method == 'VirtualService') == has(self.virtualService)",
        "write method: VirtualService together with virtualService, or neither of them",
    ),
    rule(
        "self.method == 'EndpointSlice' || self.capture == 'Selector'",
        "remove capture: only method: EndpointSlice knows it",
    ),
]))]
pub struct Switch {
    /// What is written to lead traffic.
    pub method: SwitchMethod,
    /// How pods are taken out of the Service before the target sleeps. Only for method EndpointSlice.
    pub capture: Capture,
    /// The VirtualService whose routes are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_service: Option<VirtualServiceRef>,
}

/// What is written to lead traffic.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum SwitchMethod {
    /// EndpointSlices of the Service: any protocol, any caller.
    #[default]
    EndpointSlice,
    /// routes of an Istio VirtualService: HTTP in the mesh.
    VirtualService,
}

/// How pods are taken out of a Service.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Capture {
    /// the Service's selector is made to match nothing while it is needed; no request is lost.
    #[default]
    Selector,
    /// the selector is left alone; requests that are under way when pods stop may fail.
    Merge,
}

/// An Istio VirtualService.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualServiceRef {
    /// Name of the VirtualService, in the namespace of this object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
    /// Names of its HTTP routes that lead to the target. Empty means all routes to the Services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub routes: Vec<String>,
}
