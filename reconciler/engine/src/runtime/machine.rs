//! The heart of a runtime's worker: what to do next, given what happened. Pure.
//!
//! It never reads a clock, a cluster or a channel: time and events are handed to it, what is known of objects is behind
//! [`Observed`], and what it decides comes back as effects. The worker is the shell that turns IO into events and effects
//! into IO; the simulation drives the same machine through random histories.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use reeve_crds::runtime::RuntimeStatus;
use reeve_crds::{Reason, Runtime};
use reeve_renderer_objects::key::ObjectKey;

use super::capabilities::CapabilityReport;
use super::component::{ComponentState, Phase};
use super::components::Components;
use crate::clock::after;
use crate::desired::{Desired, DesiredComponent};
use crate::owner::Owner;
use crate::plan::{self, ComponentPlan, Rules};

mod effect;
mod leaving;
mod message;
mod progress;
mod report;

use leaving::{Departure, Leaving};

pub(super) use effect::{Count, Effect, Event, Observed, Task, TaskEnd, Work};

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
    /// Components of whose repeated failure people were told.
    failing: BTreeSet<Arc<str>>,
    next_full_check: Timestamp,
    handled: Option<String>,
    /// Components whose status may have changed.
    touched: BTreeSet<Arc<str>>,
    /// The time of the step, and what it has decided so far.
    now: Timestamp,
    effects: Vec<Effect>,
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
            failing: BTreeSet::new(),
            next_full_check: after(now, object.spec.drift.full_check_interval.into()),
            handled: None,
            touched: BTreeSet::new(),
            now,
            effects: Vec::new(),
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
            Event::Timer => self.on_timer(),
        }
        self.advance(view);
        self.report(view);
        if self.is_gone() {
            let delete = self.leaving.is_some_and(|leaving| leaving.why == Departure::Removed);
            self.effects.push(Effect::Finalize { delete });
        }
        std::mem::take(&mut self.effects)
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
            self.effects.push(Effect::CheckAll);
            self.check_capabilities();
        }
    }

    fn begin_all(&mut self) {
        for name in &self.components.names() {
            self.begin(name);
        }
    }

    /// Asks the cluster anew.
    pub(super) fn check_capabilities(&mut self) {
        let declared = self.object.spec.capabilities.clone().unwrap_or_default();
        self.effects.push(Effect::CheckCapabilities(declared));
    }

    /// Takes in what was found. What the runtime's own components may yet bring is no news.
    fn on_capabilities(&mut self, capabilities: CapabilityReport) {
        if self.rollout.is_none() {
            let message = capabilities.message();
            let is_new = self.reported_capabilities.as_ref() != Some(&message);
            if is_new && !capabilities.lacking.is_empty() {
                self.emit(None, true, Reason::Incapable, &message);
            }
            self.reported_capabilities = Some(message);
        }
        if self.capabilities.as_ref() != Some(&capabilities) {
            self.capabilities = Some(capabilities);
            self.report_due = Some(self.now);
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

    fn emit(&mut self, component: Option<&Arc<str>>, warning: bool, reason: Reason, note: &str) {
        let component = component.cloned();
        self.effects.push(Effect::EmitEvent { component, warning, reason, note: note.to_owned() });
    }
}
