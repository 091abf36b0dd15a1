//! What became of the last answers of plugins, field by field: a bounded log in memory.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::state::Decision;

/// Decisions that are kept; the oldest go first.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Provenance {
    decisions: Mutex<VecDeque<Decision>>,
}

impl Provenance {
    pub(crate) fn record(&self, decisions: impl IntoIterator<Item = Decision>) {
        let mut kept = self.decisions.lock();
        for decision in decisions {
            if kept.len() >= MOST {
                kept.pop_front();
            }
            kept.push_back(decision);
        }
    }

    /// All that are kept, the oldest first.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        self.decisions.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::hook::Hook;
    use crate::state::Outcome;

    #[test]
    fn the_oldest_decisions_go_when_there_are_too_many() {
        let decision = |number: usize| Decision {
            time: Timestamp::UNIX_EPOCH,
            namespace: "shop".to_owned(),
            pod: number.to_string(),
            container: String::new(),
            hook: Hook::PreCreateContainer,
            plugin: "p".to_owned(),
            revision: String::new(),
            commit: String::new(),
            outcome: Outcome::Changed,
            field: "cpu_shares".to_owned(),
            old: "1".to_owned(),
            new: "2".to_owned(),
            detail: String::new(),
        };
        let provenance = Provenance::default();
        provenance.record((0..MOST + 10).map(decision));
        let kept = provenance.decisions();
        assert_eq!((kept.len(), kept[0].pod.as_str()), (MOST, "10"));
    }
}
