//! The heart of a runtime's worker: what to do next, given what happened. Pure.
//!
//! It never reads a clock, a cluster or a channel: time and events are handed to it, what is known of objects is behind
//! [`Observed`], and what it decides comes back as effects. The worker is the shell that turns IO into events and effects
//! into IO; the simulation drives the same machine through random histories.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::outcome::{HistoryEntry, Outcome};
use reeve_crds::runtime::{Applier, RuntimeStatus};
use reeve_crds::{Lenient, Reason, Runtime, State};
use reeve_renderer_objects::key::ObjectKey;
use tracing::info;

use super::capabilities::CapabilityReport;
use super::component::{ComponentState, Phase, job_under_way};
use super::components::Components;
use super::status::{self, RuntimeFacts, counted, is_of};
use super::status_writer::Urgency;
use crate::clock::{after, since};
use crate::desired::{Desired, DesiredComponent};
use crate::notification::NotificationBody;
use crate::owner::Owner;
use crate::plan::{self, ComponentPlan, Rules};
use crate::rollup::{RuntimeSummary, severity};

mod effect;
mod leaving;
mod message;
mod outbox;
mod progress;

use leaving::{Departure, Leaving};
use outbox::Outbox;

pub(super) use effect::{Count, Effect, Event, Observed, Task, TaskEnd, Work};

/// How often the status of a whole runtime is put together while it is under way. It speaks of every component, and with
/// many of them there is always one of which there is something new.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// A change of the whole runtime that is under way.
#[derive(Clone, Copy, Debug)]
struct Rollout {
    began: Timestamp,
    changes: i32,
}

/// What is known of one runtime, and what is done about it.
#[derive(Debug)]
pub(super) struct Machine {
    name: Arc<str>,
    owner: Owner,
    /// Who works on it, for its status.
    identity: String,
    object: Arc<Runtime>,
    /// What Git wants, as it was told.
    assigned: Option<Arc<Desired>>,
    /// What is worked towards: what Git wants, or nothing while the Runtime goes.
    desired: Option<Arc<Desired>>,
    /// Which component wants which object.
    wanted: HashMap<ObjectKey, Arc<str>>,
    components: Components,
    /// What other runtimes may have, as it was last decided, and whether that may have changed.
    offered: BTreeSet<ObjectKey>,
    offers_due: bool,
    /// Components with a task under way.
    running: BTreeSet<Arc<str>>,
    /// What the cluster offers next to what is declared.
    capabilities: Option<CapabilityReport>,
    /// What was said of it, once all was done.
    reported_capabilities: Option<String>,
    suspended: bool,
    source_suspended: bool,
    /// Why the runtime goes, if it does.
    leaving: Option<Leaving>,
    status: RuntimeStatus,
    /// When the status of the whole was last put together, and when it has to be again if that was put off.
    last_reported: Timestamp,
    report_due: Option<Timestamp>,
    rollout: Option<Rollout>,
    next_full_check: Timestamp,
    handled: Option<String>,
    /// Components whose status may have changed.
    touched: BTreeSet<Arc<str>>,
    /// The time of the step, and what it has decided so far.
    now: Timestamp,
    outbox: Outbox,
}

impl Machine {
    /// The machine of a runtime with these components as the work finds them, and with objects of these components in its inventory.
    pub(super) fn new(
        object: &Arc<Runtime>,
        identity: String,
        found: impl IntoIterator<Item = ComponentState>,
        in_inventory: impl IntoIterator<Item = Arc<str>>,
        now: Timestamp,
    ) -> Self {
        let name: Arc<str> = object.metadata.name.as_deref().unwrap_or_default().into();
        let mut components = Components::default();
        found.into_iter().for_each(|state| components.insert(state));
        for name in in_inventory {
            components.get_or_new(&name, now);
        }
        Self {
            owner: Owner::new(object.metadata.namespace.as_deref().unwrap_or_default(), &name),
            name,
            identity,
            assigned: None,
            desired: None,
            wanted: HashMap::new(),
            offered: BTreeSet::new(),
            offers_due: false,
            components,
            running: BTreeSet::new(),
            capabilities: None,
            reported_capabilities: object.status.as_ref().and_then(CapabilityReport::reported),
            suspended: false,
            source_suspended: false,
            leaving: None,
            status: object.status.clone().unwrap_or_default(),
            last_reported: Timestamp::default(),
            report_due: None,
            rollout: None,
            next_full_check: after(now, object.spec.drift.full_check_interval.into()),
            handled: None,
            touched: BTreeSet::new(),
            now,
            outbox: Outbox::default(),
            object: object.clone(),
        }
    }

