//! One plugin: where it listens, on which calls it is asked, what it may see and change, and what its failure means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{LABEL, closed_set, label_rule, rule};

/// A plugin on the node.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "self.protocol == 'Reeve' || self.hooks.all(hook, !(hook.type in ['PreUpdatePodSandboxResources', 'PreRemovePodSandbox', 'PostRemovePodSandbox', 'PostRemoveContainer']))",
        "write protocol: Reeve: Koordinator's protocol knows only PreRunPodSandbox, PostStopPodSandbox, PreCreateContainer, PreStartContainer, PostStartContainer, PostStopContainer and PreUpdateContainerResources",
    ),
    rule(
        "self.mode != 'Audit' || self.hooks.all(hook, hook.failurePolicy == 'Ignore')",
        "write failurePolicy: Ignore on all hooks of a plugin in mode Audit: it is only listened to",
    ),
]))]
pub struct Plugin {
    /// Name of the plugin, unique in this NodeHook.
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub name: String,
    /// Unix socket on the node at which the plugin listens, such as /var/run/koordlet/koordlet.sock.
    #[schemars(
        length(max = 107),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^(/[A-Za-z0-9_.@-]+)+$') && !self.matches('/[.][.]?(/|$)')",
            "write the absolute path of a unix socket without unix:// and without . or .., such as /var/run/koordlet/koordlet.sock",
        )])
    )]
    pub endpoint: String,
    /// User id that must own the other end of the socket; anyone else is not asked.
    #[serde(default, rename = "peerUID")]
    #[schemars(range(min = 0, max = 4_294_967_294_i64))]
    pub peer_uid: i64,
    /// What the plugin speaks.
    #[serde(default)]
    pub protocol: Protocol,
    /// Whether its answers count.
    #[serde(default)]
    pub mode: PluginMode,
    /// Calls on which the plugin is asked.
    #[schemars(
        length(min = 1, max = 16),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["type"],
            "x-kubernetes-validations" = [
                rule(
                    "self.all(hook, hook.failurePolicy != 'Fail' || !(hook.type in ['PostStopContainer', 'PostStopPodSandbox', 'PreRemovePodSandbox', 'PostRemovePodSandbox', 'PostRemoveContainer']))",
                    "write failurePolicy: Ignore on hooks that stop or remove: with Fail a broken plugin would keep pods from ever going away",
                ),
                rule(
                    "self.all(hook, hook.failurePolicy != 'Fail' || hook.type != 'PostStartContainer')",
                    "write failurePolicy: Ignore on PostStartContainer: the container runs already, there is nothing left to refuse",
                ),
            ]
        )
    )]
    pub hooks: Vec<Hook>,
    /// What an empty field in an answer means.
    #[serde(default)]
    pub merge: Merge,
    /// What the plugin gets to see. The rest reaches it empty. Names of variables and their values are apart, so that
    /// secrets in values need not be shown.
    #[serde(default = "default_read")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "set"))]
    pub read: Vec<Field>,
    /// What the plugin may change. Empty means nothing: it may look and refuse. A change of anything else is not made, and
    /// counted in the node's status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "set", "x-kubernetes-validations" = [rule(
            "!('EnvNames' in self)",
            "write EnvValues instead of EnvNames: who may change variables changes their values",
        )])
    )]
    pub write: Vec<Field>,
    /// How many calls to the plugin may be under way on one node. Further ones wait, within their time.
    #[serde(default = "default_concurrency")]
    #[schemars(range(min = 1, max = 1000))]
    pub concurrency: i32,
    /// When to stop asking a plugin that fails.
    #[serde(default)]
    pub circuit_breaker: CircuitBreaker,
}

/// What a plugin speaks.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Protocol {
    /// runtime.v1alpha1.RuntimeHookService, as koordlet does.
    #[default]
    Koordinator,
    /// reeve.hook.v1, which can also delete, deny and tell unset from zero.
    Reeve,
}

