//! The points of a pod's life at which plugins are asked.

use serde::{Deserialize, Serialize};

/// When a plugin is asked. The names are those of Koordinator's registration files, and of the kind `NodeHook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub enum Hook {
    PreRunPodSandbox,
    PostStopPodSandbox,
    PreCreateContainer,
    PreStartContainer,
    PostStartContainer,
    PostStopContainer,
    PreUpdateContainerResources,
    PreUpdatePodSandboxResources,
    PreRemovePodSandbox,
    PostRemovePodSandbox,
    PostRemoveContainer,
}

impl Hook {
    pub const ALL: [Hook; 11] = [
        Hook::PreRunPodSandbox,
        Hook::PostStopPodSandbox,
        Hook::PreCreateContainer,
        Hook::PreStartContainer,
        Hook::PostStartContainer,
        Hook::PostStopContainer,
        Hook::PreUpdateContainerResources,
        Hook::PreUpdatePodSandboxResources,
        Hook::PreRemovePodSandbox,
        Hook::PostRemovePodSandbox,
        Hook::PostRemoveContainer,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Hook::PreRunPodSandbox => "PreRunPodSandbox",
            Hook::PostStopPodSandbox => "PostStopPodSandbox",
            Hook::PreCreateContainer => "PreCreateContainer",
            Hook::PreStartContainer => "PreStartContainer",
            Hook::PostStartContainer => "PostStartContainer",
            Hook::PostStopContainer => "PostStopContainer",
            Hook::PreUpdateContainerResources => "PreUpdateContainerResources",
            Hook::PreUpdatePodSandboxResources => "PreUpdatePodSandboxResources",
            Hook::PreRemovePodSandbox => "PreRemovePodSandbox",
            Hook::PostRemovePodSandbox => "PostRemovePodSandbox",
            Hook::PostRemoveContainer => "PostRemoveContainer",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Whether the call is over when plugins hear of it: there is nothing left to change or refuse.
    pub(crate) fn is_post(self) -> bool {
        match self {
            Hook::PostStopPodSandbox
            | Hook::PostStartContainer
            | Hook::PostStopContainer
            | Hook::PostRemovePodSandbox
            | Hook::PostRemoveContainer => true,
            Hook::PreRunPodSandbox
            | Hook::PreCreateContainer
            | Hook::PreStartContainer
            | Hook::PreUpdateContainerResources
            | Hook::PreUpdatePodSandboxResources
            | Hook::PreRemovePodSandbox => false,
        }
    }

    /// Whether the call takes something away, which a broken plugin must not keep from happening.
    pub(crate) fn is_teardown(self) -> bool {
        match self {
            Hook::PostStopPodSandbox
            | Hook::PostStopContainer
            | Hook::PreRemovePodSandbox
            | Hook::PostRemovePodSandbox
            | Hook::PostRemoveContainer => true,
            Hook::PreRunPodSandbox
            | Hook::PreCreateContainer
            | Hook::PreStartContainer
            | Hook::PostStartContainer
            | Hook::PreUpdateContainerResources
            | Hook::PreUpdatePodSandboxResources => false,
        }
    }

    /// Whether Koordinator's protocol has a method for it.
    pub(crate) fn is_koordinators(self) -> bool {
        match self {
            Hook::PreRunPodSandbox
            | Hook::PostStopPodSandbox
            | Hook::PreCreateContainer
            | Hook::PreStartContainer
            | Hook::PostStartContainer
            | Hook::PostStopContainer
            | Hook::PreUpdateContainerResources => true,
            Hook::PreUpdatePodSandboxResources
            | Hook::PreRemovePodSandbox
            | Hook::PostRemovePodSandbox
            | Hook::PostRemoveContainer => false,
        }
    }
}