    /// Takes in what happened, and decides what is to be done.
    pub(super) fn step(&mut self, event: Event, view: &dyn Observed, now: Timestamp) -> Vec<Effect> {
        self.now = now;
        match event {
            Event::Message(message) => self.on_message(*message, view),
            Event::ObjectsChanged(keys) => self.on_objects_changed(&keys, view),
            Event::AllChecked => {
                let keys: BTreeSet<ObjectKey> = view.entries().into_iter().map(|(key, _)| key).collect();
                self.on_objects_changed(&keys, view);
            }
            Event::TaskFinished(ended) => self.on_task_finished(*ended, view),
            Event::Capabilities(report) => self.on_capabilities(report),
            Event::StatusesOverwritten(whose) => self.on_statuses_overwritten(&whose),
            Event::Timer => self.on_timer(),
        }
        self.advance(view);
        self.report(view);
        if self.is_gone() {
            let delete = self.leaving.is_some_and(|leaving| leaving.why == Departure::Removed);
            self.outbox.push(Effect::Finalize { delete });
        }
        self.outbox.take_effects()
    }

    #[cfg(test)]
    pub(super) fn components(&self) -> impl Iterator<Item = &ComponentState> {
        self.components.iter()
    }

    /// The Runtime as it was last told.
    pub(super) fn object(&self) -> &Arc<Runtime> {
        &self.object
    }

    /// When something has to be done although nothing happens.
    pub(super) fn next_timer(&self) -> Timestamp {
        let whole = self.report_due.into_iter().chain([self.next_full_check]);
        self.components.iter().filter_map(ComponentState::next_timer).chain(whole).min().unwrap_or(Timestamp::MAX)
    }

    fn on_timer(&mut self) {
        let now = self.now;
        let due = self.components.names_where(|record| record.is_due(now));
        for name in &due {
            if let Some(record) = self.components.get_mut(name) {
                record.again_at = None;
                record.drift.retain(|_, drifted| drifted.repaired);
            }
            self.begin(name);
        }
        let settling = |record: &ComponentState| matches!(record.phase, Phase::Settling { .. });
        self.touched.extend(self.components.names_where(settling));
        if now >= self.next_full_check {
            self.next_full_check = after(now, self.object.spec.drift.full_check_interval.into());
            self.outbox.push(Effect::CheckAll);
            self.check_capabilities();
        }
    }

    fn rules(&self) -> Rules {
        let spec = &self.object.spec;
        Rules { owner: self.owner.clone(), drift: spec.drift.mode, prune: spec.prune }
    }

    fn plan(&self, desired: &DesiredComponent, view: &dyn Observed) -> ComponentPlan {
        let entries = view.entries_of(&desired.name);
        plan::component(desired, entries, view, &self.rules(), &|key| self.wanted.contains_key(key))
    }

    /// Writes what changed.
    fn report(&mut self, view: &dyn Observed) {
        let shown = self.status.state;
        if self.desired.is_none() && shown.is_some() && self.suspended == (shown == Some(State::Suspended)) {
            // Until Git has spoken, what was said last stands.
            return;
        }
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() && self.desired.is_some() && self.status.state.is_some() && !self.status_is_stale() {
            return;
        }
        let now = self.now;
        let mut turns = Vec::new();
        for name in touched {
            let Some(record) = self.components.get_mut(&name) else { continue };
            if record.verifying {
                continue;
            }
            let busy = record.desired.clone().filter(|_| record.is_busy());
            record.job = busy.and_then(|desired| job_under_way(&desired, view));
            if matches!(record.phase, Phase::Settling { deadline } if record.is_late(deadline, now)) {
                record.answer_request();
            }
            let spec = match (&record.desired, &record.spec) {
                (Some(desired), _) => status::component_spec(&self.name, desired),
                // On its way out it is what it was.
                (None, Some(before)) => before.clone(),
                (None, None) => continue,
            };
            let status = status::component(record, now);
            if status == record.status && record.spec.as_ref() == Some(&spec) {
                continue;
            }
            let before = record.status.state;
            let turned = status.state != before;
            let settled = !matches!(status.state, Some(State::Processing | State::Deleting));
            let late = status.state == Some(State::Error) && record.error.is_none();
            let failure = status.failure.clone().filter(|failure| late && record.is_new(failure, turned));
            let is_well = status.state == Some(State::Ready);
            let recovered = (turned || failure.is_some()) && is_well && record.failing_reason.take().is_some();
            if let Some(failure) = &failure {
                record.failing_reason = Some(outbox::reason_of(failure));
            }
            record.status = status.clone();
            record.spec = Some(spec.clone());
            if turned || failure.is_some() {
                turns.push((name, failure, is_well, recovered));
            }
            let good = record.status.last_good.as_ref();
            let changes = record.desired.as_ref().is_none_or(|desired| !good.is_some_and(|good| is_of(good, desired)));
            let urgency = Urgency::of(before, turned, settled, changes);
            self.outbox.push(Effect::PatchComponent(Box::new((spec, status)), urgency));
        }
        for (name, failure, is_well, recovered) in turns {
            if recovered {
                self.outbox.report_recovered(&name);
            }
            if let Some(failure) = failure {
                self.outbox.report_late(&name, &failure, last_good(&self.status));
            } else if is_well {
                self.outbox.no_longer_fails(&name, &format!("{name} is ready again, and so is everything else"));
            }
        }
        self.report_runtime(view);
    }

    /// Whether it is being taken away. What is suspended is not, unless somebody deleted it.
    fn is_leaving(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some() || self.leaving.is_some() && !self.suspended
    }

