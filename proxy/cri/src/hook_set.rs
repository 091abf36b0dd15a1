//! The hook set of a node: what its NodeHooks say, as a file that `reeve-cri-feed` writes and the proxy reads.
//!
//! Owns the format. Which NodeHooks a node gets, and what is last good, is decided by the feed.

use std::path::PathBuf;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hook::Hook;
use crate::selector::Selector;
use crate::settings::{ConflictPolicy, FailurePolicy, Merge, Mode, Part, Protocol};

mod milliseconds;

/// The version of the format that this program reads and writes.
pub const FORMAT: u32 = 1;

/// All hooks that a node has from NodeHooks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSet {
    pub format: u32,
    /// In the order in which their plugins are asked.
    pub hooks: Vec<NodeHook>,
}

/// One NodeHook on this node.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeHook {
    pub name: String,
    pub generation: i64,
    pub order: i32,
    /// Percent of the pods that get `current`; the others get `last_good`.
    pub percent: u8,
    pub limits: Limits,
    /// How many running containers are updated in a minute when `current` changes; without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates_per_minute: Option<u32>,
    pub current: Revision,
    /// Commit that `current` comes from, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether `current` has proven itself.
    pub good: bool,
    /// Why all pods get `last_good` instead of `current`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Revision>,
    /// Commit that `last_good` comes from, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good_commit: Option<String>,
}

/// What a revision must stay within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// 0 means no limit.
    pub max_failure_percent: u8,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "milliseconds::optional")]
    pub max_latency: Option<Duration>,
}

/// What plugins may do to which pods.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revision {
    pub plugins: Vec<Plugin>,
    pub conflicts: ConflictPolicy,
    pub pods: PodScope,
    pub exempt: Exempt,
    pub budget: Budget,
}

/// Pods that hooks are for. Empty means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodScope {
    #[serde(default)]
    pub namespaces: Vec<String>,
    #[serde(default)]
    pub selector: Selector,
}

/// Pods that start although a plugin failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exempt {
    pub namespaces: Vec<String>,
    pub static_pods: bool,
}

/// How much of a call's time all plugins together may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Of the time that the caller has left.
    pub percent: u8,
    #[serde(with = "milliseconds")]
    pub max: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { percent: 25, max: Duration::from_secs(10) }
    }
}

/// A plugin of a NodeHook.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plugin {
    pub name: String,
    pub endpoint: PathBuf,
    pub peer_uid: u32,
    pub protocol: Protocol,
    pub mode: Mode,
    pub hooks: Vec<PluginHook>,
    pub merge: Merge,
    pub read: Vec<Part>,
    pub write: Vec<Part>,
    pub concurrency: u32,
    pub breaker: Breaker,
}

/// A call on which a plugin is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginHook {
    pub hook: Hook,
    pub failure_policy: FailurePolicy,
    #[serde(with = "milliseconds")]
    pub timeout: Duration,
}

/// When to stop asking a plugin that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breaker {
    pub failures: u32,
    #[serde(with = "milliseconds")]
    pub open_for: Duration,
}

/// A file is no hook set.
#[derive(Debug, thiserror::Error)]
pub enum HookSetError {
    #[error("not the JSON of a hook set")]
    Json(#[source] serde_json::Error),
    #[error("of format {0}: this version reads format {FORMAT}")]
    Format(u32),
}

impl Default for HookSet {
    fn default() -> Self {
        Self { format: FORMAT, hooks: Vec::new() }
    }
}

impl HookSet {
    pub fn parse(text: &[u8]) -> Result<Self, HookSetError> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_slice(text).map_err(HookSetError::Json)?;
        if format != FORMAT {
            return Err(HookSetError::Format(format));
        }
        serde_json::from_slice(text).map_err(HookSetError::Json)
    }

    /// The text of the file.
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Equal on nodes with equal hooks, wherever their canaries stand.
    pub fn digest(&self) -> String {
        let content: Vec<_> = self.hooks.iter().map(|hook| (&hook.name, hook.order, &hook.current)).collect();
        digest(&content)
    }
}

impl Revision {
    /// Its name.
    pub fn digest(&self) -> String {
        digest(self)
    }
}

fn digest(content: &impl Serialize) -> String {
    let text = serde_json::to_vec(content).unwrap_or_default();
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(text)[..16]))
}

#[cfg(test)]
pub(crate) mod tests;
