//! The points of a pod's life at which plugins are asked.

use serde::Deserialize;

/// When a plugin is asked. The names are those of Koordinator's registration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub(crate) enum Hook {
    PreRunPodSandbox,
    PostStopPodSandbox,
    PreCreateContainer,
    PreStartContainer,
    PostStartContainer,
    PostStopContainer,
    PreUpdateContainerResources,
}

impl Hook {
    pub(crate) const ALL: [Hook; 7] = [
        Hook::PreRunPodSandbox,
        Hook::PostStopPodSandbox,
        Hook::PreCreateContainer,
        Hook::PreStartContainer,
        Hook::PostStartContainer,
        Hook::PostStopContainer,
        Hook::PreUpdateContainerResources,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Hook::PreRunPodSandbox => "PreRunPodSandbox",
            Hook::PostStopPodSandbox => "PostStopPodSandbox",
            Hook::PreCreateContainer => "PreCreateContainer",
            Hook::PreStartContainer => "PreStartContainer",
            Hook::PostStartContainer => "PostStartContainer",
            Hook::PostStopContainer => "PostStopContainer",
            Hook::PreUpdateContainerResources => "PreUpdateContainerResources",
        }
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Whether the call is over when plugins hear of it: there is nothing left to change or refuse.
    pub(crate) fn is_post(self) -> bool {
        match self {
            Hook::PostStopPodSandbox | Hook::PostStartContainer | Hook::PostStopContainer => true,
            Hook::PreRunPodSandbox
            | Hook::PreCreateContainer
            | Hook::PreStartContainer
            | Hook::PreUpdateContainerResources => false,
        }
    }
}
