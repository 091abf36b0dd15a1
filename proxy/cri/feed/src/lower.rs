//! A NodeHook in the words of the node's hook set. Pure.

use std::time::Duration;

use kube::ResourceExt;
use reeve_crds::node_hook::plugin::{self as kind, HookType};
use reeve_crds::node_hook::{ConflictPolicy as Conflicts, NodeHook, OnChange};
use reeve_crds::{Operator as KindOperator, Selector as KindSelector};
use reeve_proxy_cri::hook::Hook;
use reeve_proxy_cri::hook_set::{Breaker, Budget, Exempt, Limits, Plugin, PluginHook, PodScope, Revision};
use reeve_proxy_cri::selector::{Operator, Requirement, Selector};
use reeve_proxy_cri::settings::{ConflictPolicy, FailurePolicy, Merge, Mode, Part, Protocol};

/// A NodeHook as a node wants it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) order: i32,
    pub(crate) percent: u8,
    pub(crate) limits: Limits,
    pub(crate) updates_per_minute: Option<u32>,
    pub(crate) revision: Revision,
    /// Commit that this generation comes from, once the leader has found it.
    pub(crate) commit: Option<String>,
}

pub(crate) fn node_hook(hook: &NodeHook) -> Wanted {
    let (spec, canary) = (&hook.spec, &hook.spec.canary);
    let running = &spec.running_containers;
    Wanted {
        name: hook.name_any(),
        generation: hook.metadata.generation.unwrap_or_default(),
        order: spec.order,
        percent: percent(canary.percent),
        limits: Limits {
            max_failure_percent: percent(canary.max_failure_percent),
            max_latency: canary.max_latency.map(Duration::from),
        },
        updates_per_minute: match running.on_change {
            OnChange::Leave => None,
            OnChange::Update => Some(whole(running.updates_per_minute)),
        },
        revision: Revision {
            plugins: spec.plugins.iter().map(plugin).collect(),
            conflicts: match spec.conflicts {
                Conflicts::Fail => ConflictPolicy::Fail,
                Conflicts::First => ConflictPolicy::First,
                Conflicts::Last => ConflictPolicy::Last,
            },
            pods: spec.pods.as_ref().map_or_else(PodScope::default, |pods| PodScope {
                namespaces: pods.namespaces.clone(),
                selector: pods.selector.as_ref().map(selector).unwrap_or_default(),
            }),
            exempt: Exempt { namespaces: spec.exempt.namespaces.clone(), static_pods: spec.exempt.static_pods },
            budget: Budget { percent: percent(spec.budget.percent), max: spec.budget.max.into() },
        },
        commit: commit(hook),
    }
}

/// Git revision that the object's content comes from, as far as the leader has found it.
pub(crate) fn commit(hook: &NodeHook) -> Option<String> {
    let status = hook.status.as_ref()?;
    status.revision.clone().filter(|_| status.observed_generation == hook.metadata.generation)
}

pub(crate) fn selector(selector: &KindSelector) -> Selector {
    let requirement = |requirement: &reeve_crds::Requirement| Requirement {
        key: requirement.key.clone(),
        operator: match requirement.operator {
            KindOperator::In => Operator::In,
            KindOperator::NotIn => Operator::NotIn,
            KindOperator::Exists => Operator::Exists,
            KindOperator::DoesNotExist => Operator::DoesNotExist,
        },
        values: requirement.values.clone(),
    };
    Selector {
        labels: selector.match_labels.clone(),
        requirements: selector.match_expressions.iter().map(requirement).collect(),
    }
}

fn plugin(plugin: &kind::Plugin) -> Plugin {
    Plugin {
        name: plugin.name.clone(),
        endpoint: plugin.endpoint.clone().into(),
        // The schema allows no other; nobody has the largest.
        peer_uid: u32::try_from(plugin.peer_uid).unwrap_or(u32::MAX),
        protocol: match plugin.protocol {
            kind::Protocol::Koordinator => Protocol::Koordinator,
            kind::Protocol::Reeve => Protocol::Reeve,
        },
        mode: match plugin.mode {
            kind::PluginMode::Enforce => Mode::Enforce,
            kind::PluginMode::Audit => Mode::Audit,
        },
        hooks: plugin.hooks.iter().map(plugin_hook).collect(),
        merge: match plugin.merge {
            kind::Merge::Sparse => Merge::Sparse,
            kind::Merge::Echo => Merge::Echo,
        },
        read: plugin.read.iter().copied().map(part).collect(),
        write: plugin.write.iter().copied().map(part).collect(),
        concurrency: whole(plugin.concurrency),
        breaker: Breaker {
            failures: whole(plugin.circuit_breaker.failures),
            open_for: plugin.circuit_breaker.open_for.into(),
        },
    }
}

