//! Follows one repository: fetches, checks, renders, and tells the runtimes what they should be.
//!
//! A revision that cannot be had or used changes nothing: the last good one stays in force, and what is wrong is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::git_source::GitRef;
use reeve_crds::{GitSource, Runtime, annotation};
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use crate::clock::{after, since};
use crate::desired::Revision;
use crate::git::{CommitFacts, Fetched, Hooks, Mirrors};
use crate::hash;
use crate::metrics::SourceStanding;
use crate::runtime::{Handle, Rollup, Setup};

mod fetching;
mod hooks;
mod object;
mod publish;
mod status;
mod telling;
mod trust;
mod workshop;

pub use object::spec;

use hooks::Listening;
use status::{Finding, Report};
use workshop::{OpenError, Workshop};

/// How long the state of runtimes may take to show on their source.
const ROLLUP: Duration = Duration::from_secs(2);
/// First pause after a failed fetch; it doubles up to the interval.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// Where runtimes are found by their name, and what a source may do to them.
pub trait Runtimes: Send + Sync {
    /// The way to a runtime's worker, be it there yet or not.
    fn handle(&self, namespace: &str, name: &str) -> Handle;

    /// The Runtime as the cluster has it.
    fn object(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>>;

    /// The names of those that come from a source.
    fn of_source(&self, namespace: &str, source: &str) -> Vec<Arc<str>>;
}

/// What a source works with.
#[derive(Clone)]
pub struct SourceSetup {
    /// As for runtimes.
    pub setup: Setup,
    /// Where repositories are mirrored.
    pub mirrors: Mirrors,
    /// Where webhooks are registered.
    pub hooks: Hooks,
    /// Whom to tell.
    pub runtimes: Arc<dyn Runtimes>,
}

impl std::fmt::Debug for SourceSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceSetup")
            .field("setup", &self.setup)
            .field("mirrors", &self.mirrors)
            .finish_non_exhaustive()
    }
}

/// Follows one source.
pub struct Source {
    with: SourceSetup,
    objects: watch::Receiver<Arc<GitSource>>,
    object: Arc<GitSource>,
    namespace: Arc<str>,
    name: Arc<str>,
    rollup: Rollup,
    wake: Arc<Notify>,
    workshop: Arc<Workshop>,
    in_force: Option<InForce>,
    /// The commit that was found the last time, and by which reference.
    last_seen: Option<(GitRef, String)>,
    failures: u32,
    next_poll: Timestamp,
    report: Report,
    standing: SourceStanding,
    written: serde_json::Value,
    told: BTreeMap<&'static str, String>,
    /// What people are told when it fails no longer, if they were told that it does.
    failing: Option<&'static str>,
    listening: Listening,
}

/// The revision that counts.
#[derive(Clone, Debug)]
struct InForce {
    url: String,
    path: String,
    revision: Revision,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("namespace", &self.namespace).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    /// Follows what this object says, which may change.
    pub fn new(with: SourceSetup, mut objects: watch::Receiver<Arc<GitSource>>, rollup: Rollup) -> Self {
        let object = objects.borrow_and_update().clone();
        let status = object.status.clone().unwrap_or_default();
        let now = with.setup.clock.now();
        // That it was not trusted before a restart is no news after it.
        let told = status::distrust(&status).map(|line| ("signature", line)).into_iter().collect();
        Self {
            namespace: object.metadata.namespace.as_deref().unwrap_or_default().into(),
            name: object.metadata.name.as_deref().unwrap_or_default().into(),
            next_poll: now,
            written: crate::runtime::as_json(&status),
            report: Report::begin(status, now),
            standing: with.setup.metrics.follow_source(),
            with,
            objects,
            object,
            rollup,
            wake: Arc::new(Notify::new()),
            workshop: Arc::new(Workshop::new()),
            in_force: None,
            last_seen: None,
            failures: 0,
            told,
            failing: None,
            listening: Listening::default(),
        }
    }

