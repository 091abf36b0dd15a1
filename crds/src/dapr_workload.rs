//! `DaprWorkload`: which configuration a workload with a Dapr sidecar should run, which it runs, and what is between.
//!
//! Written by `reeve-agent`, one per workload. The status is the agent's record: it is written before a restart is begun,
//! so that an agent that was killed in between finishes the job exactly once. Where it is missing, the agent takes the
//! workload to run what it should, and restarts nothing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::count::Count;
use crate::lenient::Lenient;
use crate::reference::WorkloadRef;
use crate::runtime::policy::DaprReload;
use crate::schema::{LABEL, MESSAGE, OBJECT_NAME, VERSION, WORD, closed_set, immutable, rule};
use crate::state::State;

/// Which workload is spoken of.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "DaprWorkload",
    plural = "daprworkloads",
    shortname = "dw",
    category = "reeve",
    namespaced,
    status = "DaprWorkloadStatus",
    derive = "PartialEq",
    doc = "A workload with a Dapr sidecar: which configuration it should run, which it runs, and what keeps the two apart. Written by Reeve only.",
    selectable = ".spec.appID",
    printcolumn(name = "App", type_ = "string", json_path = ".spec.appID"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(
        name = "Pods",
        type_ = "string",
        json_path = ".status.pods.summary",
        description = "Pods that run what was applied, of all"
    ),
    printcolumn(
        name = "Method",
        type_ = "string",
        json_path = ".status.change.method",
        description = "How the last change gets into the sidecars"
    ),
    printcolumn(
        name = "Why",
        type_ = "string",
        json_path = ".status.change.rule",
        description = "Rule that chose the method"
    ),
    printcolumn(name = "Blocked", type_ = "string", json_path = ".status.blocked.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.workload.kind", priority = 1),
    printcolumn(name = "Workload", type_ = "string", json_path = ".spec.workload.name", priority = 1),
    printcolumn(name = "Sidecar", type_ = "string", json_path = ".status.sidecar.version", priority = 1),
    printcolumn(name = "Hot", type_ = "boolean", json_path = ".status.sidecar.hotReload", priority = 1),
    printcolumn(name = "Applied", type_ = "string", json_path = ".status.appliedHash", priority = 1),
    printcolumn(name = "Running", type_ = "string", json_path = ".status.runningHash", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct DaprWorkloadSpec {
    /// The workload whose pods have the sidecar; for a shared sidecar the workload that runs it.
    #[schemars(extend("x-kubernetes-validations" = [immutable(
        "leave spec.workload as it was: each workload has a DaprWorkload of its own",
    )]))]
    pub workload: WorkloadRef,
    /// Dapr's app-id. Several workloads may share one.
    #[serde(rename = "appID")]
    #[schemars(
        length(min = 1, max = 58),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
            "write an app-id of lower case letters, digits and dashes, at most 58 of them, such as order-processor",
        )])
    )]
    pub app_id: String,
    /// Whether the sidecar serves other pods and is no part of the app's own (dapr-shared).
    #[serde(default)]
    pub shared: bool,
    /// Name of the Dapr Configuration that the pods ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub configuration: Option<String>,
}

/// What a workload should run and what it runs.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaprWorkloadStatus {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the workload is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Current, Blocked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// Hash of all that the sidecars should run. Secrets are part of it, under a key, so that it tells nothing of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub applied_hash: Option<String>,
    /// Hash of what every sidecar is known to run; differs from appliedHash while a change is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub running_hash: Option<String>,
    /// Name of the key that hashes of Secrets were made with. Under another key they say nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub hash_key: Option<String>,
    /// How many pods run what was applied, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Count>,
    /// The sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<Sidecar>,
    /// Policy in force: the runtime's, or that of the workload's annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reload: Option<Lenient<DaprReload>>,
    /// The last change and how it gets into the sidecars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// What keeps the workload from being brought up to date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// The Dapr resources that the sidecars should have, each with its hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 512),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["kind", "name"])
    )]
    pub resources: Vec<ResourceHashes>,
    /// The last restarts, the newest first: as many as a policy may allow within an hour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 60), extend("x-kubernetes-list-type" = "atomic"))]
    pub restarts: Vec<Restart>,
}

/// The sidecar of a workload.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sidecar {
    /// Version of daprd. While versions are mixed, the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// Whether it takes over changes without a restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_reload: Option<bool>,
    /// Whether it runs as an init container that stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<bool>,
    /// How many pods ask for a sidecar and have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub missing: Option<i32>,
    /// App-id that the template had when it was last looked at.
    #[serde(rename = "appID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub app_id: Option<String>,
    /// Configuration that the template named then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub configuration: Option<String>,
}

/// A change and how it gets into the sidecars.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// How.
    pub method: Lenient<Method>,
    /// Number of the rule that chose the method, such as R3; docs/dapr.md lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    pub rule: Option<String>,
    /// Why, such as: Component statestore is an actor state store, and daprd 1.17 cannot reload it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub message: Option<String>,
    /// Whether it is known that the change arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Lenient<Proof>>,
    /// When the change was seen in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Time>,
    /// When the restart was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// What the pod template got as annotation reeve.dev/dapr-restart: pods that have it run what was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub token: Option<String>,
    /// When every sidecar had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
}

/// How a change gets into the sidecars.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Method {
    /// nothing is needed.
    None,
    /// the sidecars reload by themselves.
    HotReload,
    /// the workload is rolled once.
    Restart,
    /// left to a person.
    Manual,
}

/// Whether it is known that a change arrived.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Proof {
    /// not yet.
    Pending,
    /// seen in the sidecars' logs or numbers, or in the pods' templates.
    Observed,
    /// nothing speaks against it, nothing proves it.
    Assumed,
    /// a sidecar could not take it over.
    Failed,
}

/// What keeps a workload from being brought up to date.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// What.
    pub reason: Lenient<BlockedReason>,
    /// In a sentence, with what to do.
    #[serde(default)]
    #[schemars(length(max = MESSAGE))]
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// What keeps a workload from being brought up to date.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum BlockedReason {
    /// a restart could breach a PodDisruptionBudget.
    DisruptionBudget,
    /// the workload is paused.
    Paused,
    /// the workload replaces its pods only when they are deleted.
    OnDelete,
    /// a partition keeps some of its pods back.
    Partitioned,
    /// no injector is ready: new pods would have no sidecar.
    InjectorDown,
    /// a Secret that a resource names is missing: sidecars would not start.
    MissingSecret,
    /// too many restarts within an hour.
    RestartBudget,
    /// the policy leaves it to a person.
    Policy,
    /// the pods have no owner that could be rolled.
    NoOwner,
    /// an earlier restart does not become ready.
    Unhealthy,
    /// more changes may come.
    Settling,
    /// other workloads restart first.
    Queued,
    /// no operator of Dapr is ready: new sidecars would not start.
    OperatorDown,
    /// the control plane of Dapr takes the change over first.
    ControlPlaneFirst,
}

/// A Dapr resource and its hashes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceHashes {
    /// Kind of the resource, such as Component; Secret or ConfigMap for what a sidecar reads when it starts, Image for the
    /// image of the sidecar, System for the Configuration of Dapr's control plane.
    #[schemars(length(max = LABEL))]
    pub kind: String,
    /// Its name.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
    /// Hashes of what was applied: content, scopes, Secrets and container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub applied_hash: Option<String>,
    /// Hashes of what the sidecars are known to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub running_hash: Option<String>,
}

/// A restart.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Restart {
    /// When it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Token by which it is known; once per token.
    #[schemars(length(max = WORD))]
    pub token: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub message: Option<String>,
}
