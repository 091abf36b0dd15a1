//! `Runtime`: one cluster, or one tenant of it, and how far it is with what Git says.
//!
//! Written by the reconciler from `runtimes/**.yaml`; its status by whoever applies. `spec.suspend` alone belongs to
//! people: it is never in the reconciler's payload. Policies are in `runtime::policy`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::count::Count;
use crate::duration::{self, Duration};
use crate::lenient::Lenient;
use crate::outcome::{Drift, Failure, HistoryEntry, Rendered};
use crate::reference::LocalRef;
use crate::schema::{LABEL, MESSAGE, OBJECT_NAME, PATH, VERSION, WORD, immutable, label_rule, relative_path, rule};
use crate::state::State;

pub mod policy;
pub mod target;

use policy::{Adoption, DaprPolicy, DeletionPolicy, DriftPolicy, Recreate};
use target::{KubeConfigRef, Target, TargetType};

/// One cluster, or one tenant of it: where it is and by which rules it is kept to Git.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "Runtime",
    plural = "runtimes",
    shortname = "rt",
    category = "reeve",
    namespaced,
    status = "RuntimeStatus",
    derive = "PartialEq",
    doc = "A Kubernetes cluster, or a tenant of it, that Reeve keeps to what Git says. Its labels choose layers and components.",
    selectable = ".spec.channel",
    selectable = ".spec.wave",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(
        name = "Components",
        type_ = "string",
        json_path = ".status.componentsReady.summary",
        description = "Components ready, of all"
    ),
    printcolumn(
        name = "Revision",
        type_ = "string",
        json_path = ".status.applied.revision",
        description = "Revision that is applied"
    ),
    printcolumn(
        name = "Drift",
        type_ = "integer",
        json_path = ".status.drift.objects",
        description = "Objects that someone changed"
    ),
    printcolumn(name = "Channel", type_ = "string", json_path = ".spec.channel"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Desired", type_ = "string", json_path = ".status.desired.revision", priority = 1),
    printcolumn(name = "Wave", type_ = "string", json_path = ".spec.wave", priority = 1),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.target.type", priority = 1),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.sourceRef.name", priority = 1),
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
        "!has(oldSelf.sourceRef) || has(self.sourceRef)",
        "keep spec.sourceRef: to hand the runtime to another GitSource set spec.deletionPolicy to Orphan, delete this Runtime, and let the other create it",
    ),
]))]
pub struct RuntimeSpec {
    /// GitSource that this runtime comes from. Absent only in the copy that an agent keeps in its own cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [immutable(
        "leave spec.sourceRef as it was: to hand the runtime to another GitSource set spec.deletionPolicy to Orphan, delete this Runtime, and let the other create it",
    )]))]
    pub source_ref: Option<LocalRef>,
    /// File of the repository that describes this runtime, such as runtimes/eu/prod-1.yaml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PATH), extend("x-kubernetes-validations" = [relative_path()]))]
    pub file: Option<String>,
    /// Where the runtime is and as whom objects are applied there.
    #[serde(default)]
    pub target: Target,
    /// Channel that gives components their versions, such as regular or fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub channel: Option<String>,
    /// Wave in which this runtime gets a change; a later wave waits for the health of the earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub wave: Option<String>,
    /// What the cluster can do, as its charts may assume. A cluster that offers less gives a Warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// How often whoever applies shows that it lives. After three of them without a word the state is Unknown.
    #[serde(default = "default_interval")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "24h")))]
    pub interval: Duration,
    /// How long a component may take to become healthy before its state is Error.
    #[serde(default = "default_timeout")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "24h")))]
    pub timeout: Duration,
    /// Longest pause between two tries of what fails; the pauses grow from seconds up to this.
    #[serde(default = "default_max_backoff")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "1h")))]
    pub max_backoff: Duration,
    /// How many writes may be under way at once in this runtime.
    #[serde(default = "default_concurrency")]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: i32,
    /// Delete objects that left Git. CRDs, Namespaces and PersistentVolumeClaims are kept all the same unless they
    /// carry an annotation that says otherwise.
    #[serde(default = "default_prune")]
    pub prune: bool,
    /// What to do about changes by others to what Reeve owns.
    #[serde(default)]
    pub drift: DriftPolicy,
    /// What to do about objects that exist already.
    #[serde(default)]
    pub adoption: Adoption,
    /// What to do when a change touches a field that cannot change.
    #[serde(default)]
    pub recreate: Recreate,
    /// What becomes of the applied objects when this Runtime is deleted or its file leaves Git.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// How workloads with a Dapr sidecar take over a change.
    #[serde(default)]
    pub dapr: DaprPolicy,
    /// Stop applying, pruning and repairing. Belongs to people: kubectl patch and reeve suspend set it, Git never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

