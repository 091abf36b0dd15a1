//! A plugin as it is registered: by a file with Koordinator's three fields and our own, which may be left out, or by a
//! NodeHook of the node's hook set.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::breaker::Limits;
use crate::hook::Hook;
use crate::hook_set::{self, Budget, Exempt, PodScope};
use crate::settings::{ConflictPolicy, FailurePolicy, Merge, Mode, Part, Protocol};
use crate::subject::Pod;

/// How long a plugin has by default.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Calls to one plugin at the same time, by default.
const CONCURRENCY: usize = 64;

/// Where a registration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file of this name.
    File(String),
    /// A plugin of a NodeHook, at a revision of which this is the digest.
    NodeHook { hook: String, plugin: String, revision: String },
}

/// What a plugin's part in one hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HookRule {
    pub(crate) policy: FailurePolicy,
    pub(crate) timeout: Duration,
}

/// A plugin as it is registered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Registration {
    /// The file's name without `.json`, or `<NodeHook>/<plugin>`.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) endpoint: PathBuf,
    pub(crate) protocol: Protocol,
    pub(crate) hooks: BTreeMap<Hook, HookRule>,
    pub(crate) merge: Merge,
    pub(crate) mode: Mode,
    pub(crate) conflicts: ConflictPolicy,
    /// What it may see; `None` means all.
    pub(crate) read: Option<Vec<Part>>,
    /// What it may change; `None` means all.
    pub(crate) write: Option<Vec<Part>>,
    /// Pods that it is asked about.
    pub(crate) pods: PodScope,
    /// Pods that start although it failed; `None` means those that the proxy's own flags name.
    pub(crate) exempt: Option<Exempt>,
    pub(crate) budget: Budget,
    pub(crate) peer_uid: u32,
    pub(crate) concurrency: usize,
    pub(crate) breaker: Limits,
}

impl Registration {
    pub(crate) fn may_read(&self, part: Part) -> bool {
        self.read.as_ref().is_none_or(|parts| parts.contains(&part))
    }

    pub(crate) fn may_write(&self, part: Part) -> bool {
        self.write.as_ref().is_none_or(|parts| parts.contains(&part))
    }

    /// Whether the pod is among those that it is for.
    pub(crate) fn is_for(&self, pod: &Pod) -> bool {
        let namespaces = &self.pods.namespaces;
        (namespaces.is_empty() || namespaces.contains(&pod.metadata.namespace))
            && self.pods.selector.matches(&pod.labels)
    }

    /// The plugins of one revision of a NodeHook.
    pub(crate) fn of_revision(hook: &str, revision: &hook_set::Revision) -> Vec<Self> {
        let digest = revision.digest();
        revision.plugins.iter().map(|plugin| Self::of_node_hook(hook, &digest, revision, plugin)).collect()
    }

    fn of_node_hook(hook: &str, digest: &str, revision: &hook_set::Revision, plugin: &hook_set::Plugin) -> Self {
        let rule = |rule: &hook_set::PluginHook| {
            // The API server refuses `Fail` there; a file may say anything.
            let is_open = rule.hook.is_post() || rule.hook.is_teardown();
            let policy = if is_open { FailurePolicy::Ignore } else { rule.failure_policy };
            (rule.hook, HookRule { policy, timeout: rule.timeout })
        };
        let is_spoken =
            |rule: &&hook_set::PluginHook| plugin.protocol == Protocol::Reeve || rule.hook.is_koordinators();
        Self {
            name: format!("{hook}/{}", plugin.name),
            origin: Origin::NodeHook {
                hook: hook.to_owned(),
                plugin: plugin.name.clone(),
                revision: digest.to_owned(),
            },
            endpoint: plugin.endpoint.clone(),
            protocol: plugin.protocol,
            hooks: plugin.hooks.iter().filter(is_spoken).map(rule).collect(),
            merge: plugin.merge,
            mode: plugin.mode,
            conflicts: revision.conflicts,
            read: Some(plugin.read.clone()),
            write: Some(plugin.write.clone()),
            pods: revision.pods.clone(),
            exempt: Some(revision.exempt.clone()),
            budget: revision.budget,
            peer_uid: plugin.peer_uid,
            concurrency: usize::try_from(plugin.concurrency).unwrap_or(CONCURRENCY).max(1),
            breaker: Limits { failures: plugin.breaker.failures.max(1), open_for: plugin.breaker.open_for },
        }
    }
}

