//! The heart of a source: when to ask Git, what to put in force, and what to publish next. Pure.
//!
//! It never reads a clock, a repository or a cluster: time and events are handed to it, what is known of Runtimes is behind
//! [`Observed`], and what it decides comes back as effects. `Source` is the shell that turns IO into events and effects into
//! IO; the simulation drives the same machine through random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::git_source::{GitRef, SourceDeletion};
use reeve_crds::{GitSource, Reason, State, annotation};
use reeve_reconciler_engine::backoff::Backoff;
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::notification::NotificationBody;
use reeve_reconciler_engine::rollup::RuntimeSummary;
use tracing::{info, warn};

use super::builder::InForce;
use super::finalizer::FINALIZER;
use super::publication::Publication;
use super::status::{self, Report};

mod effect;
mod publish;
mod pull;
#[cfg(test)]
mod simulation;

pub(super) use effect::{BuildOrder, Built, Count, Distrust, Effect, Event, Fetch, FetchOrder, Observed, Verified};
use publish::Writing;
use pull::{Pull, Purpose};

/// How long the state of runtimes may take to show on their source.
pub(super) const ROLLUP: Duration = Duration::from_secs(2);
/// First pause after a failed fetch; it doubles up to the interval.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// Failures in a row after which people are told.
const REPEATED: u32 = 3;

/// What is under way. Nothing else is begun meanwhile.
#[derive(Debug)]
enum Busy {
    Idle,
    Fetching(Pull),
    Building(Pull, Purpose),
    Writing,
}

/// The revision that counts.
#[derive(Clone, Debug)]
pub(super) struct ActiveRevision {
    pub(super) url: String,
    pub(super) path: String,
    pub(super) revision: Revision,
}

/// What is known of one source, and what is done about it.
#[derive(Debug)]
pub(super) struct Machine {
    object: Arc<GitSource>,
    busy: Busy,
    active: Option<ActiveRevision>,
    /// What each runtime should be by the active revision.
    in_force: Arc<InForce>,
    publication: Publication,
    /// Runtimes whose file left Git, which said last that their objects stay.
    keeping_objects: BTreeSet<Arc<str>>,
    /// The generation in which each Runtime was last compared with its file.
    compared: BTreeMap<Arc<str>, Option<i64>>,
    /// Whether there may be more to publish.
    more: bool,
    /// Whether Runtimes are yet to be written, as workers were told last.
    publishing: bool,
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
    /// The last failure that was told, by what it is about.
    told: BTreeMap<&'static str, String>,
    /// What people are told when it fails no longer, if they were told that it does.
    failing: Option<&'static str>,
    /// The time of the step, and what it has decided so far.
    now: Timestamp,
    effects: Vec<Effect>,
}

impl Machine {
    /// The machine of a source that is like this when the process starts.
    pub(super) fn new(object: Arc<GitSource>, now: Timestamp) -> Self {
        let status = object.status.clone().unwrap_or_default();
        // That it was not trusted before a restart is no news after it.
        let withheld = status::withheld(&status.conditions);
        let withheld = withheld.map(|error| ("removals", format!("{}: {}", error.reason, error.message)));
        let told = status::distrust(&status).map(|line| ("signature", line)).into_iter().chain(withheld).collect();
        Self {
            object,
            busy: Busy::Idle,
            active: None,
            in_force: Arc::default(),
            publication: Publication::default(),
            keeping_objects: BTreeSet::new(),
            compared: BTreeMap::new(),
            more: false,
            publishing: false,
            writing: Writing::default(),
            last_seen: None,
            failures: 0,
            next_poll: now,
            next_status: now,
            request: None,
            report: Report::begin(status, now),
            told,
            failing: None,
            now,
            effects: Vec::new(),
        }
    }

