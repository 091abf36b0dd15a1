//! From what Git has to the revision in force: fetched, trusted, built, and put in force if it is good.

use reeve_crds::Reason;
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::notification::NotificationBody;
use reeve_reconciler_git::{CommitFacts, Fetched, Moved, is_signature_reason};
use tracing::{info, warn};

use super::{
    ActiveRevision, BuildOrder, Built, Busy, Count, Distrust, Effect, Fetch, FetchOrder, Machine, Observed, Verified,
};
use crate::source::builder::RenderedRevision;
use crate::source::status;

/// One look at Git, from the question to what follows from the answer.
#[derive(Debug, Default)]
pub(super) struct Pull {
    /// What asked for it.
    request: Option<String>,
    /// How often Git could not be asked before, if it could be now.
    failures_before: Option<u32>,
}

/// What a revision is built for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// It is new.
    Candidate(Box<Fetched>, ActiveRevision),
    /// It was in force before the process started; what was fetched is looked at after it.
    LastGood(ActiveRevision, Option<Box<Fetched>>),
}

impl Machine {
    /// Asks Git.
    pub(super) fn pull(&mut self, view: &dyn Observed) {
        self.report.generation = self.object.metadata.generation;
        self.restore(view);
        self.write_unwritten();
        self.effects.push(Effect::RegisterWebhook);
        let reference = &self.object.spec.reference;
        let last_seen = self.last_seen.clone().filter(|(of, _)| of == reference).map(|(_, commit)| commit);
        self.effects.push(Effect::Fetch(FetchOrder { object: self.object.clone(), last_seen }));
        self.busy = Busy::Fetching(Pull { request: self.requested(), failures_before: None });
    }

    pub(super) fn on_fetched(&mut self, fetch: Fetch) {
        let Busy::Fetching(mut pull) = std::mem::replace(&mut self.busy, Busy::Idle) else { return };
        match fetch.result {
            Ok((fetched, verified)) => {
                pull.failures_before = Some(std::mem::take(&mut self.failures));
                self.report.fetched(self.now);
                self.note_changes(&fetched);
                self.last_seen = Some((self.object.spec.reference.clone(), fetched.commit.id.clone()));
                if self.is_trusted(&fetched, verified) {
                    return self.consider(pull, fetched);
                }
            }
            Err(error) => self.unfetched(error),
        }
        self.restore_last_good(pull, None);
    }

    /// Tells what is odd about the repository.
    fn note_changes(&mut self, fetched: &Fetched) {
        if fetched.rebuilt {
            let note = "the mirror on disk was damaged and has been made anew".to_owned();
            self.emit(true, Reason::MirrorRebuilt, note);
        }
        // The highest version may be on another branch than the one before.
        if let Moved::Rewritten { from } = &fetched.moved
            && self.object.spec.reference.semver.is_none()
        {
            warn!(from, to = %fetched.revision, "the history was rewritten");
            let note = format!("{} does not follow {from}: the history was rewritten", fetched.revision);
            self.emit(true, Reason::Rewritten, note);
        }
    }

    /// Whether what was fetched may be looked at at all. If not, that is told.
    fn is_trusted(&mut self, fetched: &Fetched, verified: Verified) -> bool {
        match verified {
            Ok(signed_by) => {
                self.report.trust(fetched, signed_by);
                self.recovered("signature");
                let rejected = &mut self.report.rejected;
                // For all else that may be wrong with it, it was not looked at yet.
                if rejected.take_if(|rejected| is_signature_reason(status::reason_of(rejected))).is_some() {
                    self.recovered("revision");
                }
                return true;
            }
            Err(Distrust::Keys(error)) => {
                self.failures += 1;
                self.record_failure("signature", &error);
                self.report.distrust(error);
            }
            Err(Distrust::Revision(error)) if self.report.is_in_force(fetched) => self.doubt(fetched, &error),
            Err(Distrust::Revision(error)) => {
                let revision = revision_of(fetched);
                let before = self.report.rejected.as_ref();
                if before.is_none_or(|before| before.commit.as_deref() != Some(&*revision.commit)) {
                    self.effects.push(Effect::Count(Count::Rejected));
                }
                self.report.untrust();
                self.recovered("signature");
                self.refuse(&revision, &error);
            }
            Err(Distrust::Passing(error)) => self.unfetched(error),
        }
        false
    }

