//! `RuntimeComponent`: one chart at one version in one runtime, and how it is doing.
//!
//! Written by whoever applies, in the runtime. `spec.suspend` alone belongs to people. The word is component; the
//! plain kind name belongs to Dapr.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::count::Count;
use crate::duration::{self, Duration};
use crate::lenient::Lenient;
use crate::outcome::{Drift, Failure, HistoryEntry, Outcome, Rendered};
use crate::reference::ObjectRef;
use crate::schema::{
    DIGEST, LABEL, MESSAGE, OBJECT_NAME, PATH, VERSION, WORD, closed_set, immutable, label_rule, namespace_rule, rule,
};
use crate::state::State;

/// One chart at one version, with values, in one runtime.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "RuntimeComponent",
    plural = "runtimecomponents",
    shortname = "rtc",
    category = "reeve",
    namespaced,
    status = "RuntimeComponentStatus",
    derive = "PartialEq",
    doc = "One component of a runtime: a chart at a version, what was applied of it, and how that is doing.",
    selectable = ".spec.runtime",
    selectable = ".spec.component",
    printcolumn(name = "Runtime", type_ = "string", json_path = ".spec.runtime"),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".status.applied.version",
        description = "Version that is applied"
    ),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(
        name = "Healthy",
        type_ = "string",
        json_path = ".status.health.summary",
        description = "Objects healthy, of all"
    ),
    printcolumn(
        name = "Drift",
        type_ = "integer",
        json_path = ".status.drift.objects",
        description = "Objects that someone changed"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Chart", type_ = "string", json_path = ".spec.chart", priority = 1),
    printcolumn(name = "Wanted", type_ = "string", json_path = ".spec.version", priority = 1),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.applied.revision", priority = 1),
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.namespace", priority = 1),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspend", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "!has(self.dependsOn) || !(self.component in self.dependsOn)",
        "remove the component's own name from spec.dependsOn: a component cannot wait for itself",
    ),
]))]
pub struct RuntimeComponentSpec {
    /// Name of the Runtime that this component is in.
    #[schemars(
        length(min = 1, max = OBJECT_NAME),
        extend("x-kubernetes-validations" = [immutable(
            "leave spec.runtime as it was: a component of another runtime is another RuntimeComponent",
        )])
    )]
    pub runtime: String,
    /// Name of the component, unique in its runtime.
    #[schemars(
        length(min = 1, max = LABEL),
        extend("x-kubernetes-validations" = [
            label_rule(),
            immutable("leave spec.component as it was: a renamed component is a new RuntimeComponent and the removal of the old"),
        ])
    )]
    pub component: String,
    /// Where the objects go.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [immutable(
        "leave spec.target as it was: to move a component remove it from Git, wait until it is gone, and add it with the other target",
    )]))]
    pub target: ComponentTarget,
    /// Name of the chart.
    #[schemars(length(min = 1, max = LABEL))]
    pub chart: String,
    /// Version of the chart.
    #[schemars(length(min = 1, max = VERSION))]
    pub version: String,
    /// Channel that gave the version; empty if the runtime's file names the version itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub channel: Option<String>,
    /// Namespace of objects that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [namespace_rule()]))]
    pub namespace: Option<String>,
    /// File and line that put the component into the runtime, such as runtimes/eu/prod-1.yaml:14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PATH))]
    pub origin: Option<String>,
    /// Components of the same runtime that must be Ready first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub depends_on: Vec<String>,
    /// Account of the runtime as which the objects are applied; empty means the runtime's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub service_account_name: Option<String>,
    /// How long the component may take to become healthy; empty means what the runtime says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "24h")))]
    pub timeout: Option<Duration>,
    /// Stop applying, pruning and repairing this component. Belongs to people: kubectl patch and reeve suspend set it,
    /// Git never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// Where the objects of a component go.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum ComponentTarget {
    /// into the runtime.
    #[default]
    Runtime,
    /// into the control plane, for systems that make clusters. Only kinds that the operator allows.
    ControlPlane,
}

impl ComponentTarget {
    /// Each of them.
    pub const ALL: &'static [Self] = &[Self::Runtime, Self::ControlPlane];
}

/// How a component is doing.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
// Whoever applies alone tells it, and whole: the API server need not keep books of its parts.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct RuntimeComponentStatus {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the component is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Applied, Healthy, Drifted; Reconciling and Stalled only while they hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// What Git wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<Rendered>,
    /// What was applied last, completely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Rendered>,
    /// What was last applied and healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Rendered>,
    /// How many objects are healthy, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Count>,
    /// Up to ten objects that are not healthy, the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub unhealthy: Vec<UnhealthyObject>,
    /// Components that this one waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub waits_for: Vec<String>,
    /// What others changed of what Reeve owns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The failure that stands in the way now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Jobs that ran before or after the objects of this digest were applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub jobs: Vec<JobRun>,
    /// The last ten changes, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<HistoryEntry>,
    /// Value of the annotation reeve.dev/reconcile that was last acted upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub last_handled_reconcile_at: Option<String>,
}

/// An object that is not healthy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyObject {
    /// The object.
    pub object: ObjectRef,
    /// What is the matter.
    pub health: Lenient<Health>,
    /// What is missing, such as: 1 of 3 replicas available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub message: Option<String>,
}

/// What is the matter with an object.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Health {
    /// it is not there yet.
    InProgress,
    /// it will not get there by itself.
    Failed,
    /// it is being deleted.
    Terminating,
    /// it does not exist.
    Missing,
    /// it could not be read.
    Unknown,
}

/// A Job that belongs to a change.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRun {
    /// Name of the Job.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
    /// When it runs.
    pub phase: Lenient<JobPhase>,
    /// Digest for which it ran; it runs once per digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub digest: Option<String>,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Lenient<Outcome>>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
}

/// When a Job of a change runs.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum JobPhase {
    /// before the objects are applied.
    Before,
    /// after the objects are healthy.
    After,
}
