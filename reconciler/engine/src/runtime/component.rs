//! What the worker knows of one component, and what its health and phase make of its state. Pure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::Reason;
use reeve_crds::outcome::{Failure, Outcome};
use reeve_crds::runtime_component::{
    Health as ObjectHealth, RuntimeComponentSpec, RuntimeComponentStatus, UnhealthyObject,
};
use reeve_crds::{Lenient, ObjectRef, State};
use reeve_renderer_objects::key::ObjectKey;

use super::drift::Drifted;
use super::run::Operation;
use super::status;
use crate::backoff::Backoff;
use crate::clock::after;
use crate::desired::{DesiredComponent, Revision};
use crate::error::ReconcileError;
use crate::health::{Health, HealthState};
use crate::inventory::object_ref;
use crate::payload::Apply;
use crate::plan::View;

/// First pause after a failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// How far a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its namespaces and CRDs are being applied.
    ApplyingDefinitions,
    /// It waits for these; for none of them only until Git has spoken.
    Waiting(Vec<Arc<str>>),
    /// Its objects are being applied.
    Applying,
    /// Its objects are applied and have until then to become healthy.
    Settling { deadline: Timestamp },
    /// What comes last is being done: Jobs, and taking away what left Git.
    Finishing,
    /// All is as Git says.
    Ready,
    /// Something is in the way; it is tried again then.
    Failed { retry_at: Timestamp },
    /// Someone asked to leave it alone.
    Suspended,
    /// It left Git and is being taken away, or waits for those that need it.
    Removing,
}

/// How the objects of a component are doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HealthSummary {
    pub(super) healthy: i32,
    pub(super) total: i32,
    /// The worst first.
    pub(super) unhealthy: Vec<UnhealthyObject>,
    /// When the next of them counts as failed, if nothing changes before.
    pub(super) worse_at: Option<Timestamp>,
}

impl HealthSummary {
    /// Whether an object says that it will not become healthy by itself.
    pub(super) fn has_failed(&self) -> bool {
        self.unhealthy.iter().any(|object| object.health.known() == Some(&ObjectHealth::Failed))
    }
}

/// One component.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four facts that have nothing to do with each other")]
pub(super) struct ComponentState {
    pub(super) name: Arc<str>,
    /// What Git wants of it; `None` once it left Git.
    pub(super) desired: Option<Arc<DesiredComponent>>,
    pub(super) revision: Revision,
    pub(super) phase: Phase,
    /// Whether its foundations stand, so that others may build on them.
    pub(super) has_definitions: bool,
    /// Tells the task under way from those that were given up.
    pub(super) task: u64,
    pub(super) attempts: u32,
    pub(super) error: Option<(ReconcileError, Timestamp)>,
    /// Whether it failed in its last step, which a try reaches late.
    pub(super) failed_last_step: bool,
    pub(super) began: Timestamp,
    pub(super) applied_at: Option<Timestamp>,
    pub(super) changes: i32,
    pub(super) health: HealthSummary,
    /// The Job that its task waits for.
    pub(super) job: Option<String>,
    /// Drift that stands, and the fields we owned when it was told.
    pub(super) drift: HashMap<ObjectKey, Drifted>,
    pub(super) again_at: Option<Timestamp>,
    pub(super) suspended: bool,
    /// It was ready when the process started and nothing speaks against it yet: what was said of it stands.
    pub(super) verifying: bool,
    /// Why it was told to fail, if it was not told yet to be well again.
    pub(super) failing_reason: Option<Reason>,
    /// Objects changed while a task was under way, which may have looked before.
    pub(super) stale: bool,
    /// The annotation that asks to reconcile, until it is done.
    pub(super) request: Option<String>,
    /// The last one that was done.
    pub(super) answered: Option<String>,
    pub(super) generation: Option<i64>,
    /// The spec of its object, as the cluster has it or is about to; `None` if it has none that goes with the Runtime.
    pub(super) spec: Option<RuntimeComponentSpec>,
    /// The status of its object, likewise.
    pub(super) status: RuntimeComponentStatus,
}