    /// What is in force would not be taken up again.
    fn doubt(&mut self, fetched: &Fetched, error: &ReconcileError) {
        let message = format!("{} stays in force, but is no longer trusted: {}", fetched.revision, error.message);
        let error = ReconcileError::terminal(error.reason, message);
        if self.record_failure("signature", &error) {
            let (revision, message) = (fetched.revision.clone(), error.message.clone());
            self.effects.push(Effect::Notify(NotificationBody::Rejected { revision, message }));
        }
        if self.report.rejected.take().is_some() {
            self.recovered("revision");
        }
        self.report.distrust(error);
    }

    /// There is no new revision to be had; the last good one stays in force.
    fn unfetched(&mut self, error: ReconcileError) {
        self.failures += 1;
        self.record_failure("fetch", &error);
        self.report.unfetched(error, self.now);
    }

    /// There is a new revision that cannot be used; the last good one stays in force.
    fn refuse(&mut self, revision: &Revision, error: &ReconcileError) {
        let message = format!("{} is refused: {}", revision.shown, error.message);
        self.record_failure("revision", &ReconcileError::terminal(error.reason, message));
        let before = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        // After a restart it is looked at again, which is no news.
        if before != Some(&*revision.commit) {
            let (revision, message) = (revision.shown.to_string(), error.message.clone());
            self.effects.push(Effect::Notify(NotificationBody::Rejected { revision, message }));
        }
        self.report.reject(revision, error, self.now);
        // It may want back what the revision in force removes.
        self.pause_removals();
    }

    /// Has a fetched commit built if it is another than the one in force, and was not refused before.
    fn consider(&mut self, pull: Pull, fetched: Fetched) {
        let (url, path) = (&self.object.spec.url, &self.object.spec.path);
        let is_active =
            |now: &ActiveRevision| *now.revision.commit == *fetched.commit.id && now.url == *url && now.path == *path;
        if self.active.as_ref().is_some_and(is_active) {
            if let Some(active) = &mut self.active {
                active.revision.shown = fetched.revision.as_str().into();
            }
            self.report.revision = Some(fetched.revision);
            if self.report.rejected.take().is_some() {
                self.recovered("revision");
            }
            return self.end_pull(pull);
        }
        // That a runtime is another source's may be over without a new commit.
        let rejected = self.report.rejected.as_ref().filter(|it| status::reason_of(it) != Reason::Conflict);
        let rejected = rejected.and_then(|rejected| rejected.commit.as_deref());
        if self.active.is_some() && rejected == Some(&*fetched.commit.id) && !self.report.spec_changed(&self.object) {
            return self.end_pull(pull);
        }
        let is_other = |commit: &reeve_crds::git_source::status::Commit| commit.id != fetched.commit.id;
        if self.report.commit.as_ref().is_some_and(is_other) {
            // After a start: what a newer one may remove is said by the one that was in force.
            return self.restore_last_good(pull, Some(Box::new(fetched)));
        }
        self.build_candidate(pull, Box::new(fetched));
    }

    fn build_candidate(&mut self, pull: Pull, fetched: Box<Fetched>) {
        let active = self.named(revision_of(&fetched));
        self.build(&active, false);
        self.busy = Busy::Building(pull, Purpose::Candidate(fetched, active));
    }

    /// After a start with nothing in force: the last good revision, if the mirror still has it. Then what was fetched, if
    /// that is to be looked at.
    fn restore_last_good(&mut self, pull: Pull, then: Option<Box<Fetched>>) {
        let known = self.report.commit.as_ref().zip(self.report.revision.as_ref());
        let revision =
            known.map(|(commit, shown)| Revision { shown: shown.as_str().into(), commit: commit.id.as_str().into() });
        match (revision.filter(|_| self.in_force.is_empty()), then) {
            (Some(revision), then) => {
                let active = self.named(revision);
                // Where signatures are asked for, the word of a status is not enough.
                self.build(&active, self.object.spec.verify.is_some());
                self.busy = Busy::Building(pull, Purpose::LastGood(active, then));
            }
            (None, Some(fetched)) => self.build_candidate(pull, fetched),
            (None, None) => self.end_pull(pull),
        }
    }

    fn named(&self, revision: Revision) -> ActiveRevision {
        ActiveRevision { url: self.object.spec.url.clone(), path: self.object.spec.path.clone(), revision }
    }

