//! What of the revision in force is yet to be published: Runtimes to write, then runtimes to remove. Pure.
//!
//! A newer revision replaces what is pending: what it changed comes first, what was pending and is still wanted stays so.
//! Removals come last, a few at a time, so that a revision that takes them back comes in time for most of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use reeve_renderer::fleet::RemovalLimit;

/// How many Runtimes are written before anything else is looked at, and how many runtimes may be going at once.
pub(super) const BATCH: usize = 16;

/// What is published next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// Write these Runtimes, and tell their workers what Git wants.
    Write(Vec<Arc<str>>),
    /// Tell the workers of these runtimes that their files left Git.
    Remove(Vec<Arc<str>>),
}

/// How far the removal of a runtime is that has no file in the revision in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    /// It is one of too many.
    Withheld,
    Due,
    Begun,
}

/// A runtime without a file.
#[derive(Clone, Debug)]
pub(super) struct Leftover {
    pub(super) name: Arc<str>,
    /// Whether its objects go with it.
    pub(super) deletes: bool,
}

/// A revision that is put in force.
#[derive(Debug)]
pub(super) struct Accepted<'a> {
    /// The runtimes that have to be told of it.
    pub(super) changed: Vec<Arc<str>>,
    /// All runtimes that it has.
    pub(super) wanted: &'a BTreeSet<Arc<str>>,
    pub(super) leftovers: Vec<Leftover>,
    /// How many runtimes there are whose objects would go with them.
    pub(super) deleting: usize,
    /// How many removals the revision before allows: a commit cannot approve itself.
    pub(super) limit_before: RemovalLimit,
    /// How many it allows itself, of those that earlier revisions made.
    pub(super) limit: RemovalLimit,
}

/// More was to be removed than is allowed, so nothing of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// How many.
    pub(super) removed: usize,
    /// Of how many.
    pub(super) all: usize,
    pub(super) limit: RemovalLimit,
}

#[derive(Debug, Default)]
pub(super) struct Publication {
    writes: VecDeque<Arc<str>>,
    /// Those of them that a commit changed.
    changed: BTreeSet<Arc<str>>,
    removals: BTreeMap<Arc<str>, Removal>,
    over_budget: Option<OverBudget>,
}

impl Publication {
    /// A new revision is in force.
    pub(super) fn accept(&mut self, accepted: Accepted<'_>) {
        let Accepted { changed, wanted, leftovers, deleting: all, limit_before, limit } = accepted;
        let pending = std::mem::take(&mut self.writes);
        self.changed.retain(|name| wanted.contains(name));
        self.changed.extend(changed.iter().cloned());
        self.enqueue(changed);
        self.enqueue(pending.into_iter().filter(|name| wanted.contains(name)));
        let before = std::mem::take(&mut self.removals);
        let is_withheld = |name: &Arc<str>| before.get(name) == Some(&Removal::Withheld);
        let is_new = |leftover: &&Leftover| leftover.deletes && !before.contains_key(&leftover.name);
        let carried = leftovers.iter().filter(|leftover| is_withheld(&leftover.name)).count();
        let new = leftovers.iter().filter(is_new).count();
        let (allows_carried, allows_new) = (limit.allows(carried, all), limit_before.allows(new, all));
        for leftover in leftovers {
            let removal = match before.get(&leftover.name) {
                Some(Removal::Withheld) if !allows_carried => Removal::Withheld,
                None if leftover.deletes && !allows_new => Removal::Withheld,
                Some(Removal::Begun) => Removal::Begun,
                Some(Removal::Withheld | Removal::Due) | None => Removal::Due,
            };
            self.removals.insert(leftover.name, removal);
        }
        self.count_withheld(all, if allows_new { limit } else { limit_before });
    }

    /// The revision that was in force before the process started is in force again, with the removals that it began or
    /// that were withheld from it.
    pub(super) fn resume(&mut self, accepted: Accepted<'_>, withheld: bool) {
        self.enqueue(accepted.changed);
        for Leftover { name, deletes } in accepted.leftovers {
            let removal = if withheld && deletes { Removal::Withheld } else { Removal::Due };
            self.removals.insert(name, removal);
        }
        self.count_withheld(accepted.deleting, accepted.limit_before);
    }

    fn count_withheld(&mut self, all: usize, limit: RemovalLimit) {
        let removed = self.removals.values().filter(|removal| **removal == Removal::Withheld).count();
        self.over_budget = (removed > 0).then_some(OverBudget { removed, all, limit });
    }

    /// These have to be written, after those that already have to be.
    pub(super) fn enqueue(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        let mut queued: BTreeSet<Arc<str>> = self.writes.iter().cloned().collect();
        self.writes.extend(names.into_iter().filter(|name| queued.insert(name.clone())));
    }

    /// What is published next, with so many runtimes on their way out.
    pub(super) fn next(&mut self, leaving: usize) -> Option<Batch> {
        if !self.writes.is_empty() {
            let names: Vec<_> = self.writes.drain(..self.writes.len().min(BATCH)).collect();
            self.changed.retain(|name| !names.contains(name));
            return Some(Batch::Write(names));
        }
        let due = self.removals.iter_mut().filter(|(_, removal)| **removal == Removal::Due);
        let begin = |(name, removal): (&Arc<str>, &mut Removal)| {
            *removal = Removal::Begun;
            name.clone()
        };
        let names: Vec<_> = due.take(BATCH.saturating_sub(leaving)).map(begin).collect();
        (!names.is_empty()).then_some(Batch::Remove(names))
    }

    /// Has removals begin anew that have begun, if they are still due then. These are they.
    pub(super) fn pause_removals(&mut self) -> Vec<Arc<str>> {
        let begun = self.removals.iter_mut().filter(|(_, removal)| **removal == Removal::Begun);
        let pause = |(name, removal): (&Arc<str>, &mut Removal)| {
            *removal = Removal::Due;
            name.clone()
        };
        begun.map(pause).collect()
    }

    /// Forgets the removals that are done.
    pub(super) fn settle(&mut self, is_there: impl Fn(&str) -> bool) {
        self.removals.retain(|name, removal| *removal != Removal::Begun || is_there(name));
    }

    /// Whether no Runtime has to be written.
    pub(super) fn is_written(&self) -> bool {
        self.writes.is_empty()
    }

    /// Those that a commit changed and that were not told of it yet.
    pub(super) fn changed(&self) -> impl Iterator<Item = &Arc<str>> {
        self.changed.iter()
    }

    /// Those whose removal has begun.
    pub(super) fn begun(&self) -> impl Iterator<Item = &Arc<str>> {
        self.removals.iter().filter(|(_, removal)| **removal == Removal::Begun).map(|(name, _)| name)
    }

    pub(super) fn is_begun(&self, name: &str) -> bool {
        self.removals.get(name) == Some(&Removal::Begun)
    }

    /// How many Runtimes have to be written because a commit changed them, and how many runtimes have to go.
    pub(super) fn left(&self) -> (usize, usize) {
        let goes = |removal: &&Removal| matches!(removal, Removal::Due | Removal::Begun);
        (self.changed.len(), self.removals.values().filter(goes).count())
    }

    /// The removals that are withheld, and one of them.
    pub(super) fn over_budget(&self) -> Option<(OverBudget, &Arc<str>)> {
        let withheld = self.removals.iter().find(|(_, removal)| **removal == Removal::Withheld);
        self.over_budget.zip(withheld.map(|(name, _)| name))
    }
}

#[cfg(test)]
mod tests;
