//! Who changed what, of the last changes: a bounded log in memory.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::state::Change;

/// Changes that are kept; the oldest go first.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Provenance {
    changes: Mutex<VecDeque<Change>>,
}

impl Provenance {
    pub(crate) fn record(&self, changes: impl IntoIterator<Item = Change>) {
        let mut kept = self.changes.lock();
        for change in changes {
            if kept.len() >= MOST {
                kept.pop_front();
            }
            kept.push_back(change);
        }
    }

    /// All that are kept, the oldest first.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::hook::Hook;

    #[test]
    fn the_oldest_changes_go_when_there_are_too_many() {
        let change = |number: usize| Change {
            time: Timestamp::UNIX_EPOCH,
            namespace: "shop".to_owned(),
            pod: number.to_string(),
            container: String::new(),
            hook: Hook::PreCreateContainer,
            plugin: "p".to_owned(),
            revision: String::new(),
            field: "cpu_shares".to_owned(),
            old: "1".to_owned(),
            new: "2".to_owned(),
            audited: false,
        };
        let provenance = Provenance::default();
        provenance.record((0..MOST + 10).map(change));
        let kept = provenance.changes();
        assert_eq!((kept.len(), kept[0].pod.as_str()), (MOST, "10"));
    }
}