impl ComponentState {
    pub(super) fn new(name: Arc<str>, status: RuntimeComponentStatus, now: Timestamp) -> Self {
        // Until its objects are looked at, which those of a suspended component are not, what was said of them stands.
        let (healthy, total) = status.health.as_ref().map_or((0, 0), |health| (health.ready, health.total));
        let health = HealthSummary { healthy, total, unhealthy: status.unhealthy.clone(), worse_at: None };
        Self {
            name,
            desired: None,
            revision: Revision::default(),
            phase: Phase::Waiting(Vec::new()),
            has_definitions: false,
            task: 0,
            attempts: 0,
            error: None,
            failed_last_step: false,
            began: now,
            applied_at: None,
            changes: 0,
            health,
            job: None,
            drift: HashMap::new(),
            again_at: None,
            suspended: false,
            verifying: false,
            failing_reason: status.failure.as_ref().map(|failure| failure.reason.parse().unwrap_or(Reason::Failed)),
            stale: false,
            request: None,
            answered: None,
            generation: None,
            spec: None,
            status,
        }
    }

    /// Git wants something else of it: what was known of the work on it counts no more.
    pub(super) fn restart(&mut self, now: Timestamp) {
        self.began = now;
        self.applied_at = None;
        self.changes = 0;
        self.attempts = 0;
        self.error = None;
        self.has_definitions = false;
    }

    /// Everything is applied, and has so long to become healthy, unless the component says otherwise.
    pub(super) fn on_applied(&mut self, again_at: Option<Timestamp>, timeout: Duration, now: Timestamp) {
        self.verifying = false;
        self.error.take_if(|_| !self.failed_last_step);
        // Of its namespaces and CRDs it was known before.
        self.again_at = self.again_at.filter(|at| *at > now).into_iter().chain(again_at).min();
        self.applied_at = Some(now);
        let Some(desired) = self.desired.clone() else { return };
        let before = self.status.applied.as_ref();
        if before.is_none_or(|before| !status::is_of(before, &desired)) {
            self.status.applied = Some(status::rendered(&desired, &self.revision, now));
        }
        self.phase = Phase::Settling { deadline: after(now, desired.timeout.unwrap_or(timeout)) };
    }

    /// All is as Git says.
    pub(super) fn on_ready(&mut self, now: Timestamp) {
        self.phase = Phase::Ready;
        self.error = None;
        self.attempts = 0;
        self.answer_request();
        let Some(desired) = self.desired.clone() else { return };
        if self.status.last_good.as_ref().is_none_or(|good| !status::is_of(good, &desired)) {
            self.status.last_good = Some(status::rendered(&desired, &self.revision, now));
            let entry = status::history(self, Outcome::Succeeded, None, now);
            status::remember(&mut self.status.history, entry);
        }
    }

    /// A try failed. True if it failed otherwise than the one before.
    pub(super) fn on_failed(&mut self, error: &ReconcileError, most: Duration, now: Timestamp) -> bool {
        self.failed_last_step = self.phase == Phase::Finishing;
        self.phase = Phase::Failed { retry_at: self.next_try(error, now, most) };
        self.attempts += 1;
        self.verifying = false;
        self.answer_request();
        let before = self.error.as_ref().map(|(before, _)| (before.reason, before.message.clone()));
        let since = self.error.as_ref().map_or(now, |(_, since)| *since);
        self.error = Some((error.clone(), since));
        if self.attempts == 1 && self.desired.is_some() {
            let entry = status::history(self, Outcome::Failed, Some(error.message.clone()), now);
            status::remember(&mut self.status.history, entry);
        }
        before != Some((error.reason, error.message.clone()))
    }

