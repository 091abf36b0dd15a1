//! Reeve's own hook protocol, `reeve.hook.v1`: the messages of `proto/hook.proto`.

use std::collections::HashMap;

use prost::{Enumeration, Message, Oneof};

use super::cri::LinuxContainerResources;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HookRequest {
    #[prost(string, tag = "1")]
    pub(crate) hook: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) pod: Option<Pod>,
    #[prost(message, optional, tag = "3")]
    pub(crate) container: Option<Container>,
}

/// Its resources have the numbers and the types of the CRI's.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Pod {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    #[prost(string, tag = "3")]
    pub(crate) namespace: String,
    #[prost(uint32, tag = "4")]
    pub(crate) attempt: u32,
    #[prost(string, tag = "5")]
    pub(crate) runtime_handler: String,
    #[prost(map = "string, string", tag = "6")]
    pub(crate) labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "7")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(string, tag = "8")]
    pub(crate) cgroup_parent: String,
    #[prost(message, optional, tag = "9")]
    pub(crate) overhead: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "10")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Container {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(uint32, tag = "3")]
    pub(crate) attempt: u32,
    #[prost(map = "string, string", tag = "4")]
    pub(crate) annotations: HashMap<String, String>,
    #[prost(map = "string, string", tag = "5")]
    pub(crate) envs: HashMap<String, String>,
    #[prost(message, optional, tag = "6")]
    pub(crate) resources: Option<LinuxContainerResources>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HookResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) deny: Option<Deny>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) changes: Vec<Change>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Deny {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Change {
    #[prost(enumeration = "ChangedField", tag = "1")]
    pub(crate) field: i32,
    #[prost(string, tag = "2")]
    pub(crate) key: String,
    #[prost(oneof = "ChangedValue", tags = "3, 4, 5")]
    pub(crate) value: Option<ChangedValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ChangedValue {
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(int64, tag = "4")]
    Number(i64),
    #[prost(uint64, tag = "5")]
    Size(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum ChangedField {
    Unspecified = 0,
    PodLabel = 1,
    PodAnnotation = 2,
    CgroupParent = 3,
    ContainerAnnotation = 4,
    Env = 5,
    CpuPeriod = 6,
    CpuQuota = 7,
    CpuShares = 8,
    MemoryLimit = 9,
    OomScoreAdj = 10,
    CpusetCpus = 11,
    CpusetMems = 12,
    MemorySwapLimit = 13,
    HugepageLimit = 14,
    Unified = 15,
}