    /// Takes in what happened, and decides what is to be done.
    pub(super) fn step(&mut self, event: Event, view: &dyn Observed, now: Timestamp) -> Vec<Effect> {
        self.now = now;
        // What people and Git said while something was under way comes before the next batch.
        let may_publish = match event {
            Event::Started | Event::Object(_) | Event::Push | Event::Timer => true,
            Event::Fetched(_) | Event::Built(_) | Event::Written(_) | Event::BrokeOff => false,
        };
        self.more |= !may_publish;
        match event {
            Event::Started => self.send_suspend_if_suspended(view),
            Event::Object(object) => self.on_object(object, view),
            Event::Push => self.next_poll = now,
            Event::Timer => {}
            Event::Fetched(fetched) => self.on_fetched(*fetched),
            Event::Built(built) => self.on_built(*built, view),
            Event::Written(results) => self.on_written(results),
            Event::BrokeOff => self.on_broken_off(),
        }
        self.advance(may_publish, view);
        let has_more = self.may_act() && !self.publication.is_written();
        let publishing = has_more || matches!(self.busy, Busy::Writing);
        if std::mem::replace(&mut self.publishing, publishing) != publishing {
            // Before the first of them is sent anything.
            let at = if publishing { 0 } else { self.effects.len() };
            self.effects.insert(at, Effect::SetPublishing(publishing));
        }
        std::mem::take(&mut self.effects)
    }

    /// Begins what may begin now.
    fn advance(&mut self, may_publish: bool, view: &dyn Observed) {
        if !matches!(self.busy, Busy::Idle) {
            return;
        }
        if self.is_deleting() {
            self.finalize(view);
        } else {
            self.ensure_finalizer();
        }
        if self.is_due() {
            return self.pull(view);
        }
        if may_publish {
            self.more = self.publish(view);
        }
        if matches!(self.busy, Busy::Writing) {
            // Nothing is said of what is under way.
            return;
        }
        if !self.more || self.now >= self.next_status {
            self.next_status = after(self.now, ROLLUP);
            self.report_status(view);
        }
    }

    /// The `GitSource` as it was last told.
    pub(super) fn object(&self) -> &Arc<GitSource> {
        &self.object
    }

    /// Whether there is more to publish at once.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    /// When there is something to do although nobody says so.
    pub(super) fn next_timer(&self) -> Timestamp {
        if self.is_deleting() {
            // Told when its runtimes are gone; a request that failed is sent again.
            return after(self.now, FIRST_PAUSE);
        }
        if self.object.spec.suspend { Timestamp::MAX } else { self.next_poll.min(self.writing.retry_at) }
    }

    fn is_deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether anything may be fetched or published.
    fn may_act(&self) -> bool {
        !self.object.spec.suspend && !self.is_deleting()
    }

    fn is_due(&self) -> bool {
        self.may_act() && self.now >= self.next_poll
    }

    fn on_object(&mut self, object: Arc<GitSource>, view: &dyn Observed) {
        let before = std::mem::replace(&mut self.object, object);
        let is_known = |asked: &String| [&self.report.handled, &self.request].contains(&&Some(asked.clone()));
        let asked = self.requested().filter(|asked| !is_known(asked));
        if before.spec != self.object.spec || asked.is_some() {
            self.next_poll = self.now;
            self.failures = 0;
        }
        if before.spec.suspend != self.object.spec.suspend {
            // When it is resumed, Git is asked first whether they still have to go.
            self.pause_removals();
            self.send_suspend(view);
        }
        self.restore(view);
    }

    /// What asks to look now.
    fn requested(&self) -> Option<String> {
        self.object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned()
    }

    fn send_suspend_if_suspended(&mut self, view: &dyn Observed) {
        if self.object.spec.suspend {
            self.send_suspend(view);
        }
    }

    fn send_suspend(&mut self, view: &dyn Observed) {
        // Also those that are in Git and were not seen in the cluster yet.
        let mut runtimes = self.in_force.names();
        runtimes.extend(view.runtimes());
        self.effects.push(Effect::SendSuspend { runtimes, suspended: self.object.spec.suspend });
    }

    /// Under which path the webhook is called, if there is one.
    pub(super) fn set_webhook(&mut self, registered: Result<Option<String>, ReconcileError>) {
        // Whoever cannot be called still looks.
        match registered {
            Ok(path) => {
                self.report.webhook_path = path;
                self.report.webhook_failure = None;
            }
            Err(error) => self.report.webhook_failure = Some(error),
        }
    }

    fn ensure_finalizer(&mut self) {
        let finalizers = self.object.metadata.finalizers.as_deref().unwrap_or_default();
        let is_there = finalizers.iter().any(|finalizer| finalizer == FINALIZER);
        if self.object.spec.deletion_policy == SourceDeletion::Delete && !is_there {
            self.effects.push(Effect::EnsureFinalizer);
        }
    }

