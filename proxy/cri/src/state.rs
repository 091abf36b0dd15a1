//! What the proxy tells of itself on a local socket: which hooks are in force, and how their plugins do.
//!
//! Owns the words; `serve` answers with them, and `client` reads them for whoever may open the socket.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::hook::Hook;
use crate::settings::Mode;

pub mod client;
pub(crate) mod serve;

/// Everything that a reader of the socket is told.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Of the proxy.
    pub version: String,
    pub started_at: Timestamp,
    /// Name and version of the runtime, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Of the hook set in force.
    pub digest: String,
    /// What is wrong with the file of the hook set; the one from before is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_set: Option<String>,
    pub hooks: Vec<HookState>,
    /// In the order in which they are asked.
    pub plugins: Vec<PluginState>,
    /// Files of the folder that are not in force as they are.
    pub files: Vec<FileReport>,
}

/// One NodeHook in force.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookState {
    pub name: String,
    pub generation: i64,
    /// Digest of the revision that is rolled out.
    pub revision: String,
    pub percent: u8,
    /// Commit that the revision comes from, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the revision has proven itself.
    pub good: bool,
    /// Why all pods get the last good revision instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<String>,
}

/// One plugin in force.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginState {
    /// Name of its NodeHook, or of its registration file.
    pub source: String,
    /// Its name there; for a file the file's name without `.json`.
    pub plugin: String,
    /// Digest of the NodeHook's revision; empty for a file.
    pub revision: String,
    pub endpoint: PathBuf,
    pub mode: Mode,
    pub hooks: Vec<Hook>,
    pub circuit: Circuit,
    pub circuit_since: Timestamp,
    pub calls: Calls,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
}

/// Whether a plugin is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Circuit {
    Closed,
    Open,
    HalfOpen,
}

/// Numbers since the plugin is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Calls {
    pub calls: u64,
    pub failures: u64,
    pub timeouts: u64,
    pub refusals: u64,
    pub changes: u64,
    pub forbidden_changes: u64,
    pub conflicts: u64,
    #[serde(default)]
    pub p50: Option<Duration>,
    #[serde(default)]
    pub p99: Option<Duration>,
}

/// A failure of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    pub time: Timestamp,
    pub hook: Hook,
    /// As namespace/name.
    pub pod: String,
    pub message: String,
}

/// What is to be said of a registration file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    pub file: String,
    pub message: String,
}

/// What became of one field of a plugin's answer, or of the whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub time: Timestamp,
    pub namespace: String,
    pub pod: String,
    /// Empty if it is about the pod itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container: String,
    pub hook: Hook,
    /// The file's name without `.json`, or `<NodeHook>/<plugin>`.
    pub plugin: String,
    /// Digest of the NodeHook's revision; empty for a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// Commit that the revision comes from, if it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    pub outcome: Outcome,
    /// Empty if it is about the whole answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// Values of variables are hidden.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub old: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub new: String,
    /// Which plugin owns the field, or why the plugin failed or refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What became of a field, or of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Outcome {
    /// The field was changed.
    Changed,
    /// It would have been changed, if the plugin's mode were not Audit.
    Audited,
    /// The plugin's mask does not allow it.
    NotAllowed,
    /// Another plugin set the field before, and its value stays.
    Kept,
    /// Another plugin set the field before, and lost it to this one.
    Overruled,
    /// The plugin failed.
    Failed,
    /// The plugin refused the call.
    Refused,
}