    fn build(&mut self, wanted: &ActiveRevision, only_if_kept: bool) {
        let ActiveRevision { url, path, revision } = wanted.clone();
        let (active, in_force) = (self.active.clone(), self.in_force.clone());
        self.effects.push(Effect::Build(BuildOrder { url, path, revision, active, in_force, only_if_kept }));
    }

    pub(super) fn on_built(&mut self, built: Built, view: &dyn Observed) {
        let Busy::Building(pull, purpose) = std::mem::replace(&mut self.busy, Busy::Idle) else { return };
        match (purpose, built.result) {
            (Purpose::LastGood(active, then), result) => {
                match result {
                    Ok(rendered) => {
                        info!(revision = %active.revision.shown, "the last good revision is in force");
                        self.activate(active, rendered, built.kept, view);
                    }
                    Err(error) => {
                        if self.is_new("last good", &error) {
                            let shown = &active.revision.shown;
                            warn!(revision = %shown, "the last good revision cannot be used: {}", error.message);
                        }
                    }
                }
                match then {
                    Some(fetched) => self.build_candidate(pull, fetched),
                    None => self.end_pull(pull),
                }
            }
            (Purpose::Candidate(fetched, active), Ok(rendered)) => {
                self.effects.push(Effect::Count(Count::Accepted));
                self.accept(&fetched, active, rendered, built.kept, view);
                self.end_pull(pull);
            }
            (Purpose::Candidate(_, active), Err(error)) => {
                if error.transient {
                    // Nothing is wrong with the commit: it is tried again.
                    self.unfetched(error);
                } else {
                    self.effects.push(Effect::Count(Count::Rejected));
                    self.refuse(&active.revision, &error);
                }
                self.restore_last_good(pull, None);
            }
        }
    }

    fn accept(
        &mut self,
        fetched: &Fetched,
        active: ActiveRevision,
        rendered: RenderedRevision,
        kept: bool,
        view: &dyn Observed,
    ) {
        let revision = active.revision.clone();
        info!(revision = %revision.shown, "accepted");
        if self.report.commit.as_ref().is_none_or(|before| before.id != fetched.commit.id) {
            let signed = self.report.signed_by().map(|by| format!(", signed by {by}")).unwrap_or_default();
            let CommitFacts { subject, author, .. } = &fetched.commit;
            let note = format!("{} is in force: {subject} ({author}){signed}", revision.shown);
            self.emit(false, Reason::Accepted, note);
        }
        self.recovered("revision");
        self.activate(active.clone(), rendered, kept, view);
        self.report.accept(&revision, &fetched.commit, self.now);
        self.effects.push(Effect::KeepCommit(active));
    }

    /// From now on this revision counts, and is published.
    fn activate(&mut self, active: ActiveRevision, rendered: RenderedRevision, kept: bool, view: &dyn Observed) {
        // Whether it was in force with this url and path when the process before ended, so that what it removes was judged
        // then.
        let is_last = self.report.commit.as_ref().is_some_and(|commit| *commit.id == *active.revision.commit);
        let resumes = self.active.is_none() && is_last && (self.report.is_of_spec(&self.object) || kept);
        self.active = Some(active);
        let before = std::sync::Arc::make_mut(&mut self.in_force).accept(&rendered);
        self.plan_publication(rendered, &before, resumes, view);
    }

    /// A bug of ours broke off what was under way: it is tried again, less and less often.
    pub(super) fn on_broken_off(&mut self) {
        match std::mem::replace(&mut self.busy, Busy::Idle) {
            Busy::Idle | Busy::Writing => {}
            Busy::Fetching(pull) | Busy::Building(pull, _) => {
                self.unfetched(ReconcileError::transient(Reason::Unreadable, "the work on it broke off"));
                self.end_pull(pull);
            }
        }
    }

    /// What was asked of Git is dealt with.
    fn end_pull(&mut self, pull: Pull) {
        if let Some(before) = pull.failures_before {
            if self.report.is_fetched() {
                self.recovered("fetch");
            }
            if self.failures > 0 {
                self.failures += before;
            }
        }
        self.notify_failure();
        self.request = pull.request.or(self.request.take());
        // What is in force is told at once, before all of it is published.
        self.next_status = self.now;
        self.next_poll = after(self.now, self.pause(self.failures));
    }
}

fn revision_of(fetched: &Fetched) -> Revision {
    Revision { shown: fetched.revision.as_str().into(), commit: fetched.commit.id.as_str().into() }
}
