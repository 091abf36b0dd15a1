//! `NodeHookStatus`: which hooks are live on one node, and how they do.
//!
//! Written by `reeve-cri-feed`, one per node, named like the node. Numbers are those of `status.observedAt`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};
use crate::count::Count;
use crate::duration::{self, Duration};
use crate::lenient::Lenient;
use crate::node_hook::plugin::{HookType, PluginMode};
use crate::schema::{DIGEST, MESSAGE, OBJECT_NAME, PATH, REVISION, VERSION, closed_set, immutable};
use crate::state::State;

/// Which node is spoken of.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "NodeHookStatus",
    plural = "nodehookstatuses",
    shortname = "nhs",
    category = "reeve",
    status = "NodeHookStatusStatus",
    derive = "PartialEq",
    doc = "Which hooks are live on one node and how they do. Named like the node; written by Reeve only.",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason", description = "Why the state is what it is, in one word"),
    printcolumn(name = "Hooks", type_ = "string", json_path = ".status.live.summary", description = "Plugins live, of those that should be"),
    printcolumn(name = "Calls", type_ = "integer", json_path = ".status.totals.calls"),
    printcolumn(name = "Failures", type_ = "integer", json_path = ".status.totals.failures"),
    printcolumn(name = "Open", type_ = "integer", json_path = ".status.openCircuits", description = "Plugins that are not asked because they failed"),
    printcolumn(name = "P99", type_ = "string", json_path = ".status.totals.p99", description = "Time that hooks add to one call in a hundred, or less"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Digest", type_ = "string", json_path = ".status.digest", priority = 1),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.proxy.version", priority = 1),
    printcolumn(name = "Runtime", type_ = "string", json_path = ".status.proxy.runtime", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1),
    validation = Rule::new("self.metadata.name == self.spec.node").message("name the NodeHookStatus like its node: metadata.name and spec.node must be equal")
)]
#[serde(rename_all = "camelCase")]
pub struct NodeHookStatusSpec {
    /// Name of the node.
    #[schemars(
        length(min = 1, max = OBJECT_NAME),
        extend("x-kubernetes-validations" = [immutable(
            "leave spec.node as it was: each node has a NodeHookStatus of its own",
        )])
    )]
    pub node: String,
}

/// What is live on the node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeHookStatusStatus {
    /// How the hooks of the node are doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Details of the state: Ready, Live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list")]
    pub conditions: Vec<Condition>,
    /// metadata.generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When the numbers were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Time>,
    /// Digest of the hook set that is live: equal on nodes with equal hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub digest: Option<String>,
    /// The proxy on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// How many plugins are live, of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Count>,
    /// How many plugins are not asked because they failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub open_circuits: Option<i32>,
    /// Numbers over all plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Calls>,
    /// The NodeHooks of this node, by order and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub hooks: Vec<LiveHook>,
    /// The plugins, in the order in which they are asked: those of NodeHooks first, then those of files by name. Of two with
    /// one socket that of the NodeHook counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["source", "plugin", "revision"])
    )]
    pub plugins: Vec<PluginStatus>,
    /// Registration files in the hook folder that do not count as they are, because they are bad or a NodeHook has their socket.
    /// The last good version of a bad one stays in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["file"]))]
    pub bad_files: Vec<BadFile>,
}

/// The proxy on a node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Proxy {
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// Name and version of the runtime behind it, such as containerd 2.1.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub runtime: Option<String>,
    /// When it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
}

/// A NodeHook on this node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveHook {
    /// Name of the NodeHook.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
    /// Its generation that is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub generation: Option<i64>,
    /// Git revision that this generation comes from, if Reeve applied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = REVISION))]
    pub git: Option<String>,
    /// Digest of what is in force for the pods of the share.
    #[schemars(length(max = DIGEST))]
    pub revision: String,
    /// Percent of the pods that get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: Option<i32>,
    /// Digest of the last good revision, which the other pods get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub last_good: Option<String>,
    /// Why the node returned to the last good revision, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub returned: Option<String>,
}

/// How a plugin does.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// Where the plugin comes from: the name of the NodeHook, or of the registration file.
    #[schemars(length(max = PATH))]
    pub source: String,
    /// Name of the plugin; for a registration file the file's name without .json.
    #[schemars(length(max = OBJECT_NAME))]
    pub plugin: String,
    /// Digest of the revision of the NodeHook; empty for a file.
    #[schemars(length(max = DIGEST))]
    pub revision: String,
    /// Socket of the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PATH))]
    pub endpoint: Option<String>,
    /// Whether its answers count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Lenient<PluginMode>>,
    /// Calls on which it is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub hooks: Vec<Lenient<HookType>>,
    /// Whether it is asked now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<Lenient<Circuit>>,
    /// Since when it is asked, or is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_since: Option<Time>,
    /// Its numbers.
    #[serde(default)]
    pub calls: Calls,
    /// Its last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<PluginError>,
}

/// Whether a plugin is asked.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Circuit {
    /// it is asked.
    Closed,
    /// it failed and is not asked; each hook's failure policy decides.
    Open,
    /// one call tries it again.
    HalfOpen,
}

/// Numbers since the plugin is in force as it is registered now.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Calls {
    /// Questions asked.
    #[schemars(range(min = 0))]
    pub calls: i64,
    /// Questions that failed, time-outs included.
    #[schemars(range(min = 0))]
    pub failures: i64,
    /// Questions that took too long.
    #[schemars(range(min = 0))]
    pub timeouts: i64,
    /// Calls that a plugin refused.
    #[schemars(range(min = 0))]
    pub refusals: i64,
    /// Calls that a plugin changed, or in mode Audit would have changed.
    #[schemars(range(min = 0))]
    pub changes: i64,
    /// Changes that were not made because the plugin may not make them.
    #[schemars(range(min = 0))]
    pub forbidden_changes: i64,
    /// Changes of a field that another plugin had changed.
    #[schemars(range(min = 0))]
    pub conflicts: i64,
    /// Half of the questions took no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub p50: Option<Lenient<Duration>>,
    /// Ninety-nine in a hundred took no longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub p99: Option<Lenient<Duration>>,
}

/// A failure of a plugin.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginError {
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// On which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<Lenient<HookType>>,
    /// Pod that was concerned, as namespace/name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub pod: Option<String>,
    /// What it said. Values of variables never appear.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
}

/// A registration file that does not count as it is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BadFile {
    /// Name of the file in the hook folder.
    #[schemars(length(max = OBJECT_NAME))]
    pub file: String,
    /// What is wrong with it.
    #[serde(default)]
    #[schemars(length(max = MESSAGE))]
    pub message: String,
}