/// A file cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum RegistrationError {
    #[error("not the JSON of a registration: {0}")]
    Json(String),
    #[error("remote-endpoint is {0:?}: write the absolute path of the plugin's unix socket")]
    Endpoint(String),
    #[error("runtime-hooks names none of the hooks that there are: {}", Hook::ALL.map(Hook::name).join(", "))]
    NoHooks,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    remote_endpoint: String,
    #[serde(default, deserialize_with = "or_default")]
    failure_policy: FailurePolicy,
    runtime_hooks: Vec<String>,
    #[serde(default)]
    protocol: Protocol,
    #[serde(default)]
    timeout_milliseconds: Option<u64>,
    #[serde(default)]
    merge: Merge,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    conflicts: ConflictPolicy,
    #[serde(default)]
    read: Option<Vec<Part>>,
    #[serde(default)]
    write: Option<Vec<Part>>,
    #[serde(default)]
    peer_uid: u32,
    #[serde(default)]
    concurrency: Option<usize>,
}

/// koordlet may write an empty policy, which means the default.
fn or_default<'de, D: Deserializer<'de>>(from: D) -> Result<FailurePolicy, D::Error> {
    let text = Option::<String>::deserialize(from)?.unwrap_or_default();
    match text.as_str() {
        "" | "Ignore" => Ok(FailurePolicy::Ignore),
        "Fail" => Ok(FailurePolicy::Fail),
        other => {
            Err(serde::de::Error::custom(format_args!("failure-policy is {other:?}: write \"Fail\" or \"Ignore\"")))
        }
    }
}

/// Reads a file, and says what in it is not taken as it is written.
pub(crate) fn parse(name: &str, text: &[u8]) -> Result<(Registration, Vec<String>), RegistrationError> {
    let file: File = serde_json::from_slice(text).map_err(|error| RegistrationError::Json(error.to_string()))?;
    let endpoint = PathBuf::from(file.remote_endpoint.strip_prefix("unix://").unwrap_or(&file.remote_endpoint));
    if !endpoint.is_absolute() {
        return Err(RegistrationError::Endpoint(file.remote_endpoint));
    }
    let timeout = file.timeout_milliseconds.map_or(TIMEOUT, Duration::from_millis);
    let (mut hooks, mut warnings) = (BTreeMap::new(), Vec::new());
    for hook_name in &file.runtime_hooks {
        let Some(hook) = Hook::find(hook_name) else {
            warnings.push(format!("hook {hook_name} is not known and is left out"));
            continue;
        };
        if file.protocol == Protocol::Koordinator && !hook.is_koordinators() {
            warnings.push(format!("hook {hook_name} is left out: write \"protocol\": \"Reeve\", which can say it"));
            continue;
        }
        let mut policy = file.failure_policy;
        if (hook.is_post() || hook.is_teardown()) && policy == FailurePolicy::Fail {
            warnings.push(format!(
                "failure-policy Fail counts as Ignore for {hook_name}: it must not keep what has ended from going away"
            ));
            policy = FailurePolicy::Ignore;
        }
        hooks.insert(hook, HookRule { policy, timeout });
    }
    if hooks.is_empty() {
        return Err(RegistrationError::NoHooks);
    }
    let registration = Registration {
        name: name.trim_end_matches("json").trim_end_matches('.').to_owned(),
        origin: Origin::File(name.to_owned()),
        endpoint,
        protocol: file.protocol,
        hooks,
        merge: file.merge,
        mode: file.mode,
        conflicts: file.conflicts,
        read: file.read,
        write: file.write,
        pods: PodScope::default(),
        exempt: None,
        budget: Budget::default(),
        peer_uid: file.peer_uid,
        concurrency: file.concurrency.unwrap_or(CONCURRENCY).max(1),
        breaker: Limits::default(),
    };
    Ok((registration, warnings))
}

#[cfg(test)]
mod tests;