fn plugin_hook(rule: &kind::Hook) -> PluginHook {
    PluginHook {
        hook: hook(rule.kind),
        failure_policy: match rule.failure_policy {
            kind::FailurePolicy::Ignore => FailurePolicy::Ignore,
            kind::FailurePolicy::Fail => FailurePolicy::Fail,
        },
        timeout: rule.timeout.into(),
    }
}

fn hook(kind: HookType) -> Hook {
    match kind {
        HookType::PreRunPodSandbox => Hook::PreRunPodSandbox,
        HookType::PostStopPodSandbox => Hook::PostStopPodSandbox,
        HookType::PreCreateContainer => Hook::PreCreateContainer,
        HookType::PreStartContainer => Hook::PreStartContainer,
        HookType::PostStartContainer => Hook::PostStartContainer,
        HookType::PostStopContainer => Hook::PostStopContainer,
        HookType::PreUpdateContainerResources => Hook::PreUpdateContainerResources,
        HookType::PreUpdatePodSandboxResources => Hook::PreUpdatePodSandboxResources,
        HookType::PreRemovePodSandbox => Hook::PreRemovePodSandbox,
        HookType::PostRemovePodSandbox => Hook::PostRemovePodSandbox,
        HookType::PostRemoveContainer => Hook::PostRemoveContainer,
    }
}

/// The same hook in the kind's words.
pub(crate) fn hook_type(hook: Hook) -> HookType {
    match hook {
        Hook::PreRunPodSandbox => HookType::PreRunPodSandbox,
        Hook::PostStopPodSandbox => HookType::PostStopPodSandbox,
        Hook::PreCreateContainer => HookType::PreCreateContainer,
        Hook::PreStartContainer => HookType::PreStartContainer,
        Hook::PostStartContainer => HookType::PostStartContainer,
        Hook::PostStopContainer => HookType::PostStopContainer,
        Hook::PreUpdateContainerResources => HookType::PreUpdateContainerResources,
        Hook::PreUpdatePodSandboxResources => HookType::PreUpdatePodSandboxResources,
        Hook::PreRemovePodSandbox => HookType::PreRemovePodSandbox,
        Hook::PostRemovePodSandbox => HookType::PostRemovePodSandbox,
        Hook::PostRemoveContainer => HookType::PostRemoveContainer,
    }
}

fn part(field: kind::Field) -> Part {
    match field {
        kind::Field::PodLabels => Part::PodLabels,
        kind::Field::PodAnnotations => Part::PodAnnotations,
        kind::Field::CgroupParent => Part::CgroupParent,
        kind::Field::ContainerAnnotations => Part::ContainerAnnotations,
        kind::Field::EnvNames => Part::EnvNames,
        kind::Field::EnvValues => Part::EnvValues,
        kind::Field::CpuPeriod => Part::CpuPeriod,
        kind::Field::CpuQuota => Part::CpuQuota,
        kind::Field::CpuShares => Part::CpuShares,
        kind::Field::CpusetCpus => Part::CpusetCpus,
        kind::Field::CpusetMems => Part::CpusetMems,
        kind::Field::MemoryLimit => Part::MemoryLimit,
        kind::Field::MemorySwapLimit => Part::MemorySwapLimit,
        kind::Field::OomScoreAdj => Part::OomScoreAdj,
        kind::Field::HugepageLimits => Part::HugepageLimits,
        kind::Field::Unified => Part::Unified,
    }
}

/// The schema keeps it within 0 and 100.
fn percent(percent: i32) -> u8 {
    u8::try_from(percent.clamp(0, 100)).unwrap_or_default()
}

/// The schema keeps it positive.
fn whole(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
