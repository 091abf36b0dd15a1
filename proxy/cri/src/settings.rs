//! What a plugin may do and what its failure means, in the words of the kind `NodeHook`, whose crate has an API client that
//! this binary must not have.

use serde::{Deserialize, Serialize};

use crate::field::Field;

/// What it means if a plugin fails. A refusal is no failure: it counts under either policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum FailurePolicy {
    /// The call goes on as if the plugin had not been asked.
    #[default]
    Ignore,
    /// The call is refused, also when the plugin is absent.
    Fail,
}

/// What an empty field in an answer means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Merge {
    /// The plugin repeats what it was shown, as koordlet does: an emptied cpuset is cleared.
    #[default]
    Echo,
    /// No opinion.
    Sparse,
}

/// What happens when a plugin changes a field that an earlier one has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum ConflictPolicy {
    /// The later plugin has failed; its failure policy decides.
    #[default]
    Fail,
    /// The earlier plugin's value stays.
    First,
    /// The later plugin's value counts.
    Last,
}

/// Whether a plugin's answers count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// It is asked, and what it would have done is logged and counted.
    Audit,
}

/// What a plugin speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Protocol {
    /// `runtime.v1alpha1.RuntimeHookService`.
    #[default]
    Koordinator,
    /// `reeve.hook.v1.HookService`.
    Reeve,
}

/// A part of a pod or container that a plugin may see or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Part {
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