    fn status_is_stale(&self) -> bool {
        self.status.observed_generation != self.object.metadata.generation
            || self.handled.is_some() && self.handled != self.status.last_handled_reconcile_at
            || self.report_due.is_some_and(|due| due <= self.now)
    }

    /// Whether the whole is under way, as it says already, and was put together a moment ago.
    fn may_wait(&self, now: Timestamp) -> bool {
        let worst = self.components.iter().map(|record| record.state(now)).max_by_key(|state| severity(*state));
        now < after(self.last_reported, REPORT_EVERY)
            && !self.suspended
            && self.leaving.is_none()
            && [worst, self.status.state] == [Some(State::Processing); 2]
    }

    fn applier(&self) -> Applier {
        Applier {
            kind: Some(Lenient::Known(self.object.spec.target.kind)),
            identity: Some(self.identity.clone()),
            version: Some(reeve_process::version::VERSION.to_owned()),
            kubernetes_version: self.capabilities.as_ref().map(|capabilities| capabilities.version.clone()),
        }
    }

    fn report_runtime(&mut self, view: &dyn Observed) {
        if self.components.iter().any(|record| record.verifying) {
            return;
        }
        let now = self.now;
        if self.may_wait(now) {
            self.report_due = Some(after(self.last_reported, REPORT_EVERY));
            return;
        }
        self.last_reported = now;
        self.report_due = None;
        let busy = self.components.iter().any(ComponentState::is_busy);
        let facts = RuntimeFacts {
            before: &self.status,
            generation: self.object.metadata.generation,
            desired: self.desired.as_deref().filter(|_| self.leaving.is_none()),
            suspended: self.suspended.then_some(if self.source_suspended {
                "its source is suspended or gone"
            } else {
                "spec.suspend is set"
            }),
            deleting: self.is_leaving(),
            objects: view.entry_count(),
            applier: self.applier(),
            capabilities: self.capabilities.as_ref(),
            handled: self.handled.clone().filter(|_| !busy),
        };
        let mut status = status::runtime(&facts, &self.components, now);
        let state = status.state.unwrap_or_default();
        if state == State::Ready {
            // There will be nothing more for a while.
            self.outbox.push(Effect::StoreInventory);
            // What is suspended was not applied: the change goes on when it is resumed.
            if !self.components.iter().any(|record| record.phase == Phase::Suspended) {
                self.end_rollout(&mut status);
            }
        }
        let message = status.conditions.iter().find(|condition| condition.type_ == "Ready");
        let mut components = BTreeMap::new();
        self.components.iter().for_each(|record| *components.entry(record.state(now)).or_default() += 1);
        let message = message.map(|ready| ready.message.clone()).unwrap_or_default();
        self.outbox.push(Effect::Summarize(RuntimeSummary { state, message, components }));
        // That another process looks after it is no news by itself.
        if (RuntimeStatus { applier: self.status.applier.clone(), ..status.clone() }) == self.status {
            return;
        }
        let before = self.status.state;
        // Of a change that begins while something is not well the cluster may not have heard anything yet.
        let begins = self.rollout.is_some_and(|rollout| rollout.began == now);
        let turned = status.state != before || begins;
        let settled = !matches!(state, State::Processing | State::Deleting);
        self.status = status.clone();
        let urgency = Urgency::of(before, turned, settled, self.rollout.is_some());
        self.outbox.push(Effect::PatchRuntime(Box::new(status), urgency));
    }

    /// A change of the whole runtime is done.
    fn end_rollout(&mut self, status: &mut RuntimeStatus) {
        let Some(rollout) = self.rollout.take() else { return };
        let Some(desired) = self.desired.clone() else { return };
        let now = self.now;
        let took = since(now, rollout.began);
        // Its own components may have brought what was missing.
        self.check_capabilities();
        let millis = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let entry = HistoryEntry {
            revision: desired.revision.shown.to_string(),
            digest: desired.digest.to_string(),
            version: None,
            outcome: Lenient::Known(Outcome::Succeeded),
            started_at: Some(Time(rollout.began)),
            apply_time: None,
            total_time: Some(Lenient::Known(millis.into())),
            changes: Some(rollout.changes),
            message: None,
        };
        status::remember(&mut status.history, entry);
        let note = format!(
            "{} is applied and healthy: {} changed in {}",
            desired.revision.shown,
            counted(rollout.changes, "object"),
            reeve_crds::Duration::from(millis)
        );
        info!(revision = %desired.revision.shown, changes = rollout.changes, milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX), "applied");
        self.outbox.emit(None, false, Reason::Applied, &note);
        self.outbox.push(Effect::Count(Count::RolledOut(took)));
        self.outbox.push(Effect::Notify(NotificationBody::Applied {
            revision: desired.revision.shown.to_string(),
            message: note,
        }));
    }
}

/// The revision that was as it should be.
fn last_good(status: &RuntimeStatus) -> &str {
    status.last_good.as_ref().map_or("nothing yet", |good| &good.revision)
}
