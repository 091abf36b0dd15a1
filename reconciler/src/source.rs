//! Follows one repository: fetches, checks, renders, and tells the runtimes what they should be.
//!
//! A revision that cannot be had or used changes nothing: the last good one stays in force, and what is wrong is told.
//! What is in force is published in small batches. Between two of them the source looks whether it is suspended or
//! deleted, and whether there is a newer commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::git_source::GitRef;
use reeve_crds::{GitSource, Runtime, annotation};
use reeve_reconciler_engine::backoff::Backoff;
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::rollup::Rollup;
use reeve_reconciler_engine::runtime::{Message, Setup};
use reeve_reconciler_git::{Hooks, Mirrors};
use tokio::sync::{Notify, watch};

use crate::metrics::{Metrics, SourceGauge};

mod builder;
mod fetching;
mod finalizer;
mod hooks;
mod object;
mod publication;
mod publish;
mod report;
mod revision;
mod status;
mod trust;
mod write;

pub use object::spec;

use builder::RevisionBuilder;
use hooks::WebhookRegistration;
use publication::Publication;
use publish::Writing;
use status::Report;

/// How long the state of runtimes may take to show on their source.
const ROLLUP: Duration = Duration::from_secs(2);
/// First pause after a failed fetch; it doubles up to the interval.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// Where runtimes are found by their name, and what a source may do to them.
pub trait Runtimes: Send + Sync {
    /// Tells a runtime's worker something, be it there yet or not. The change says whether it is news.
    fn update_message(&self, namespace: &str, name: &str, change: &mut dyn FnMut(&mut Message) -> bool);

    /// The Runtime as the cluster has it.
    fn object(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>>;

    /// The names of those that come from a source.
    fn of_source(&self, namespace: &str, source: &str) -> Vec<Arc<str>>;
}

/// What a source works with.
#[derive(Clone)]
pub struct SourceSetup {
    /// What its runtimes are kept with.
    pub engine: Setup,
    /// What is counted.
    pub metrics: Metrics,
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
            .field("engine", &self.engine)
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
    builder: Arc<RevisionBuilder>,
    active: Option<ActiveRevision>,
    publication: Publication,
    writing: Writing,
    /// The commit that was found the last time, and by which reference.
    last_seen: Option<(GitRef, String)>,
    failures: u32,
    next_poll: Timestamp,
    /// When the status is written at the latest while more is to be published.
    next_status: Timestamp,
    /// What asks to reconcile, until that is done.
    request: Option<String>,
    report: Report,
    summary: SourceGauge,
    written: serde_json::Value,
    told: BTreeMap<&'static str, String>,
    /// What people are told when it fails no longer, if they were told that it does.
    failing: Option<&'static str>,
    webhook: WebhookRegistration,
}

/// The revision that counts.
#[derive(Clone, Debug)]
struct ActiveRevision {
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
        let now = with.engine.clock.now();
        // That it was not trusted before a restart is no news after it.
        let withheld = status::withheld(&status.conditions);
        let withheld = withheld.map(|error| ("removals", format!("{}: {}", error.reason, error.message)));
        let told = status::distrust(&status).map(|line| ("signature", line)).into_iter().chain(withheld).collect();
        Self {
            namespace: object.metadata.namespace.as_deref().unwrap_or_default().into(),
            name: object.metadata.name.as_deref().unwrap_or_default().into(),
            next_poll: now,
            next_status: now,
            request: None,
            written: reeve_reconciler_engine::patch::to_json(&status),
            report: Report::begin(status, now),
            summary: with.metrics.observe_source(),
            with,
            objects,
            object,
            rollup,
            wake: Arc::new(Notify::new()),
            builder: Arc::new(RevisionBuilder::new()),
            active: None,
            publication: Publication::default(),
            writing: Writing::default(),
            last_seen: None,
            failures: 0,
            told,
            failing: None,
            webhook: WebhookRegistration::default(),
        }
    }

