//! The CRI, `runtime.v1` and `runtime.v1alpha2` alike: they have the same wire format.

use std::collections::HashMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxMetadata {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    #[prost(string, tag = "3")]
    pub(crate) namespace: String,
    #[prost(uint32, tag = "4")]
    pub(crate) attempt: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxConfig {
    #[prost(message, optional, tag = "1")]
    pub(crate) metadata: Option<PodSandboxMetadata>,
    #[prost(map = "string, string", tag = "6")]
    pub(crate) labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "7")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub(crate) linux: Option<LinuxPodSandboxConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LinuxPodSandboxConfig {
    #[prost(string, tag = "1")]
    pub(crate) cgroup_parent: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) overhead: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "5")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

/// The same in the CRI and in Koordinator's protocol.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct LinuxContainerResources {
    #[prost(int64, tag = "1")]
    pub(crate) cpu_period: i64,
    #[prost(int64, tag = "2")]
    pub(crate) cpu_quota: i64,
    #[prost(int64, tag = "3")]
    pub(crate) cpu_shares: i64,
    #[prost(int64, tag = "4")]
    pub(crate) memory_limit_in_bytes: i64,
    #[prost(int64, tag = "5")]
    pub(crate) oom_score_adj: i64,
    #[prost(string, tag = "6")]
    pub(crate) cpuset_cpus: String,
    #[prost(string, tag = "7")]
    pub(crate) cpuset_mems: String,
    #[prost(message, repeated, tag = "8")]
    pub(crate) hugepage_limits: Vec<HugepageLimit>,
    #[prost(map = "string, string", tag = "9")]
    pub(crate) unified: HashMap<String, String>,
    #[prost(int64, tag = "10")]
    pub(crate) memory_swap_limit_in_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HugepageLimit {
    #[prost(string, tag = "1")]
    pub(crate) page_size: String,
    #[prost(uint64, tag = "2")]
    pub(crate) limit: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RunPodSandboxRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) config: Option<PodSandboxConfig>,
    #[prost(string, tag = "2")]
    pub(crate) runtime_handler: String,
}

/// `RunPodSandboxResponse`, and the request of `StopPodSandbox` and `RemovePodSandbox`: a pod's id comes first in all.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodId {
    #[prost(string, tag = "1")]
    pub(crate) pod_sandbox_id: String,
}

/// `CreateContainerResponse`, and the request of `StartContainer`, `StopContainer` and `RemoveContainer`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerId {
    #[prost(string, tag = "1")]
    pub(crate) container_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CreateContainerRequest {
    #[prost(string, tag = "1")]
    pub(crate) pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<ContainerConfig>,
    #[prost(message, optional, tag = "3")]
    pub(crate) sandbox_config: Option<PodSandboxConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub(crate) metadata: Option<ContainerMetadata>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) envs: Vec<KeyValue>,
    #[prost(map = "string, string", tag = "10")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "15")]
    pub(crate) linux: Option<LinuxContainerConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerMetadata {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(uint32, tag = "2")]
    pub(crate) attempt: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LinuxContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

/// A variable of the environment. Newer kubelets send values that need not be text.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateContainerResourcesRequest {
    #[prost(string, tag = "1")]
    pub(crate) container_id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) linux: Option<LinuxContainerResources>,
    #[prost(map = "string, string", tag = "4")]
    pub(crate) annotations: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdatePodSandboxResourcesRequest {
    #[prost(string, tag = "1")]
    pub(crate) pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) overhead: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "3")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct VersionResponse {
    #[prost(string, tag = "2")]
    pub(crate) runtime_name: String,
    #[prost(string, tag = "3")]
    pub(crate) runtime_version: String,
}

/// The request of `PodSandboxStatus` and `ContainerStatus`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatusRequest {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(bool, tag = "2")]
    pub(crate) verbose: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<PodSandboxStatus>,
    #[prost(map = "string, string", tag = "2")]
    pub(crate) info: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxStatus {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) metadata: Option<PodSandboxMetadata>,
    #[prost(map = "string, string", tag = "7")]
    pub(crate) labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "8")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(string, tag = "9")]
    pub(crate) runtime_handler: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<ContainerStatus>,
    #[prost(map = "string, string", tag = "2")]
    pub(crate) info: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerStatus {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) metadata: Option<ContainerMetadata>,
    #[prost(map = "string, string", tag = "13")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "16")]
    pub(crate) resources: Option<ContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerResources {
    #[prost(message, optional, tag = "1")]
    pub(crate) linux: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListContainersRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) filter: Option<ContainerId>,
}

/// `ListContainersRequest` with another field of its filter.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListRunningRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) filter: Option<ContainerFilter>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerFilter {
    #[prost(message, optional, tag = "2")]
    pub(crate) state: Option<StateValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StateValue {
    #[prost(int32, tag = "1")]
    pub(crate) state: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListContainersResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) containers: Vec<ListedContainer>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListedContainer {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) pod_sandbox_id: String,
}

/// An answer of which nothing is read.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}