    /// Whether what Git wants was reached by whoever worked before.
    pub(super) fn was_ready(&self, desired: &DesiredComponent) -> bool {
        let good = self.status.last_good.as_ref();
        self.status.state == Some(State::Ready) && good.is_some_and(|good| status::is_of(good, desired))
    }

    /// Whether others that depend on it may begin.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether a task of it is under way.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::ApplyingDefinitions | Phase::Applying | Phase::Finishing)
    }

    /// When it has to be looked at again although nothing happens.
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        let (phase, worse_at) = match &self.phase {
            Phase::Failed { retry_at } => (Some(*retry_at), None),
            Phase::Settling { deadline } => {
                // Once it is told to be late there is nothing more to wait for.
                let deadline = (self.status.state != Some(State::Error)).then_some(*deadline);
                (deadline, self.health.worse_at)
            }
            _ => (None, None),
        };
        phase.into_iter().chain(self.again_at).chain(worse_at).min()
    }

    /// Whether the time has come to try it again.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let retry_at = match self.phase {
            Phase::Failed { retry_at } => Some(retry_at),
            _ => None,
        };
        retry_at.into_iter().chain(self.again_at).any(|at| at <= now)
    }

    /// What work on it is for.
    pub(super) fn operation(&self, desired: &DesiredComponent) -> Operation {
        match &self.status.last_good {
            None => Operation::Install,
            Some(good) if good.digest == *desired.digest => Operation::Reconcile,
            Some(_) => Operation::Upgrade,
        }
    }

    /// Whoever asked to look at it now is told that this was done.
    pub(super) fn answer_request(&mut self) {
        self.answered = self.request.take().or(self.answered.take());
    }

    /// The one word.
    pub(super) fn state(&self, now: Timestamp) -> State {
        match &self.phase {
            _ if self.verifying => State::Ready,
            Phase::Suspended => State::Suspended,
            Phase::Removing => self.error.as_ref().map_or(State::Deleting, |(error, _)| error.state()),
            Phase::Ready if self.drift.values().any(|drifted| !drifted.repaired) => State::Warning,
            Phase::Ready => State::Ready,
            Phase::Settling { .. } if self.lacks_only_contested() => State::Warning,
            Phase::Settling { deadline } if self.is_late(*deadline, now) => State::Error,
            Phase::ApplyingDefinitions
            | Phase::Waiting(_)
            | Phase::Applying
            | Phase::Settling { .. }
            | Phase::Finishing
            | Phase::Failed { .. } => self.error.as_ref().map_or(State::Processing, |(error, _)| error.state()),
        }
    }

    /// Whether all that is missing is deleted each time that it is made anew, and so is made less often.
    pub(super) fn lacks_only_contested(&self) -> bool {
        let contested =
            self.drift.values().filter(|drifted| !drifted.repaired && drifted.shown.contested == Some(true));
        let contested: Vec<&ObjectRef> = contested.map(|drifted| &drifted.shown.object).collect();
        let health = &self.health;
        let is_contested = |object: &UnhealthyObject| {
            object.health == Lenient::Known(ObjectHealth::Missing) && contested.contains(&&object.object)
        };
        !contested.is_empty()
            && !health.unhealthy.is_empty()
            && health.unhealthy.iter().all(is_contested)
            && usize::try_from(health.total - health.healthy) == Ok(health.unhealthy.len())
    }

    /// Whether health is overdue, or will not come by itself.
    pub(super) fn is_late(&self, deadline: Timestamp, now: Timestamp) -> bool {
        now >= deadline || self.health.has_failed()
    }

    /// Whether this failure of its health is to be told: when it turned, and once if all that was told is that it is late
    /// and now something has failed. What comes and goes after that is the same ailment.
    pub(super) fn is_new(&self, failure: &Failure, turned: bool) -> bool {
        turned || failure.reason == Reason::Unhealthy && self.failing_reason != Some(Reason::Unhealthy)
    }

    /// The Job for which was waited in vain, if it has ended since, and how.
    pub(super) fn ended_late(&self, view: &dyn View) -> Option<(ObjectKey, Health)> {
        let Phase::Failed { .. } = self.phase else { return None };
        let (error, _) = self.error.as_ref().filter(|(error, _)| error.reason == Reason::TimedOut)?;
        let jobs = self.desired.iter().flat_map(|desired| &desired.jobs).map(|job| &job.object);
        let job = jobs.into_iter().find(|job| Some(&job.key) == error.object.as_ref())?;
        let live = view.live(&job.key).filter(|live| live.content.as_deref() == Some(&*job.content))?;
        let ended = |health: &Health| matches!(health.state, HealthState::Current | HealthState::Failed);
        Some((job.key.clone(), live.health.filter(ended)?))
    }

    /// When to try again after one more failure: later each time, and never all at once.
    pub(super) fn next_try(&self, error: &ReconcileError, now: Timestamp, most: Duration) -> Timestamp {
        let pause = Backoff::new(FIRST_PAUSE, most).spread_delay(self.attempts, &self.name);
        after(now, error.retry_after.map_or(pause, |asked| asked.max(pause)))
    }
}