    /// Follows it until the work is stopped or the source is gone.
    pub async fn run(mut self) {
        let stop = self.with.engine.stop.clone();
        let clock = self.with.engine.clock.clone();
        let rollup = self.rollup.clone();
        let wake = self.wake.clone();
        if self.object.spec.suspend {
            self.send_suspend();
        }
        loop {
            if self.object.metadata.deletion_timestamp.is_some() && self.finalize().await {
                break;
            }
            self.ensure_finalizer().await;
            if self.is_due() {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = self.pull() => {}
                }
            }
            let more = tokio::select! {
                () = stop.cancelled() => break,
                more = self.publish() => more,
            };
            let now = clock.now();
            if !more || now >= self.next_status {
                self.next_status = after(now, ROLLUP);
                self.publish_status().await;
            }
            let next_look = self.next_look();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                changed = self.objects.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.on_object();
                    self.restore();
                }
                () = wake.notified() => self.next_poll = clock.now(),
                () = std::future::ready(()), if more => {}
                () = clock.sleep_until(next_look) => {}
                () = async {
                    rollup.changed().await;
                    clock.sleep(ROLLUP).await;
                } => {}
            }
        }
    }

    fn is_due(&self) -> bool {
        self.may_act() && self.with.engine.clock.now() >= self.next_poll
    }

    /// Whether anything may be fetched or published.
    fn may_act(&self) -> bool {
        !self.object.spec.suspend && self.object.metadata.deletion_timestamp.is_none()
    }

    /// When there is something to do although nobody says so.
    fn next_look(&self) -> Timestamp {
        if self.object.metadata.deletion_timestamp.is_some() {
            // Told when its runtimes are gone; a request that failed is sent again.
            return after(self.with.engine.clock.now(), FIRST_PAUSE);
        }
        if self.object.spec.suspend { Timestamp::MAX } else { self.next_poll.min(self.writing.retry_at) }
    }

    fn on_object(&mut self) {
        let object = self.objects.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.object, object);
        let request = |object: &GitSource| {
            object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned()
        };
        let is_known = |asked: &String| [&self.report.handled, &self.request].contains(&&Some(asked.clone()));
        let asked = request(&self.object).filter(|asked| !is_known(asked));
        if before.spec != self.object.spec || asked.is_some() {
            self.next_poll = self.with.engine.clock.now();
            self.failures = 0;
        }
        if before.spec.suspend != self.object.spec.suspend {
            // When it is resumed, Git is asked first whether they still have to go.
            for name in self.publication.pause_removals() {
                self.hold_removal(&name);
            }
            self.send_suspend();
        }
    }

    fn send_suspend(&self) {
        let suspended = self.object.spec.suspend;
        // Also those that are in Git and were not seen in the cluster yet.
        let mut names = self.builder.names();
        names.extend(self.with.runtimes.of_source(&self.namespace, &self.name));
        for name in names {
            self.with.runtimes.update_message(&self.namespace, &name, &mut |message| {
                std::mem::replace(&mut message.source_suspended, suspended) != suspended
            });
        }
    }

    /// Looks for a new revision and puts it in force if it is good.
    async fn pull(&mut self) {
        let request = self.object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned();
        let now = self.with.engine.clock.now();
        self.report.generation = self.object.metadata.generation;
        self.restore();
        self.write_unwritten();
        match self.fetch().await {
            Ok(fetched) => {
                let before = std::mem::take(&mut self.failures);
                self.report.fetched(now);
                if self.is_trusted(&fetched).await {
                    self.on_fetched(fetched).await;
                }
                if self.report.is_fetched() {
                    self.recovered("fetch");
                }
                if self.failures > 0 {
                    self.failures += before;
                }
            }
            Err(error) => self.unfetched(error).await,
        }
        self.notify_failure();
        self.request = request.or(self.request.take());
        // What is in force is told at once, before all of it is published.
        let now = self.with.engine.clock.now();
        self.next_status = now;
        self.next_poll = after(now, self.pause(self.failures));
    }

    /// Until the next look: the interval with some jitter, sooner after failures.
    fn pause(&self, failures: u32) -> Duration {
        let interval: Duration = self.object.spec.interval.into();
        let pause = match failures {
            0 => interval,
            failures => Backoff::new(FIRST_PAUSE, interval.max(FIRST_PAUSE)).delay(failures - 1),
        };
        let seed = self
            .name
            .bytes()
            .chain(self.namespace.bytes())
            .fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        // Later by up to a tenth, so that sources made together are not asked together.
        pause.mul_f64(1.0 + f64::from(seed % 100) / 1000.0)
    }
}
