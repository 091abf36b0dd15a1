//! What containerd tells in the verbose part of a status: the configuration with which something was made, as JSON.

use std::collections::HashMap;

use serde::Deserialize;

use crate::message::cri::{HugepageLimit, LinuxContainerResources};

/// The verbose information of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodInfo {
    pub(super) config: PodConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodConfig {
    pub(super) linux: LinuxPodConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LinuxPodConfig {
    pub(super) cgroup_parent: String,
    pub(super) overhead: Option<Resources>,
    pub(super) resources: Option<Resources>,
}

/// The verbose information of a container.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContainerInfo {
    #[serde(rename = "sandboxID")]
    pub(super) sandbox_id: String,
    pub(super) config: ContainerConfig,
    #[serde(rename = "runtimeSpec")]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContainerConfig {
    pub(super) envs: Vec<Env>,
    linux: LinuxContainerConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Env {
    pub(super) key: String,
    pub(super) value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LinuxContainerConfig {
    resources: Option<Resources>,
}

/// Resources in the JSON of the CRI.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resources {
    cpu_period: i64,
    cpu_quota: i64,
    cpu_shares: i64,
    memory_limit_in_bytes: i64,
    oom_score_adj: i64,
    cpuset_cpus: String,
    cpuset_mems: String,
    hugepage_limits: Vec<Hugepage>,
    unified: HashMap<String, String>,
    memory_swap_limit_in_bytes: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hugepage {
    page_size: String,
    limit: u64,
}

/// The OCI's description of the container, which is changed with its resources.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    linux: Option<SpecLinux>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecLinux {
    resources: SpecResources,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecResources {
    cpu: SpecCpu,
    memory: SpecMemory,
    unified: HashMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecCpu {
    shares: i64,
    quota: i64,
    period: i64,
    cpus: String,
    mems: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SpecMemory {
    limit: i64,
    swap: i64,
}

impl From<Resources> for LinuxContainerResources {
    fn from(from: Resources) -> Self {
        let page = |page: Hugepage| HugepageLimit { page_size: page.page_size, limit: page.limit };
        Self {
            cpu_period: from.cpu_period,
            cpu_quota: from.cpu_quota,
            cpu_shares: from.cpu_shares,
            memory_limit_in_bytes: from.memory_limit_in_bytes,
            oom_score_adj: from.oom_score_adj,
            cpuset_cpus: from.cpuset_cpus,
            cpuset_mems: from.cpuset_mems,
            hugepage_limits: from.hugepage_limits.into_iter().map(page).collect(),
            unified: from.unified,
            memory_swap_limit_in_bytes: from.memory_swap_limit_in_bytes,
        }
    }
}

impl ContainerInfo {
    /// The resources as they are now: with those of its making, what was changed since counts.
    pub(super) fn resources(&mut self) -> Option<LinuxContainerResources> {
        let made: Option<LinuxContainerResources> = self.config.linux.resources.take().map(Into::into);
        let Some(SpecLinux { resources: SpecResources { cpu, memory, unified } }) = self.spec.linux.take() else {
            return made;
        };
        let made = made.unwrap_or_default();
        let number = |now: i64, made: i64| if now == 0 { made } else { now };
        let text = |now: String, made: String| if now.is_empty() { made } else { now };
        Some(LinuxContainerResources {
            cpu_period: number(cpu.period, made.cpu_period),
            cpu_quota: number(cpu.quota, made.cpu_quota),
            cpu_shares: number(cpu.shares, made.cpu_shares),
            memory_limit_in_bytes: number(memory.limit, made.memory_limit_in_bytes),
            memory_swap_limit_in_bytes: number(memory.swap, made.memory_swap_limit_in_bytes),
            cpuset_cpus: text(cpu.cpus, made.cpuset_cpus.clone()),
            cpuset_mems: text(cpu.mems, made.cpuset_mems.clone()),
            unified: made.unified.clone().into_iter().chain(unified).collect(),
            ..made
        })
    }
}

/// The verbose information under its usual key; nothing if the runtime has another shape for it.
pub(super) fn read<T: Default + for<'de> Deserialize<'de>>(info: &HashMap<String, String>) -> T {
    info.get("info").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_those_of_its_making_with_what_was_changed_since() {
        let text = r#"{"sandboxID": "p", "config": {"envs": [{"key": "A", "value": "b"}],
            "linux": {"resources": {"cpu_shares": 512, "oom_score_adj": 900, "cpuset_cpus": "0"}}},
            "runtimeSpec": {"process": {}, "linux": {"resources": {"cpu": {"shares": 1024}, "memory": {"limit": 5}}}}}"#;
        let mut info: ContainerInfo = read(&HashMap::from([("info".to_owned(), text.to_owned())]));
        let resources = info.resources().unwrap();
        assert_eq!((resources.cpu_shares, resources.memory_limit_in_bytes), (1024, 5));
        assert_eq!((resources.oom_score_adj, resources.cpuset_cpus.as_str()), (900, "0"));
        assert_eq!((info.sandbox_id.as_str(), info.config.envs[0].value.as_str()), ("p", "b"));
    }

    #[test]
    fn what_has_another_shape_says_nothing() {
        let info: PodInfo = read(&HashMap::from([("info".to_owned(), "[1]".to_owned())]));
        assert_eq!(info.config.linux.cgroup_parent, "");
    }
}
