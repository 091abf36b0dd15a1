//! Reeve's own hook protocol, `reeve.hook.v1`: the messages of `proto/hook.proto`, for the proxy and for plugins in Rust.

use std::collections::HashMap;

use prost::{Enumeration, Message, Oneof};

/// The one method.
pub const METHOD: &str = "/reeve.hook.v1.HookService/Hook";

/// A question before a call, or news of one that is over.
#[derive(Clone, PartialEq, Message)]
pub struct HookRequest {
    #[prost(string, tag = "1")]
    pub hook: String,
    #[prost(message, optional, tag = "2")]
    pub pod: Option<Pod>,
    #[prost(message, optional, tag = "3")]
    pub container: Option<Container>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Pod {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub uid: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(uint32, tag = "4")]
    pub attempt: u32,
    #[prost(string, tag = "5")]
    pub runtime_handler: String,
    #[prost(map = "string, string", tag = "6")]
    pub labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "7")]
    pub annotations: HashMap<String, String>,
    #[prost(string, tag = "8")]
    pub cgroup_parent: String,
    #[prost(message, optional, tag = "9")]
    pub overhead: Option<Resources>,
    #[prost(message, optional, tag = "10")]
    pub resources: Option<Resources>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Container {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(uint32, tag = "3")]
    pub attempt: u32,
    #[prost(map = "string, string", tag = "4")]
    pub annotations: HashMap<String, String>,
    #[prost(map = "string, string", tag = "5")]
    pub envs: HashMap<String, String>,
    #[prost(message, optional, tag = "6")]
    pub resources: Option<Resources>,
}

/// What is absent is not set. Numbers and types are those of the CRI's `LinuxContainerResources`.
#[derive(Clone, PartialEq, Message)]
pub struct Resources {
    #[prost(int64, optional, tag = "1")]
    pub cpu_period: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub cpu_quota: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    pub cpu_shares: Option<i64>,
    #[prost(int64, optional, tag = "4")]
    pub memory_limit_in_bytes: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    pub oom_score_adj: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub cpuset_cpus: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub cpuset_mems: Option<String>,
    #[prost(message, repeated, tag = "8")]
    pub hugepage_limits: Vec<HugepageLimit>,
    #[prost(map = "string, string", tag = "9")]
    pub unified: HashMap<String, String>,
    #[prost(int64, optional, tag = "10")]
    pub memory_swap_limit_in_bytes: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct HugepageLimit {
    #[prost(string, tag = "1")]
    pub page_size: String,
    #[prost(uint64, tag = "2")]
    pub limit: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct HookResponse {
    #[prost(message, optional, tag = "1")]
    pub deny: Option<Deny>,
    #[prost(message, repeated, tag = "2")]
    pub changes: Vec<Change>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Deny {
    #[prost(string, tag = "1")]
    pub reason: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Change {
    #[prost(enumeration = "ChangedField", tag = "1")]
    pub field: i32,
    #[prost(string, tag = "2")]
    pub key: String,
    #[prost(oneof = "ChangedValue", tags = "3, 4, 5")]
    pub value: Option<ChangedValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ChangedValue {
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(int64, tag = "4")]
    Number(i64),
    #[prost(uint64, tag = "5")]
    Size(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum ChangedField {
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