/// How the objects of a component are doing, as far as is known.
pub(super) fn summarize_health(desired: &DesiredComponent, view: &dyn View, now: Timestamp) -> HealthSummary {
    let mut condition = HealthSummary::default();
    let mut unhealthy: Vec<(u8, UnhealthyObject)> = Vec::new();
    for object in desired.objects.iter().filter(|object| object.options.apply != Apply::Never) {
        condition.total += 1;
        let (rank, health, message) = match view.live(&object.key) {
            None => (1, ObjectHealth::Missing, None),
            Some(live) if live.deleting.is_some() => (2, ObjectHealth::Terminating, live.deleting.map(String::from)),
            Some(live) => match live.health {
                None => {
                    condition.healthy += 1;
                    continue;
                }
                Some(health) => match health.at(now) {
                    HealthState::Current => {
                        condition.healthy += 1;
                        continue;
                    }
                    HealthState::Failed => (0, ObjectHealth::Failed, Some(health.message)),
                    HealthState::Terminating => (2, ObjectHealth::Terminating, Some(health.message)),
                    HealthState::InProgress => {
                        condition.worse_at = condition.worse_at.into_iter().chain(health.fails_at).min();
                        (3, ObjectHealth::InProgress, Some(health.message))
                    }
                },
            },
        };
        unhealthy
            .push((rank, UnhealthyObject { object: object_ref(&object.key), health: Lenient::Known(health), message }));
    }
    unhealthy.sort_by(|a, b| (a.0, &a.1.object).cmp(&(b.0, &b.1.object)));
    condition.unhealthy = unhealthy.into_iter().map(|(_, object)| object).take(10).collect();
    condition
}

/// The Job of a component that is under way, and how it is doing.
pub(super) fn job_under_way(desired: &DesiredComponent, view: &dyn View) -> Option<String> {
    desired.jobs.iter().map(|job| &job.object).find_map(|object| {
        let live = view.live(&object.key).filter(|live| live.content.as_deref() == Some(&*object.content))?;
        let health = live.health.filter(|health| health.state == HealthState::InProgress)?;
        Some(format!("{}: {}", object.key, health.message))
    })
}

/// The first of what is not healthy, in a sentence.
pub(super) fn worst_object(condition: &HealthSummary) -> String {
    let Some(first) = condition.unhealthy.first() else { return "all objects are healthy".to_owned() };
    let what = format!("{} {}", first.object.kind, first.object.name);
    let how = first.message.as_deref().filter(|message| !message.is_empty());
    let how =
        how.map_or_else(|| format!("{:?}", first.health.known().unwrap_or(&ObjectHealth::Unknown)), str::to_owned);
    match condition.total - condition.healthy - 1 {
        0 => format!("{what}: {how}"),
        more => format!("{what}: {how} (and {more} more)"),
    }
}
