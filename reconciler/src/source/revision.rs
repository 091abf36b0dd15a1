//! From a fetched commit to the revision in force: built, judged, and put in force if it is good.

use reeve_crds::Reason;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::hash;
use reeve_reconciler_git::{CommitFacts, Fetched};
use tracing::{info, warn};

use super::builder::{BuildError, RenderedRevision};
use super::{ActiveRevision, Source};

impl Source {
    /// Takes a fetched commit if it is another than the one in force, and good.
    pub(super) async fn on_fetched(&mut self, fetched: Fetched) {
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let same = self
            .active
            .as_ref()
            .is_some_and(|now| *now.revision.commit == *fetched.commit.id && now.url == url && now.path == path);
        if same {
            if let Some(active) = &mut self.active {
                active.revision.shown = fetched.revision.as_str().into();
            }
            self.report.revision = Some(fetched.revision);
            if self.report.rejected.take().is_some() {
                self.recovered("revision");
            }
            return;
        }
        let rejected = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        if self.active.is_some() && rejected == Some(&*fetched.commit.id) && !self.report.spec_changed(&self.object) {
            return;
        }
        if self.report.commit.as_ref().is_some_and(|commit| commit.id != fetched.commit.id) {
            // After a start: what a newer one may remove is said by the one that was in force.
            self.restore_last_good().await;
        }
        let revision = Revision { shown: fetched.revision.as_str().into(), commit: fetched.commit.id.as_str().into() };
        let began = self.with.engine.clock.now();
        let rendered = self.build(&revision).await;
        let metrics = &self.with.metrics;
        metrics.rendered(since(self.with.engine.clock.now(), began));
        match &rendered {
            Ok(_) => metrics.revision("accepted"),
            Err(error) if error.transient => {}
            Err(_) => metrics.revision("rejected"),
        }
        match rendered {
            Ok(rendered) => self.accepted(fetched, ActiveRevision { url, path, revision }, rendered).await,
            // Nothing is wrong with the commit: it is tried again.
            Err(error) if error.transient => self.unfetched(error).await,
            Err(error) => self.refused(&revision, error).await,
        }
    }

    async fn accepted(&mut self, fetched: Fetched, active: ActiveRevision, rendered: RenderedRevision) {
        let ActiveRevision { url, revision, .. } = active.clone();
        let now = self.with.engine.clock.now();
        info!(revision = %revision.shown, "accepted");
        if self.report.commit.as_ref().is_none_or(|before| before.id != fetched.commit.id) {
            let signed = self.report.signed_by().map(|by| format!(", signed by {by}")).unwrap_or_default();
            let CommitFacts { subject, author, .. } = &fetched.commit;
            let message = format!("{} is in force: {subject} ({author}){signed}", revision.shown);
            self.event(false, Reason::Accepted, message).await;
        }
        self.recovered("revision");
        self.activate(active, rendered).await;
        self.report.accept(&revision, &fetched.commit, now);
        let (mirrors, name, commit) = (self.with.mirrors.clone(), self.kept_as(), revision.commit);
        // A force-push must not take away what is in force.
        let _ = tokio::task::spawn_blocking(move || mirrors.keep_commit(&url, &name, &commit)).await;
    }

    /// From now on this revision counts, and is published.
    async fn activate(&mut self, active: ActiveRevision, rendered: RenderedRevision) {
        let is_first = self.active.is_none();
        let resumes = is_first && self.was_published(&active.revision).await;
        self.active = Some(active);
        let before = self.builder.accept(&rendered);
        self.plan_publication(rendered, &before, resumes);
    }

    /// After a start with nothing in force: the last good revision, if the mirror still has it.
    pub(super) async fn restore_last_good(&mut self) {
        if self.builder.has_any() {
            return;
        }
        let Some(commit) = self.report.commit.clone() else { return };
        let Some(shown) = self.report.revision.clone() else { return };
        let revision = Revision { shown: shown.as_str().into(), commit: commit.id.as_str().into() };
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let rendered = if self.was_active(&revision).await {
            self.build(&revision).await
        } else {
            let message = "it was not in force here with this url and path, and spec.verify asks for a signature";
            Err(ReconcileError::terminal(Reason::Unsigned, message))
        };
        match rendered {
            Ok(rendered) => {
                info!(revision = %revision.shown, "the last good revision is in force");
                self.activate(ActiveRevision { url, path, revision }, rendered).await;
            }
            Err(error) => {
                if self.is_new("last good", &error) {
                    warn!(revision = %revision.shown, "the last good revision cannot be used: {}", error.message);
                }
            }
        }
    }

    /// Under which name what is in force is kept. The path is part of it: another one makes another fleet of a commit.
    fn kept_as(&self) -> String {
        hash::of(&serde_json::json!([&*self.namespace, &*self.name, self.object.spec.path]))
    }

    /// Whether what the status calls the last good revision is known to have been in force, as far as it must be: where
    /// signatures are asked for, the word of a status is not enough.
    async fn was_active(&self, revision: &Revision) -> bool {
        self.object.spec.verify.is_none() || self.is_kept(revision).await
    }

    /// Whether a revision was in force with this url and path when the process before ended, so that what it removes was
    /// judged then.
    async fn was_published(&self, revision: &Revision) -> bool {
        let is_last = self.report.commit.as_ref().is_some_and(|commit| *commit.id == *revision.commit);
        is_last && (self.report.is_of_spec(&self.object) || self.is_kept(revision).await)
    }

    /// Whether the mirror says that a revision was in force here with this url and path.
    async fn is_kept(&self, revision: &Revision) -> bool {
        let (mirrors, name, commit) = (self.with.mirrors.clone(), self.kept_as(), revision.commit.clone());
        let url = self.object.spec.url.clone();
        tokio::task::spawn_blocking(move || mirrors.keeps(&url, &name, &commit)).await.unwrap_or(false)
    }

    /// Reads, checks and renders a revision.
    async fn build(&mut self, revision: &Revision) -> Result<RenderedRevision, ReconcileError> {
        let (mirrors, builder) = (self.with.mirrors.clone(), self.builder.clone());
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let before = self.active.clone();
        let (namespace, source, wanted) = (self.namespace.clone(), self.name.clone(), revision.clone());
        let rendered = tokio::task::spawn_blocking(move || {
            let unreadable = |error: reeve_reconciler_git::MirrorError| {
                ReconcileError::terminal(error.reason(), reeve_process::error_chain(&error))
            };
            let tree = mirrors.tree(&url, &wanted.commit, &path).map_err(unreadable)?;
            let before =
                before.and_then(|before| mirrors.tree(&before.url, &before.revision.commit, &before.path).ok());
            let before = before.as_ref().map(|tree| tree as &dyn reeve_renderer::tree::Tree);
            builder.build(&tree, before, &wanted, (&namespace, &source)).map_err(|error| match error {
                BuildError::Refused { ref findings } => {
                    let errors = findings.iter().filter(|error| error.is_error());
                    // A finding of another kind says more of what to do about the commit.
                    let reason = if errors.clone().all(|error| error.code == "released-chart") {
                        Reason::ReleasedChartChanged
                    } else {
                        Reason::Invalid
                    };
                    ReconcileError { count: errors.count(), ..ReconcileError::terminal(reason, error.to_string()) }
                }
                BuildError::Read(_) => {
                    ReconcileError::transient(Reason::Unreadable, reeve_process::error_chain(&error))
                }
            })
        });
        let rendered = rendered
            .await
            .unwrap_or_else(|_| Err(ReconcileError::transient(Reason::Unreadable, "the render broke off")))?;
        self.check_claims(&rendered).await?;
        Ok(rendered)
    }
}
