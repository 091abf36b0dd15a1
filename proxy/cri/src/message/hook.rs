//! Koordinator's hook protocol, `runtime.v1alpha1.RuntimeHookService`.

use std::collections::HashMap;

use prost::Message;

use super::cri::LinuxContainerResources;
pub(crate) use super::cri::PodSandboxMetadata;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxHookRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) pod_meta: Option<PodSandboxMetadata>,
    #[prost(string, tag = "2")]
    pub(crate) runtime_handler: String,
    #[prost(map = "string, string", tag = "3")]
    pub(crate) labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "4")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(string, tag = "5")]
    pub(crate) cgroup_parent: String,
    #[prost(message, optional, tag = "6")]
    pub(crate) overhead: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "7")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PodSandboxHookResponse {
    #[prost(map = "string, string", tag = "1")]
    pub(crate) labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "2")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(string, tag = "3")]
    pub(crate) cgroup_parent: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerMetadata {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(uint32, tag = "2")]
    pub(crate) attempt: u32,
    #[prost(string, tag = "3")]
    pub(crate) id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerResourceHookRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) pod_meta: Option<PodSandboxMetadata>,
    #[prost(message, optional, tag = "2")]
    pub(crate) container_meta: Option<ContainerMetadata>,
    #[prost(map = "string, string", tag = "3")]
    pub(crate) container_annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "4")]
    pub(crate) container_resources: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "5")]
    pub(crate) pod_resources: Option<LinuxContainerResources>,
    #[prost(map = "string, string", tag = "6")]
    pub(crate) pod_annotations: HashMap<String, String>,
    #[prost(map = "string, string", tag = "7")]
    pub(crate) pod_labels: HashMap<String, String>,
    #[prost(string, tag = "8")]
    pub(crate) pod_cgroup_parent: String,
    #[prost(map = "string, string", tag = "9")]
    pub(crate) container_envs: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContainerResourceHookResponse {
    #[prost(map = "string, string", tag = "1")]
    pub(crate) container_annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "2")]
    pub(crate) container_resources: Option<LinuxContainerResources>,
    #[prost(string, tag = "3")]
    pub(crate) pod_cgroup_parent: String,
    #[prost(map = "string, string", tag = "4")]
    pub(crate) container_envs: HashMap<String, String>,
}