/// What a cluster can do.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Version of Kubernetes, such as v1.35.4 or "1.35", in quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^v?[0-9]+[.][0-9]+([.][0-9]+)?([-+][0-9A-Za-z.+-]*)?$')",
            "write a version of Kubernetes, such as v1.35.4 or \"1.35\", in quotes",
        )])
    )]
    pub kubernetes_version: Option<String>,
    /// API versions and kinds beyond those of Kubernetes itself, such as keda.sh/v1alpha1 or
    /// keda.sh/v1alpha1/ScaledObject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 512), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "set"))]
    pub api_versions: Vec<String>,
}

/// How far the runtime is. Written when something changes, not on every interval: a Lease shows that the applier lives.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
// Whoever applies alone tells it, and whole: the API server need not keep books of its parts.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct RuntimeStatus {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the runtime is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Applied, Healthy, Drifted, Reachable, Capable, Held; Reconciling and Stalled only while
    /// they hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// What the runtime should be at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<Rendered>,
    /// What was applied last, completely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Rendered>,
    /// What was last applied and healthy; a halted wave returns to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Rendered>,
    /// Why this runtime is kept back although Git says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// The cluster that its objects are in, if that is not the one of this Runtime. Written before the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<RuntimeCluster>,
    /// How many components are ready, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components_ready: Option<Count>,
    // One writer tells all of it at once; as a map the API server would keep books of who owns which field of which.
    /// The components of this runtime.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub components: Vec<ComponentSummary>,
    /// How many objects are applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub objects: Option<i32>,
    /// What others changed of what Reeve owns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The failure that stands in the way now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Who applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applier: Option<Applier>,
    /// The last ten changes, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<HistoryEntry>,
    /// Value of the annotation reeve.dev/reconcile that was last acted upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = WORD))]
    pub last_handled_reconcile_at: Option<String>,
}

/// A cluster, and the way to it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeCluster {
    /// uid of its namespace kube-system: a cluster with another one is another cluster.
    #[schemars(length(max = LABEL))]
    pub uid: String,
    /// Secret with its kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config_secret_ref: Option<KubeConfigRef>,
}

/// Why a runtime is kept back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Held {
    /// What it is kept at.
    pub at: Rendered,
    /// Wave that was halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub wave: Option<String>,
    /// Why, such as: 7 of 500 runtimes of wave canary are unhealthy.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A component in one line; its RuntimeComponent tells the rest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSummary {
    /// Name of the component.
    #[schemars(length(max = LABEL))]
    pub name: String,
    /// Version that is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// Its state.
    #[serde(default)]
    pub state: State,
    /// Why it is not Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub message: Option<String>,
}

/// Who applies.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Applier {
    /// How it reaches the runtime.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Lenient<TargetType>>,
    /// Who holds the Lease in the runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub identity: Option<String>,
    /// Version of Reeve that applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// Version of Kubernetes that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub kubernetes_version: Option<String>,
}

fn default_interval() -> Duration {
    Duration::from_secs(60)
}

fn default_timeout() -> Duration {
    Duration::from_secs(300)
}

fn default_max_backoff() -> Duration {
    Duration::from_secs(300)
}

fn default_concurrency() -> i32 {
    8
}

fn default_prune() -> bool {
    true
}
