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
    /// Git wants it in another cluster. Nothing is left of it in this one before it begins there.
    Moved,
    /// Somebody deleted the Runtime, which cannot be taken back.
    Deleted,
}

impl Leaving {
    /// Whether objects that are to go with the runtime are not known any more: its status counts some, and its inventory,
    /// which somebody deleted, has none.
    pub(super) fn has_lost_objects(self, objects: usize, reported: i32) -> bool {
        self.policy == DeletionPolicy::Delete && objects == 0 && reported > 0
    }

    /// What happens, in a sentence. Of the objects so many stay whatever the policy is.
    pub(super) fn sentence(self, objects: usize, staying: usize) -> String {
        let cause = match self.why {
            Departure::Removed => "its file left Git",
            Departure::Moved => "its target is another cluster now",
            Departure::Deleted => "the Runtime goes",
        };
        match (self.policy, staying) {
            (DeletionPolicy::Orphan, _) => format!("{cause}; its {objects} objects stay"),
            (DeletionPolicy::Delete, 0) => format!("{cause}; its {objects} objects are deleted"),
            (DeletionPolicy::Delete, staying) => {
                let deleted = objects.saturating_sub(staying);
                format!("{cause}; {deleted} of its {objects} objects are deleted, and {staying} stay")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_deleted_is_counted_as_deleted() {
        let leaving = |policy| Leaving { why: Departure::Removed, policy };
        assert_eq!(leaving(DeletionPolicy::Delete).sentence(3, 0), "its file left Git; its 3 objects are deleted");
        let some_stay = "its file left Git; 2 of its 3 objects are deleted, and 1 stay";
        assert_eq!(leaving(DeletionPolicy::Delete).sentence(3, 1), some_stay);
        assert_eq!(leaving(DeletionPolicy::Orphan).sentence(3, 1), "its file left Git; its 3 objects stay");
    }

    #[test]
    fn objects_of_a_lost_inventory_are_told_of_only_if_they_were_to_go() {
        let leaving = |policy| Leaving { why: Departure::Deleted, policy };
        assert!(leaving(DeletionPolicy::Delete).has_lost_objects(0, 3));
        assert!(!leaving(DeletionPolicy::Delete).has_lost_objects(3, 3));
        assert!(!leaving(DeletionPolicy::Delete).has_lost_objects(0, 0));
        assert!(!leaving(DeletionPolicy::Orphan).has_lost_objects(0, 3));
    }
}
