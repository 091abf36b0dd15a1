//! Who waits behind whom: jobs of one lane are done one after the other, those of different lanes side by side.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Jobs that wait in a lane. More push the oldest out: the newest say best how things are.
pub(super) const WAITING: usize = 64;

/// Lanes with somebody at work, and what waits in them.
#[derive(Debug)]
pub(super) struct Lanes<K, J>(HashMap<K, VecDeque<J>>);

impl<K, J> Default for Lanes<K, J> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// What becomes of a job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<J> {
    /// The lane is free: do it now.
    Begin(J),
    /// It waits for its turn.
    Waits,
    /// It waits, and this one, which waited longest, never gets its turn.
    Instead(J),
}

impl<K: Eq + Hash, J> Lanes<K, J> {
    pub(super) fn enter(&mut self, lane: K, job: J) -> Entry<J> {
        let Some(waiting) = self.0.get_mut(&lane) else {
            self.0.insert(lane, VecDeque::new());
            return Entry::Begin(job);
        };
        waiting.push_back(job);
        if waiting.len() > WAITING { waiting.pop_front().map_or(Entry::Waits, Entry::Instead) } else { Entry::Waits }
    }

    /// A job of the lane is done. The next one, if any waits; else the lane is no more.
    pub(super) fn done(&mut self, lane: &K) -> Option<J> {
        let next = self.0.get_mut(lane)?.pop_front();
        if next.is_none() {
            self.0.remove(lane);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_served_in_order_and_holds_no_other_up() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.enter("a", 1), Entry::Begin(1));
        assert_eq!(lanes.enter("a", 2), Entry::Waits);
        assert_eq!(lanes.enter("a", 3), Entry::Waits);
        assert_eq!(lanes.enter("b", 4), Entry::Begin(4));
        assert_eq!((lanes.done(&"a"), lanes.done(&"a"), lanes.done(&"a")), (Some(2), Some(3), None));
        assert_eq!(lanes.enter("a", 5), Entry::Begin(5), "it is free again");
        assert_eq!(lanes.done(&"b"), None);
    }

    #[test]
    fn in_a_full_lane_the_oldest_gives_way() {
        let mut lanes = Lanes::default();
        for job in 0..=WAITING {
            assert!(!matches!(lanes.enter("a", job), Entry::Instead(_)));
        }
        assert_eq!(lanes.enter("a", 1000), Entry::Instead(1));
        assert_eq!(lanes.done(&"a"), Some(2));
    }
}
