//! Publishes the revision in force, one small batch at a time.

use std::sync::Arc;

use jiff::Timestamp;
use reeve_crds::Reason;
use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::notification::NotificationBody;

use super::{Busy, Effect, Machine, Observed};
use crate::source::builder::{Before, Changed, RenderedRevision};
use crate::source::object::{Manifest, is_as};
use crate::source::publication::{Accepted, BATCH, Batch, Leftover, OverBudget};

/// How writing Runtimes fares.
#[derive(Debug)]
pub(super) struct Writing {
    /// How often in a row not all could be written.
    pub(super) failures: u32,
    /// When those that could not be written are tried again.
    pub(super) retry_at: Timestamp,
}

impl Default for Writing {
    fn default() -> Self {
        Self { failures: 0, retry_at: Timestamp::MAX }
    }
}

impl Machine {
    /// What has to be published now that a revision is in force. One that resumes was in force before the process
    /// started.
    pub(super) fn plan_publication(
        &mut self,
        rendered: RenderedRevision,
        before: &Before,
        resumes: bool,
        view: &dyn Observed,
    ) {
        let (limit, wanted) = (rendered.removals(), rendered.runtimes);
        self.report.unwritten.retain(|name, _| wanted.contains(name));
        let there = view.runtimes();
        self.compared.retain(|name, _| wanted.contains(name));
        self.keeping_objects.retain(|name| !wanted.contains(name));
        let kept = before.left.iter().filter(|(_, _, manifest)| !deletes_objects(manifest));
        self.keeping_objects.extend(kept.map(|(name, ..)| name.clone()));
        let deletes = |name: &Arc<str>| {
            !self.keeping_objects.contains(name)
                && view.object(name).is_some_and(|object| object.spec.deletion_policy == DeletionPolicy::Delete)
        };
        let left = there.iter().filter(|name| !wanted.contains(*name));
        let mut leftovers: Vec<Leftover> =
            left.map(|name| Leftover { name: name.clone(), deletes: deletes(name) }).collect();
        // Those that were written and not seen since.
        let unseen = before.left.iter().filter(|(name, ..)| !there.contains(name));
        leftovers.extend(
            unseen.map(|(name, _, manifest)| Leftover { name: name.clone(), deletes: deletes_objects(manifest) }),
        );
        let accepted = Accepted {
            changed: rendered.changed.into_iter().map(|(name, ..)| name).collect(),
            wanted: &wanted,
            leftovers,
            deleting: there.iter().filter(|name| deletes(name)).count(),
            limit_before: before.removals,
            limit,
        };
        if resumes {
            self.publication.resume(accepted, self.report.withheld.is_some());
        } else {
            self.publication.accept(accepted);
        }
        let held = there.into_iter().filter(|name| !self.publication.is_begun(name)).collect();
        self.effects.push(Effect::HoldRemoval(held));
        let withheld = self.publication.over_budget().map(|(over, example)| over_budget(over, example));
        // What was said of it before a restart stands.
        let said = self.report.withheld.take().filter(|_| resumes && withheld.is_some());
        self.report.withheld = said.or(withheld);
        self.judge_removals();
    }

    /// Has no more runtimes go until it is known again what Git wants.
    pub(super) fn pause_removals(&mut self) {
        let paused = self.publication.pause_removals();
        if !paused.is_empty() {
            self.effects.push(Effect::HoldRemoval(paused));
        }
    }

    /// Tells if more would be removed than is allowed.
    fn judge_removals(&mut self) {
        match self.report.withheld.clone() {
            Some(error) => {
                if self.record_failure("removals", &error) {
                    let revision = self.active.as_ref().map(|it| it.revision.shown.to_string()).unwrap_or_default();
                    self.effects.push(Effect::Notify(NotificationBody::Rejected { revision, message: error.message }));
                }
            }
            None => self.recovered("removals"),
        }
    }