    /// The source is being deleted: its runtimes go first, if it says so.
    fn finalize(&mut self, view: &dyn Observed) {
        let left = view.runtimes();
        if self.object.spec.deletion_policy != SourceDeletion::Delete || left.is_empty() {
            return self.effects.push(Effect::RemoveFinalizer);
        }
        let is_going =
            |name: &Arc<str>| view.object(name).is_some_and(|runtime| runtime.metadata.deletion_timestamp.is_some());
        let staying = left.into_iter().filter(|name| !is_going(name)).collect();
        self.effects.push(Effect::DeleteRuntimes(staying));
    }

    /// Until the next look: the interval with some jitter, sooner after failures.
    fn pause(&self, failures: u32) -> Duration {
        let interval: Duration = self.object.spec.interval.into();
        let pause = match failures {
            0 => interval,
            failures => Backoff::new(FIRST_PAUSE, interval.max(FIRST_PAUSE)).delay(failures - 1),
        };
        let (name, namespace) = (self.object.metadata.name.as_deref(), self.object.metadata.namespace.as_deref());
        let letters = name.unwrap_or_default().bytes().chain(namespace.unwrap_or_default().bytes());
        let seed = letters.fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        // Later by up to a tenth, so that sources made together are not asked together.
        pause.mul_f64(1.0 + f64::from(seed % 100) / 1000.0)
    }

    /// Tells people once that it fails again and again, and once that it does no longer.
    fn notify_failure(&mut self) {
        let unread = self.report.fetch_error().map(|error| {
            let last_good = self.report.revision.as_deref().unwrap_or("nothing yet");
            let message = format!("{} (last good: {last_good})", error.message);
            (error.reason, message, "the repository is read again")
        });
        let unwritten = || self.report.unwritten().map(|it| (it.reason, it.message, "all Runtimes are written again"));
        let body = match (unread.or_else(unwritten), self.failing) {
            (Some((reason, message, well)), None) if self.failures.max(self.writing.failures) >= REPEATED => {
                self.failing = Some(well);
                NotificationBody::Failed { reason, message }
            }
            (None, Some(well)) => {
                self.failing = None;
                NotificationBody::Recovered { message: well.to_owned() }
            }
            (Some(_), _) | (None, None) => return,
        };
        self.effects.push(Effect::Notify(body));
    }

    /// One line and one event per changed failure. True if it was told now.
    fn record_failure(&mut self, about: &'static str, error: &ReconcileError) -> bool {
        let is_new = self.is_new(about, error);
        if is_new {
            warn!(reason = %error.reason, "{}", error.message);
            self.emit(true, error.reason, error.message.clone());
        }
        is_new
    }

    /// Whether this was not the last that was told about it. From now on it is.
    fn is_new(&mut self, about: &'static str, error: &ReconcileError) -> bool {
        let line = format!("{}: {}", error.reason, error.message);
        self.told.insert(about, line.clone()) != Some(line)
    }

    fn recovered(&mut self, about: &'static str) {
        if self.told.remove(about).is_some() {
            info!(about, "well again");
        }
    }

    fn emit(&mut self, warning: bool, reason: Reason, note: String) {
        self.effects.push(Effect::EmitEvent { warning, reason, note });
    }

    /// Says how it is.
    fn report_status(&mut self, view: &dyn Observed) {
        if self.publication.is_written() {
            self.report.handled = self.request.take().or(self.report.handled.take());
        }
        self.report.left = self.publication.left();
        self.report.is_written = self.active.is_some() && self.publication.is_written();
        let status = status::source(&self.report, &self.object, &self.summaries(view), self.now);
        let facts = self.report.facts(status.state.unwrap_or_default());
        self.effects.push(Effect::PatchStatus(Box::new(status), facts));
    }

    /// How all runtimes are doing, also those that were not told yet what Git wants, or were not seen yet.
    fn summaries(&self, view: &dyn Observed) -> BTreeMap<Arc<str>, RuntimeSummary> {
        let mut summaries = view.summaries();
        let Some(active) = &self.active else { return summaries };
        let awaited = || RuntimeSummary {
            state: State::Processing,
            message: format!("{} was not looked at yet", active.revision.shown),
            ..RuntimeSummary::default()
        };
        for name in self.publication.changed() {
            summaries.insert(name.clone(), awaited());
        }
        for name in self.in_force.names() {
            summaries.entry(name).or_insert_with(awaited);
        }
        summaries
    }
}
