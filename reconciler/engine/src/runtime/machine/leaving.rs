//! Why a runtime goes, and what becomes of its objects.

use reeve_crds::runtime::policy::DeletionPolicy;

/// A runtime that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    pub(super) why: Departure,
    pub(super) policy: DeletionPolicy,
}

/// Why a runtime goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// Its file left Git. The Runtime is deleted when nothing is left of it, and stays if Git wants it again before.
    Removed,
    /// Somebody deleted the Runtime, which cannot be taken back.
    Deleted,
}

impl Leaving {
    /// What happens, in a sentence.
    pub(super) fn sentence(self, objects: usize) -> String {
        let cause = match self.why {
            Departure::Removed => "its file left Git",
            Departure::Deleted => "the Runtime goes",
        };
        let fate = match self.policy {
            DeletionPolicy::Orphan => "stay",
            DeletionPolicy::Delete => "are deleted",
        };
        format!("{cause}; its {objects} objects {fate}")
    }
}
