//! Hooks: Jobs that run before or after a component is applied.

/// When a Job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// On which occasions.
    pub phases: Vec<Phase>,
    /// Lower ones run first.
    pub weight: i32,
    /// When the Job is removed.
    pub deletion: Vec<HookDeletion>,
}

/// An occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the first apply.
    PreInstall,
    /// After the first apply.
    PostInstall,
    /// Before every later apply.
    PreUpgrade,
    /// After every later apply.
    PostUpgrade,
}

impl Phase {
    /// The same occasion of something that is there already.
    #[must_use]
    pub fn of_upgrade(self) -> Self {
        match self {
            Self::PreInstall | Self::PreUpgrade => Self::PreUpgrade,
            Self::PostInstall | Self::PostUpgrade => Self::PostUpgrade,
        }
    }
}

/// When a hook's Job is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDeletion {
    /// Before the next one is made.
    BeforeCreation,
    /// When it succeeded.
    Succeeded,
    /// When it failed.
    Failed,
}
