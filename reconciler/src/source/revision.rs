//! From a fetched commit to the revision in force: built, judged, and put in force if it is good.

use tracing::{info, warn};

use super::status::Finding;
use super::workshop::{OpenError, Opened};
use super::{InForce, Source};
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::hash;
use reeve_reconciler_git::{CommitFacts, Fetched};

impl Source {
    /// Takes a fetched commit if it is another than the one in force, and good.
    pub(super) async fn consider(&mut self, fetched: Fetched) {
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let same = self
            .in_force
            .as_ref()
            .is_some_and(|now| *now.revision.commit == *fetched.commit.id && now.url == url && now.path == path);
        if same {
            if let Some(in_force) = &mut self.in_force {
                in_force.revision.shown = fetched.revision.as_str().into();
            }
            self.report.revision = Some(fetched.revision);
            if self.report.rejected.take().is_some() {
                self.recovered("revision");
            }
            return;
        }
        let rejected = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        if self.in_force.is_some() && rejected == Some(&*fetched.commit.id) && !self.report.spec_changed(&self.object) {
            return;
        }
        if self.report.commit.as_ref().is_some_and(|commit| commit.id != fetched.commit.id) {
            // After a start: what a newer one may remove is said by the one that was in force.
            self.fall_back().await;
        }
        let revision = Revision { shown: fetched.revision.as_str().into(), commit: fetched.commit.id.as_str().into() };
        let began = self.with.engine.clock.now();
        let opened = self.open(&revision).await;
        let metrics = &self.with.metrics;
        metrics.rendered(since(self.with.engine.clock.now(), began));
        match &opened {
            Ok(_) => metrics.revision("accepted"),
            Err(finding) if finding.transient => {}
            Err(_) => metrics.revision("rejected"),
        }
        match opened {
            Ok(opened) => self.accepted(fetched, InForce { url, path, revision }, opened).await,
            // Nothing is wrong with the commit: it is tried again.
            Err(finding) if finding.transient => self.unfetched(finding).await,
            Err(finding) => self.refused(&revision, finding).await,
        }
    }

    async fn accepted(&mut self, fetched: Fetched, in_force: InForce, opened: Opened) {
        let InForce { url, revision, .. } = in_force.clone();
        let now = self.with.engine.clock.now();
        info!(source = %self.name, revision = %revision.shown, "accepted");
        if self.report.commit.as_ref().is_none_or(|before| before.id != fetched.commit.id) {
            let signed = self.report.signed_by().map(|by| format!(", signed by {by}")).unwrap_or_default();
            let CommitFacts { subject, author, .. } = &fetched.commit;
            let message = format!("{} is in force: {subject} ({author}){signed}", revision.shown);
            self.event(false, "Accepted", message).await;
        }
        self.recovered("revision");
        self.put_in_force(in_force, opened).await;
        self.report.accept(&revision, &fetched.commit, now);
        let (mirrors, name, commit) = (self.with.mirrors.clone(), self.kept_as(), revision.commit);
        // A force-push must not take away what is in force.
        let _ = tokio::task::spawn_blocking(move || mirrors.keep(&url, &name, &commit)).await;
    }

    /// From now on this revision counts, and is published.
    async fn put_in_force(&mut self, in_force: InForce, opened: Opened) {
        let is_first = self.in_force.is_none();
        let resumes = is_first && self.was_published(&in_force.revision).await;
        self.in_force = Some(in_force);
        let before = self.workshop.accept(&opened);
        self.plan_publication(opened, &before, resumes);
    }

    /// After a start with nothing in force: the last good revision, if the mirror still has it.
    pub(super) async fn fall_back(&mut self) {
        if self.workshop.has_any() {
            return;
        }
        let Some(commit) = self.report.commit.clone() else { return };
        let Some(shown) = self.report.revision.clone() else { return };
        let revision = Revision { shown: shown.as_str().into(), commit: commit.id.as_str().into() };
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let opened = if self.was_in_force(&revision).await {
            self.open(&revision).await
        } else {
            let message = "it was not in force here with this url and path, and spec.verify asks for a signature";
            Err(Finding::new("Unsigned", message, false))
        };
        match opened {
            Ok(opened) => {
                info!(source = %self.name, revision = %revision.shown, "the last good revision is in force");
                self.put_in_force(InForce { url, path, revision }, opened).await;
            }
            Err(finding) => {
                if self.is_news("last good", &finding) {
                    warn!(source = %self.name, revision = %revision.shown, "the last good revision cannot be used: {}", finding.message);
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
    async fn was_in_force(&self, revision: &Revision) -> bool {
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
    async fn open(&mut self, revision: &Revision) -> Result<Opened, Finding> {
        let (mirrors, workshop) = (self.with.mirrors.clone(), self.workshop.clone());
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let before = self.in_force.clone();
        let (namespace, source, wanted) = (self.namespace.clone(), self.name.clone(), revision.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let unreadable = |error: reeve_reconciler_git::MirrorError| {
                Finding::new(error.reason(), reeve_process::error_chain(&error), false)
            };
            let tree = mirrors.tree(&url, &wanted.commit, &path).map_err(unreadable)?;
            let before =
                before.and_then(|before| mirrors.tree(&before.url, &before.revision.commit, &before.path).ok());
            let before = before.as_ref().map(|tree| tree as &dyn reeve_renderer::tree::Tree);
            workshop.open(&tree, before, &wanted, (&namespace, &source)).map_err(|error| match error {
                OpenError::Refused { ref findings } => {
                    let errors = findings.iter().filter(|finding| finding.is_error());
                    let reason = if errors.clone().any(|finding| finding.code == "released-chart") {
                        "ReleasedChartChanged"
                    } else {
                        "Invalid"
                    };
                    Finding { count: Some(errors.count()), ..Finding::new(reason, error.to_string(), false) }
                }
                OpenError::Read(_) => Finding::new("Unreadable", reeve_process::error_chain(&error), true),
            })
        });
        let opened = opened.await.unwrap_or_else(|_| Err(Finding::new("Unreadable", "the render broke off", true)))?;
        self.check_claims(&opened).await?;
        Ok(opened)
    }
}