    /// Publishes the next batch. True if there was one, so that there may be more.
    pub(super) fn publish(&mut self, view: &dyn Observed) -> bool {
        if !self.may_act() {
            return false;
        }
        if self.now >= self.writing.retry_at {
            self.write_unwritten();
        }
        self.publication.settle(|name| view.object(name).is_some());
        let leaving = self.leaving(view);
        match self.publication.next(leaving) {
            Some(Batch::Write(names)) => {
                let is_retried = |name: &str| self.report.unwritten.contains_key(name);
                let changed = names.iter().filter_map(|name| self.in_force.get(name));
                let changed = changed.map(|changed| (changed.clone(), is_retried(&changed.0))).collect();
                self.effects.push(Effect::Write(changed));
                self.busy = Busy::Writing;
                true
            }
            Some(Batch::Remove(names)) => {
                let keeps = |name: Arc<str>| {
                    let keeps = self.keeping_objects.contains(&name);
                    (name, keeps)
                };
                self.effects.push(Effect::SendRemoval(names.into_iter().map(keeps).collect()));
                true
            }
            None => false,
        }
    }

    /// How many runtimes are on their way out, or as many as may be where no more may go.
    fn leaving(&self, view: &dyn Observed) -> usize {
        // Who cannot read what Git has now cannot know whether it still wants something to go; and objects of a runtime that
        // goes may be wanted by another, which has to know that first.
        if !self.report.is_fetched() || self.report.rejected.is_some() || !view.is_read() {
            return BATCH;
        }
        // One that cannot go keeps no other.
        let goes = |name: &&Arc<str>| view.summary(name).is_some_and(|summary| !summary.is_stuck());
        self.publication.begun().filter(goes).count()
    }

    /// Runtimes were written, or could not be. One that cannot be written keeps the revision from no other.
    pub(super) fn on_written(&mut self, results: Vec<(Arc<str>, Result<(), ReconcileError>)>) {
        self.busy = Busy::Idle;
        for (name, result) in results {
            match result {
                Ok(()) => self.report.unwritten.remove(&name),
                Err(error) => self.report.unwritten.insert(name, error),
            };
        }
        if self.publication.is_written() {
            self.end_round();
        }
    }

    /// All Runtimes were written, or it was tried.
    fn end_round(&mut self) {
        if let Some(error) = self.report.unwritten() {
            self.record_failure("runtimes", &error);
            self.writing.failures += 1;
            self.writing.retry_at = after(self.now, self.pause(self.writing.failures));
        } else {
            self.recovered("runtimes");
            self.writing = Writing::default();
        }
        self.notify_failure();
    }

    /// Has Runtimes written that could not be written before.
    pub(super) fn write_unwritten(&mut self) {
        self.writing.retry_at = Timestamp::MAX;
        let names: Vec<Arc<str>> = self.report.unwritten.keys().cloned().collect();
        self.publication.enqueue(names);
    }

    /// Has Runtimes written that somebody deleted or changed although Git has them so. A source that rests or goes writes
    /// nothing, and nobody is to wait for it.
    pub(super) fn restore(&mut self, view: &dyn Observed) {
        if !self.may_act() {
            return;
        }
        let in_force = self.in_force.clone();
        let differs = |(name, _, manifest): &&Changed| match view.object(name) {
            None => true,
            Some(object) => {
                let generation = object.metadata.generation;
                let is_compared = self.compared.insert(name.clone(), generation) == Some(generation);
                !is_compared && !is_as(&object, &manifest.read())
            }
        };
        let differing: Vec<Arc<str>> = in_force.iter().filter(differs).map(|(name, ..)| name.clone()).collect();
        self.publication.enqueue(differing);
    }
}

/// Whether the objects of a runtime go with it, by its file.
fn deletes_objects(manifest: &Manifest) -> bool {
    manifest.read()["spec"]["deletionPolicy"] == "Delete"
}

/// What is told of removals that are withheld.
fn over_budget(over: OverBudget, example: &str) -> ReconcileError {
    let OverBudget { removed, all, limit } = over;
    let message = format!(
        "{removed} of {all} runtimes with deletionPolicy Delete have no file any more, such as {example}, and \
         limits.removals allows {limit}: none of them is removed; revert the commit, or raise limits.removals in \
         fleet.yaml by a commit of its own"
    );
    ReconcileError::terminal(Reason::OverBudget, message)
}
