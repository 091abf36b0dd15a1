//! `NodeHook`: which plugins have a say on which nodes before a container starts, and how much of a say.
//!
//! Rendered from Git. Cluster-scoped: no tenant of a namespace may hook nodes. What a plugin may do is in
//! `node_hook::plugin`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::count::Count;
use crate::duration::{self, Duration};
use crate::schema::{LABEL, MESSAGE, OBJECT_NAME, REVISION, closed_set, rule};
use crate::selector::Selector;
use crate::state::State;

pub mod plugin;

use plugin::Plugin;

/// Which plugins have a say on which nodes before a container starts.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "NodeHook",
    plural = "nodehooks",
    shortname = "nh",
    category = "reeve",
    status = "NodeHookRollout",
    derive = "PartialEq",
    doc = "Plugins that may look at and change containers and pods on some nodes before they start, and how far they may go.",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(
        name = "Nodes",
        type_ = "string",
        json_path = ".status.nodes.summary",
        description = "Nodes on which this revision is live, of those selected"
    ),
    printcolumn(name = "Order", type_ = "integer", json_path = ".spec.order"),
    printcolumn(
        name = "Canary",
        type_ = "integer",
        json_path = ".spec.canary.percent",
        description = "Percent of pods that get the hooks"
    ),
    printcolumn(
        name = "Revision",
        type_ = "string",
        json_path = ".status.revision",
        description = "Commit that it comes from",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Suspended", type_ = "boolean", json_path = ".spec.suspend", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct NodeHookSpec {
    /// Nodes that get the hooks, by their labels. Every node has kubernetes.io/os: linux or windows.
    #[schemars(extend("x-kubernetes-validations" = [rule(
        "(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)",
        "write matchLabels or matchExpressions below nodeSelector, such as matchLabels: {pool: batch}; for every node matchLabels: {kubernetes.io/os: linux}",
    )]))]
    pub node_selector: Selector,
    /// Place among all NodeHooks: lower numbers are asked first, equal ones by name.
    #[serde(default = "default_order")]
    #[schemars(range(min = 0, max = 1000))]
    pub order: i32,
    /// Plugins, in the order in which they are asked. Each sees what those before it changed.
    #[schemars(
        length(min = 1, max = 16),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = [
                rule(
                    "self.all(plugin, self.exists_one(other, other.name == plugin.name))",
                    "give each plugin a name of its own: to ask one plugin on more calls add them to its hooks",
                ),
                rule(
                    "self.all(plugin, self.exists_one(other, other.endpoint == plugin.endpoint))",
                    "list each endpoint once: to ask one plugin on more calls add them to its hooks",
                ),
            ]
        )
    )]
    pub plugins: Vec<Plugin>,
    /// What happens when a plugin of this NodeHook changes a field that an earlier plugin has changed, of whichever source.
    #[serde(default)]
    pub conflicts: ConflictPolicy,
    /// Pods that the hooks are for. Empty means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodScope>,
    /// Pods that start although a plugin failed, so that a node can always start what it needs.
    #[serde(default)]
    pub exempt: Exempt,
    /// How much of a call's time all plugins together may take. Of the budgets of all plugins of a call the smallest counts.
    #[serde(default)]
    pub budget: Budget,
    /// Which share of the pods gets a new revision of the hooks, and when a node returns to the last good one.
    #[serde(default)]
    pub canary: Canary,
    /// What a change of this object means for containers that run already.
    #[serde(default)]
    pub running_containers: RunningContainers,
    /// Whether pods are scheduled to a selected node on which the hooks are not live.
    #[serde(default)]
    pub while_not_live: WhileNotLive,
    /// Take the hooks off all nodes.
    #[serde(default)]
    pub suspend: bool,
}

/// Whether pods are scheduled to a node on which hooks are not live.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum WhileNotLive {
    /// they are.
    #[default]
    Schedule,
    /// the node has the taint reeve.dev/hooks-not-live:NoSchedule until the hooks are live. Kubelet's
    /// --register-with-taints gives it to a new node before the first pod.
    NoSchedule,
}

/// What happens when a plugin changes a field that an earlier one has changed. The policy of the later plugin's NodeHook
/// decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum ConflictPolicy {
    /// the later plugin has failed; its failure policy decides.
    #[default]
    Fail,
    /// the earlier plugin's value stays.
    First,
    /// the later plugin's value counts.
    Last,
}

/// Pods that hooks are for. All that is given must match.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodScope {
    /// Namespaces of the pods. Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,
    /// Labels of the pods. Empty means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
}

/// Pods that start although a plugin failed. Plugins are asked about them; failurePolicy Fail counts as Ignore, and a plugin
/// that refuses still refuses.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exempt {
    /// Their namespaces. A pod of these is not shown to the plugins at all if it has the label that the proxy's
    /// --skip-label-key names: the plugins' own pods, which must start without them.
    #[schemars(length(max = 64), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,
    /// Whether static pods of every namespace are among them.
    pub static_pods: bool,
}

impl Default for Exempt {
    fn default() -> Self {
        Self { namespaces: vec!["kube-system".to_owned()], static_pods: true }
    }
}

/// How much of a call's time all plugins together may take: the smaller of both.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Percent of the time that the caller has left.
    #[schemars(range(min = 1, max = 90))]
    pub percent: i32,
    /// Time in all.
    #[schemars(extend("x-kubernetes-validations" = duration::between("10ms", "1m")))]
    pub max: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { percent: 25, max: Duration::from_secs(10) }
    }
}

/// Which share of the pods gets a new revision, and when a node returns to the last good one, which it keeps on its disk.
/// A revision is what plugins may do to which pods; it is good once all pods had it and 50 calls stayed within the limits, or
/// at once if there are none.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Canary {
    /// Percent of the pods that get the new revision, chosen by their uid. The others get the last good one, or none.
    #[schemars(range(min = 0, max = 100))]
    pub percent: i32,
    /// A node returns when more than this percent of at least ten calls to a plugin failed. 0 means never.
    #[schemars(range(min = 0, max = 100))]
    pub max_failure_percent: i32,
    /// A node returns when more than one in a hundred of at least ten calls to a plugin took longer than this. Empty means
    /// never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1ms", "1m")))]
    pub max_latency: Option<Duration>,
}

impl Default for Canary {
    fn default() -> Self {
        Self { percent: 100, max_failure_percent: 0, max_latency: None }
    }
}

/// What a change means for containers that run already.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunningContainers {
    /// What is done to them.
    pub on_change: OnChange,
    /// How many of them are updated in a minute on one node.
    #[schemars(range(min = 1, max = 6000))]
    pub updates_per_minute: i32,
}

impl Default for RunningContainers {
    fn default() -> Self {
        Self { on_change: OnChange::Leave, updates_per_minute: 60 }
    }
}

/// What is done to running containers.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum OnChange {
    /// nothing; new containers get the hooks.
    #[default]
    Leave,
    /// plugins with PreUpdateContainerResources are asked about each of them, and what they change is updated.
    Update,
}

/// How far the hooks have got; each node's NodeHookStatus tells the rest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeHookRollout {
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How the hooks are doing over all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// On how many nodes this revision is live, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Count>,
    /// Up to ten nodes on which it is not live or not well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub not_ready: Vec<NodeNotReady>,
    /// Git revision that this generation comes from, if Reeve applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = REVISION))]
    pub revision: Option<String>,
}

/// A node on which the hooks are not live or not well.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeNotReady {
    /// Name of the node.
    #[schemars(length(max = OBJECT_NAME))]
    pub node: String,
    /// Why.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
}

fn default_order() -> i32 {
    100
}