    /// Follows it until the work is stopped or the source is gone.
    pub async fn run(mut self) {
        let stop = self.with.setup.stop.clone();
        let clock = self.with.setup.clock.clone();
        let rollup = self.rollup.clone();
        let wake = self.wake.clone();
        if self.object.spec.suspend {
            self.tell_suspend();
        }
        loop {
            if self.object.metadata.deletion_timestamp.is_some() && self.let_go().await {
                break;
            }
            self.hold_on().await;
            if self.is_due() {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = self.pull() => {}
                }
            }
            self.publish_status().await;
            let next_look = self.next_look();
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.objects.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.take_object();
                    self.restore().await;
                }
                () = wake.notified() => self.next_poll = clock.now(),
                () = clock.sleep_until(next_look) => {}
                () = async {
                    rollup.changed().await;
                    clock.sleep(ROLLUP).await;
                } => {}
            }
        }
    }

    fn is_due(&self) -> bool {
        !self.object.spec.suspend
            && self.object.metadata.deletion_timestamp.is_none()
            && self.with.setup.clock.now() >= self.next_poll
    }

    /// When there is something to do although nobody says so.
    fn next_look(&self) -> Timestamp {
        if self.object.metadata.deletion_timestamp.is_some() {
            // Told when its runtimes are gone; a request that failed is sent again.
            return after(self.with.setup.clock.now(), FIRST_PAUSE);
        }
        if self.object.spec.suspend { Timestamp::MAX } else { self.next_poll }
    }

    fn take_object(&mut self) {
        let object = self.objects.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.object, object);
        let request = |object: &GitSource| {
            object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned()
        };
        let asked = request(&self.object).filter(|asked| self.report.handled.as_ref() != Some(asked));
        if before.spec != self.object.spec || asked.is_some() {
            self.next_poll = self.with.setup.clock.now();
            self.failures = 0;
        }
        if before.spec.suspend != self.object.spec.suspend {
            self.tell_suspend();
        }
    }

    fn tell_suspend(&self) {
        for name in self.with.runtimes.of_source(&self.namespace, &self.name) {
            let suspended = self.object.spec.suspend;
            self.with.runtimes.handle(&self.namespace, &name).tell(|message| message.source_suspended = suspended);
        }
    }

    /// Looks for a new revision and puts it in force if it is good.
    async fn pull(&mut self) {
        let request = self.object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned();
        let now = self.with.setup.clock.now();
        self.report.generation = self.object.metadata.generation;
        self.try_again().await;
        match self.fetch().await {
            Ok(fetched) => {
                let before = std::mem::take(&mut self.failures);
                self.report.fetched(now);
                if self.is_trusted(&fetched).await {
                    self.consider(fetched).await;
                }
                if self.report.is_fetched() {
                    self.recovered("fetch");
                }
                if !self.report.unwritten.is_empty() {
                    self.failures = self.failures.max(1);
                }
                if self.failures > 0 {
                    self.failures += before;
                }
            }
            Err(finding) => self.unfetched(finding).await,
        }
        self.tell_people();
        self.report.handled = request.or(self.report.handled.take());
        self.next_poll = after(self.with.setup.clock.now(), self.pause(self.failures));
    }

    /// Until the next look: the interval with some jitter, sooner after failures.
    fn pause(&self, failures: u32) -> Duration {
        let interval: Duration = self.object.spec.interval.into();
        let pause = match failures {
            0 => interval,
            failures => FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16)).min(interval.max(FIRST_PAUSE)),
        };
        let seed = self
            .name
            .bytes()
            .chain(self.namespace.bytes())
            .fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        // Later by up to a tenth, so that sources made together are not asked together.
        pause.mul_f64(1.0 + f64::from(seed % 100) / 1000.0)
    }

    /// Takes a fetched commit if it is another than the one in force, and good.
    async fn consider(&mut self, fetched: Fetched) {
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
        let revision = Revision { shown: fetched.revision.as_str().into(), commit: fetched.commit.id.as_str().into() };
        let began = self.with.setup.clock.now();
        let opened = self.open(&revision).await;
        let metrics = &self.with.setup.metrics;
        metrics.rendered(since(self.with.setup.clock.now(), began));
        match &opened {
            Ok(()) => metrics.revision("accepted"),
            Err(finding) if finding.transient => {}
            Err(_) => metrics.revision("rejected"),
        }
        match opened {
            Ok(()) => self.accepted(fetched, revision, url, path).await,
            // Nothing is wrong with the commit: it is tried again.
            Err(finding) if finding.transient => self.unfetched(finding).await,
            Err(finding) => self.refused(&revision, finding).await,
        }
    }

    async fn accepted(&mut self, fetched: Fetched, revision: Revision, url: String, path: String) {
        let now = self.with.setup.clock.now();
        info!(source = %self.name, revision = %revision.shown, "accepted");
        if self.report.commit.as_ref().is_none_or(|before| before.id != fetched.commit.id) {
            let signed = self.report.signed_by().map(|by| format!(", signed by {by}")).unwrap_or_default();
            let CommitFacts { subject, author, .. } = &fetched.commit;
            let message = format!("{} is in force: {subject} ({author}){signed}", revision.shown);
            self.event(false, "Accepted", message).await;
        }
        self.recovered("revision");
        self.report.accept(&revision, &fetched.commit, now);
        let (mirrors, name, commit) = (self.with.mirrors.clone(), self.kept_as(), revision.commit.clone());
        let kept_url = url.clone();
        // A force-push must not take away what is in force.
        let _ = tokio::task::spawn_blocking(move || mirrors.keep(&kept_url, &name, &commit)).await;
        self.in_force = Some(InForce { url, path, revision });
    }

    /// After a start with nothing in force: the last good revision, if the mirror still has it.
    async fn fall_back(&mut self) {
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
            Ok(()) => {
                info!(source = %self.name, revision = %revision.shown, "the last good revision is in force");
                self.in_force = Some(InForce { url, path, revision });
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
        if self.object.spec.verify.is_none() {
            return true;
        }
        let (mirrors, name, commit) = (self.with.mirrors.clone(), self.kept_as(), revision.commit.clone());
        let url = self.object.spec.url.clone();
        tokio::task::spawn_blocking(move || mirrors.keeps(&url, &name, &commit)).await.unwrap_or(false)
    }

    /// Reads, checks and renders a revision, and hands it out if it is good.
    async fn open(&mut self, revision: &Revision) -> Result<(), Finding> {
        let (mirrors, workshop) = (self.with.mirrors.clone(), self.workshop.clone());
        let (url, path) = (self.object.spec.url.clone(), self.object.spec.path.clone());
        let before = self.in_force.clone();
        let (namespace, source, wanted) = (self.namespace.clone(), self.name.clone(), revision.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let unreadable = |error: crate::git::MirrorError| {
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
        self.hand_out(&opened).await?;
        self.workshop.accept(&opened);
        Ok(())
    }
}