/// Whether a plugin's answers count.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum PluginMode {
    /// its changes are made.
    #[default]
    Enforce,
    /// it is asked, and what it would have changed is counted; nothing is changed or refused.
    Audit,
}

/// A call on which a plugin is asked.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// Which call, before or after it.
    #[serde(rename = "type")]
    pub kind: HookType,
    /// What it means if the plugin fails. A plugin that refuses with PERMISSION_DENIED or FAILED_PRECONDITION has not
    /// failed: its word counts either way.
    #[serde(default)]
    pub failure_policy: FailurePolicy,
    /// How long the plugin has; never more than is left of the budget.
    #[serde(default = "default_timeout")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("10ms", "10s")))]
    pub timeout: Duration,
}

/// Which call, before or after it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum HookType {
    /// before a pod is made.
    PreRunPodSandbox,
    /// after a pod was stopped.
    PostStopPodSandbox,
    /// before a container is made.
    PreCreateContainer,
    /// before a container starts.
    PreStartContainer,
    /// after a container started.
    PostStartContainer,
    /// after a container stopped, also by itself.
    PostStopContainer,
    /// before a running container's resources change.
    PreUpdateContainerResources,
    /// before a running pod's resources change. Protocol Reeve only.
    PreUpdatePodSandboxResources,
    /// before a pod is removed. Protocol Reeve only.
    PreRemovePodSandbox,
    /// after a pod was removed. Protocol Reeve only.
    PostRemovePodSandbox,
    /// after a container was removed. Protocol Reeve only.
    PostRemoveContainer,
}

/// What it means if a plugin fails.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum FailurePolicy {
    /// the call goes on as if the plugin had not been asked.
    #[default]
    Ignore,
    /// the call is refused, also when the plugin is absent.
    Fail,
}

/// What an empty field in an answer means.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Merge {
    /// no opinion.
    #[default]
    Sparse,
    /// the plugin repeats what it was shown, as koordlet does: an emptied cpuset is cleared.
    Echo,
}

/// A part of a pod or container that a plugin may see or change.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Field {
    /// labels of the pod.
    PodLabels,
    /// annotations of the pod.
    PodAnnotations,
    /// cgroup parent of the pod.
    CgroupParent,
    /// annotations of the container.
    ContainerAnnotations,
    /// names of the container's environment variables.
    EnvNames,
    /// names and values of the container's environment variables.
    EnvValues,
    /// CPU period.
    CpuPeriod,
    /// CPU quota.
    CpuQuota,
    /// CPU shares.
    CpuShares,
    /// CPUs that it may run on.
    CpusetCpus,
    /// memory nodes that it may use.
    CpusetMems,
    /// memory limit.
    MemoryLimit,
    /// memory and swap limit.
    MemorySwapLimit,
    /// how early the kernel ends it when memory is short.
    OomScoreAdj,
    /// limits of huge pages.
    HugepageLimits,
    /// cgroup v2 settings.
    Unified,
}

/// When to stop asking a plugin that fails.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CircuitBreaker {
    /// After how many failures in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub failures: i32,
    /// How long it is not asked; then one call tries it again. Meanwhile each hook's failure policy decides.
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "1h")))]
    pub open_for: Duration,
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self { failures: 5, open_for: Duration::from_secs(30) }
    }
}

fn default_read() -> Vec<Field> {
    use Field::{
        CgroupParent, ContainerAnnotations, CpuPeriod, CpuQuota, CpuShares, CpusetCpus, CpusetMems, EnvNames,
        HugepageLimits, MemoryLimit, MemorySwapLimit, OomScoreAdj, PodAnnotations, PodLabels, Unified,
    };
    vec![
        PodLabels,
        PodAnnotations,
        CgroupParent,
        ContainerAnnotations,
        EnvNames,
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
    ]
}

fn default_concurrency() -> i32 {
    64
}

fn default_timeout() -> Duration {
    Duration::from_secs(2)
}
