//! By which rules a runtime is kept to Git: drift, adoption, deletion, Dapr.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{LABEL, OBJECT_NAME, PATH, closed_set, rule};

/// What to do about changes by others to what Reeve owns.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftPolicy {
    /// What to do when a field that Reeve owns was changed or removed. An object may say otherwise with the
    /// annotation reeve.dev/drift.
    pub mode: DriftMode,
    /// How often to compare everything, as a net below the watches.
    #[schemars(extend("x-kubernetes-validations" = duration::between("1m", "168h")))]
    pub full_check_interval: Duration,
    /// Fields that others may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub ignore: Vec<IgnoredFields>,
}

impl Default for DriftPolicy {
    fn default() -> Self {
        Self { mode: DriftMode::Repair, full_check_interval: Duration::from_secs(3600), ignore: Vec::new() }
    }
}

/// What to do about drift.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum DriftMode {
    /// put it right, and tell who did it.
    #[default]
    Repair,
    /// tell who did it, change nothing.
    Report,
    /// do not look.
    Ignore,
}

/// Fields of some objects that others may change.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredFields {
    /// JSON pointers of the fields, such as /spec/replicas.
    #[schemars(
        length(min = 1, max = 32),
        inner(length(min = 1, max = PATH)),
        extend("x-kubernetes-list-type" = "set", "x-kubernetes-validations" = [rule(
            "self.all(path, path.startsWith('/'))",
            "write JSON pointers that start with /, such as /spec/replicas",
        )])
    )]
    pub paths: Vec<String>,
    /// API group of the objects; empty means every group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub group: Option<String>,
    /// Kind of the objects; empty means every kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub kind: Option<String>,
    /// Namespace of the objects; empty means every namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub namespace: Option<String>,
    /// Name of the objects; empty means every name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub name: Option<String>,
}

/// What to do about objects that exist already.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Adoption {
    /// take them over unless another tool applies them: a field of another server-side applier is a conflict, and so is an
    /// object of another Helm release than the one whose place the component takes.
    #[default]
    Unowned,
    /// take them over, also from other appliers and from any Helm release.
    Always,
    /// refuse; every object must be Reeve's from its creation.
    Never,
}

/// What to do when a change touches a field that cannot change.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Recreate {
    /// fail, naming object and field.
    #[default]
    Never,
    /// delete the object and create it anew. Never done to Namespaces, CRDs and PersistentVolumeClaims.
    OnImmutable,
}

/// What becomes of the applied objects of a runtime that goes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum DeletionPolicy {
    /// they stay as they are and belong to nobody.
    #[default]
    Orphan,
    /// they are deleted in reverse order; the Runtime goes when they are gone.
    Delete,
}

/// How workloads with a Dapr sidecar take over a change.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaprPolicy {
    /// How a sidecar gets a changed component, configuration, subscription or resiliency policy.
    pub reload: DaprReload,
    /// How long to wait for more changes before anything restarts, so that many changes are one restart.
    #[schemars(extend("x-kubernetes-validations" = duration::between("0s", "1h")))]
    pub settle_time: Duration,
    /// How long a hot reload may go without proof before the workload is restarted instead.
    #[schemars(extend("x-kubernetes-validations" = duration::between("10s", "1h")))]
    pub proof_timeout: Duration,
    /// How many workloads may be restarting at once.
    #[schemars(range(min = 1, max = 1000))]
    pub max_concurrent_restarts: i32,
    /// How often one workload may be restarted within an hour; more is reported, not done.
    #[schemars(range(min = 1, max = 60))]
    pub max_restarts_per_hour: i32,
}

impl Default for DaprPolicy {
    fn default() -> Self {
        Self {
            reload: DaprReload::Auto,
            settle_time: Duration::from_secs(5),
            proof_timeout: Duration::from_secs(75),
            max_concurrent_restarts: 2,
            max_restarts_per_hour: 6,
        }
    }
}

/// How a sidecar gets a change.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum DaprReload {
    /// hot where the sidecar can, else by a rolling restart.
    #[default]
    Auto,
    /// always by a rolling restart. Works only where HotReload is off for the app: a hot sidecar does not wait.
    Restart,
    /// hot only; what would need a restart is reported.
    HotOnly,
    /// not at all until a person agrees: the change is not even applied.
    Manual,
}
