//! What a registration file says: Koordinator's three fields, and our own, which may be left out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::breaker::Limits;
use crate::field::Field;
use crate::hook::Hook;

/// How long a plugin has by default.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Calls to one plugin at the same time, by default.
const CONCURRENCY: usize = 64;

/// What it means if a plugin fails. A refusal is no failure: it counts under either policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum FailurePolicy {
    /// The call goes on as if the plugin had not been asked.
    #[default]
    Ignore,
    /// The call is refused, also when the plugin is absent.
    Fail,
}

/// What an empty field in an answer means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Merge {
    /// The plugin repeats what it was shown, as koordlet does: an emptied cpuset is cleared.
    #[default]
    Echo,
    /// No opinion.
    Sparse,
}

/// What happens when a plugin changes a field that an earlier one has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum ConflictPolicy {
    /// The later plugin has failed; its failure policy decides.
    Fail,
    /// The earlier plugin's value stays.
    First,
    /// The later plugin's value counts.
    #[default]
    Last,
}

/// Whether a plugin's answers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Mode {
    #[default]
    Enforce,
    /// It is asked, and what it would have done is logged and counted.
    Audit,
}

/// A part of a pod or container that a plugin may see or change.
/// The same words as in the kind `NodeHook`, whose crate has an API client that this binary must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Part {
    PodLabels,
    PodAnnotations,
    CgroupParent,
    ContainerAnnotations,
    EnvNames,
    EnvValues,
    CpuPeriod,
    CpuQuota,
    CpuShares,
    CpusetCpus,
    CpusetMems,
    MemoryLimit,
    MemorySwapLimit,
    OomScoreAdj,
    HugepageLimits,
    Unified,
}

impl Part {
    pub(crate) fn of(field: &Field) -> Self {
        match field {
            Field::PodLabel(_) => Part::PodLabels,
            Field::PodAnnotation(_) => Part::PodAnnotations,
            Field::CgroupParent => Part::CgroupParent,
            Field::ContainerAnnotation(_) => Part::ContainerAnnotations,
            Field::Env(_) => Part::EnvValues,
            Field::CpuPeriod => Part::CpuPeriod,
            Field::CpuQuota => Part::CpuQuota,
            Field::CpuShares => Part::CpuShares,
            Field::CpusetCpus => Part::CpusetCpus,
            Field::CpusetMems => Part::CpusetMems,
            Field::MemoryLimit => Part::MemoryLimit,
            Field::MemorySwapLimit => Part::MemorySwapLimit,
            Field::OomScoreAdj => Part::OomScoreAdj,
            Field::HugepageLimit(_) => Part::HugepageLimits,
            Field::Unified(_) => Part::Unified,
        }
    }
}

/// A plugin as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Registration {
    /// The file's name without `.json`.
    pub(crate) name: String,
    pub(crate) endpoint: PathBuf,
    pub(crate) hooks: BTreeMap<Hook, FailurePolicy>,
    pub(crate) timeout: Duration,
    pub(crate) merge: Merge,
    pub(crate) mode: Mode,
    pub(crate) conflicts: ConflictPolicy,
    /// What it may see; `None` means all.
    pub(crate) read: Option<Vec<Part>>,
    /// What it may change; `None` means all.
    pub(crate) write: Option<Vec<Part>>,
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
    let (mut hooks, mut warnings) = (BTreeMap::new(), Vec::new());
    for hook_name in &file.runtime_hooks {
        let Some(hook) = Hook::find(hook_name) else {
            warnings.push(format!("hook {hook_name} is not known and is left out"));
            continue;
        };
        let mut policy = file.failure_policy;
        if hook.is_post() && policy == FailurePolicy::Fail {
            warnings.push(format!("failure-policy Fail counts as Ignore for {hook_name}: the call is over by then"));
            policy = FailurePolicy::Ignore;
        }
        hooks.insert(hook, policy);
    }
    if hooks.is_empty() {
        return Err(RegistrationError::NoHooks);
    }
    let registration = Registration {
        name: name.trim_end_matches("json").trim_end_matches('.').to_owned(),
        endpoint,
        hooks,
        timeout: file.timeout_milliseconds.map_or(TIMEOUT, Duration::from_millis),
        merge: file.merge,
        mode: file.mode,
        conflicts: file.conflicts,
        read: file.read,
        write: file.write,
        peer_uid: file.peer_uid,
        concurrency: file.concurrency.unwrap_or(CONCURRENCY).max(1),
        breaker: Limits::default(),
    };
    Ok((registration, warnings))
}

#[cfg(test)]
mod tests;
