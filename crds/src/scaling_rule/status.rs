//! What the resolver saw and did for a rule.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::duration::{self, Duration};
use crate::lenient::Lenient;
use crate::reference::WorkloadRef;
use crate::schema::{LABEL, MESSAGE, OBJECT_NAME, closed_set};
use crate::state::State;

/// What the resolver saw and did. Written when the mode changes, and while requests wait at most every few seconds.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScalingRuleStatus {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the rule is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Covered, Proven, KedaReady.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// Where the traffic goes now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Lenient<TrafficMode>>,
    /// Since when the mode is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_since: Option<Time>,
    /// How often the mode has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub mode_changes: Option<i64>,
    /// What is scaled: spec.scaleTarget, or what the Services led to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<WorkloadRef>,
    /// The value of the annotation reeve.dev/wake that was last acted upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub last_handled_wake_at: Option<String>,
    /// The value of the annotation reeve.dev/sleep that was last acted upon: the target sleeps, or it is too busy to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub last_handled_sleep_at: Option<String>,
    /// How many replicas the target had when this status was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many replicas the target had before Reeve put it to sleep; there only while it sleeps by Reeve's hand. It gets
    /// them back when the rule is suspended or deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub restore_replicas: Option<i32>,
    /// How many replicas of the resolver take traffic for this rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub resolvers: Option<i32>,
    /// How many requests waited, over all resolvers, when this status was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub held: Option<i32>,
    /// When the last request was seen that counts, as far as it was known when this status was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_request_time: Option<Time>,
    /// The last wake, phase by phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cold_start: Option<ColdStart>,
    /// What came of the rule since it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// What would have come of the rule, in mode Observe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Totals>,
    /// Ports of the resolver that stand for ports of the Services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["service", "port"])
    )]
    pub ports: Vec<ResolverPort>,
    /// Services that lead to the target and are in no rule; while there are any the target does not sleep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub uncovered_services: Vec<String>,
    /// What a rule with spec.selector has found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Name of the KEDA object that belongs to this rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub keda_object: Option<String>,
}

/// What a rule with spec.selector has found: each target has a rule of its own.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selection {
    /// How many targets there are.
    #[schemars(range(min = 0))]
    pub targets: i32,
    /// How many of their rules are Ready.
    #[schemars(range(min = 0))]
    pub ready: i32,
    /// How many of them sleep.
    #[schemars(range(min = 0))]
    pub asleep: i32,
    /// Rules that are not Ready, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub laggards: Vec<Named>,
    /// Services that were chosen and left out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub excluded: Vec<Named>,
}

/// An object, and why it is named.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Name of the object.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
    /// Why it is named.
    #[schemars(length(max = MESSAGE))]
    pub reason: String,
}

/// Where the traffic goes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[schemars(transform = closed_set)]
pub enum TrafficMode {
    /// straight to the pods; the resolver is out of the path.
    Direct,
    /// to the pods and more and more through the resolver, which is about to be proven the only way.
    Entering,
    /// through the resolver to the pods.
    Proxied,
    /// to the resolver, which lets nothing more through before the pods are stopped.
    Draining,
    /// to the resolver; the target is at zero.
    Asleep,
    /// to the resolver, which holds requests until the first pod is ready.
    Waking,
    /// to the pods again; the resolver forwards what still reaches it.
    HandingOver,
    /// straight to the pods because no resolver lives; the target is kept awake.
    FailOpen,
    /// wherever it went before: mode Observe, suspended, or unsupported.
    Untouched,
}

/// A wake, phase by phase. Each time counts from the first request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ColdStart {
    /// When the first request came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// What woke the target, such as GET /orders, or reeve wake.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub cause: Option<String>,
    /// How many replicas were started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many requests waited, in the replica of the resolver that got the first, when a pod was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub held: Option<i32>,
    /// Until the new number of replicas was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub scaled: Option<Lenient<Duration>>,
    /// Until a pod was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub ready: Option<Lenient<Duration>>,
    /// Until the first request had its first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub total: Option<Lenient<Duration>>,
}

/// What came of a rule.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Totals {
    /// How often the target went to sleep.
    #[schemars(range(min = 0))]
    pub sleeps: i64,
    /// How often it was woken.
    #[schemars(range(min = 0))]
    pub wakes: i64,
    /// How long it slept, such as 14h10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub asleep: Option<Lenient<Duration>>,
}

/// A port of the resolver that stands for a port of a Service.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolverPort {
    /// Name of the Service.
    #[schemars(length(max = LABEL))]
    pub service: String,
    /// Port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Name of that port, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub name: Option<String>,
    /// What the Service says that it speaks, as its appProtocol: connections to a port of tcp are passed on as bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub app_protocol: Option<String>,
    /// Port of the resolver.
    #[schemars(range(min = 1, max = 65535))]
    pub resolver_port: i32,
}
