//! What Git and people say, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::{Reason, Runtime, annotation};
use reeve_renderer_objects::key::ObjectKey;

use super::leaving::{Departure, Leaving};
use super::{Effect, Machine, Observed};
use crate::clock::after;
use crate::desired::{Desired, Revision};
use crate::plan;
use crate::runtime::capabilities::CapabilityReport;
use crate::runtime::component::ComponentState;
use crate::runtime::status_writer::Urgency;
use crate::runtime::worker::{DesiredState, Message, UserOverrides};

impl Machine {
    /// Takes in what people and Git say.
    pub(super) fn on_message(&mut self, message: Message, view: &dyn Observed) {
        if let Some(object) = message.object {
            self.on_runtime(&object);
        }
        // Whoever deletes a Runtime means it, whether its source rests or is gone.
        let source_suspended = message.source_suspended && self.object.metadata.deletion_timestamp.is_none();
        let suspended = source_suspended || self.object.spec.suspend == Some(true);
        let was_suspended = std::mem::replace(&mut self.suspended, suspended);
        self.source_suspended = source_suspended;
        for name in message.lost.into_keys() {
            if let Some(component) = self.components.get_mut(&name) {
                component.spec = None;
                self.touched.insert(name);
            }
        }
        // The pages of a Runtime that goes are meant to go with it.
        if self.object.metadata.deletion_timestamp.is_none() {
            for (page, uid) in message.lost_pages {
                self.outbox.push(Effect::RestorePage { page, uid });
            }
        }
        self.resume_without_object(&message.components);
        for (name, overrides) in message.components {
            self.on_overrides(&name, overrides);
        }
        self.on_desired(&message.desired, view);
        if suspended != was_suspended {
            self.offers_due = true;
            self.begin_all();
            // One without components has to be told of as well.
            self.report_due = Some(self.now);
        }
        self.offer_what_left_git(view);
        self.answer_request();
    }

    /// Takes in what Git wants.
    fn on_desired(&mut self, desired: &DesiredState, view: &dyn Observed) {
        if self.object.metadata.deletion_timestamp.is_some() {
            // What Git wants of a runtime that is being deleted is nothing, whatever its file says.
            return self.leave(Departure::Deleted, self.object.spec.deletion_policy, view);
        }
        match desired {
            DesiredState::Present(desired) => {
                let is_same = self.assigned.as_ref().is_some_and(|before| Arc::ptr_eq(before, desired));
                if self.leaving.take().is_some() || !is_same {
                    self.assigned = Some(desired.clone());
                    self.reconcile_towards(desired, view);
                }
            }
            // It is gone from Git, and stays here as it is until somebody resumes it.
            DesiredState::Absent { .. } | DesiredState::Elsewhere if self.suspended => {}
            DesiredState::Elsewhere => self.leave(Departure::Moved, self.object.spec.deletion_policy, view),
            DesiredState::Absent { keeps_objects: true } => {
                self.leave(Departure::Removed, DeletionPolicy::Orphan, view);
            }
            DesiredState::Absent { keeps_objects: false } => {
                self.leave(Departure::Removed, self.object.spec.deletion_policy, view);
            }
            DesiredState::Unknown => self.pause_leaving(),
        }
    }

    /// Looks at everything again if someone asks for it.
    fn answer_request(&mut self) {
        let request = self.object.metadata.annotations.as_ref().and_then(|all| all.get(annotation::RECONCILE)).cloned();
        let done = self.handled.as_ref().or(self.status.last_handled_reconcile_at.as_ref());
        if request.is_some() && request.as_ref() != done && self.desired.is_some() {
            self.handled = request;
            self.retry_all();
        }
    }

    fn retry_all(&mut self) {
        for name in &self.components.names() {
            self.retry(name);
        }
    }

    /// Looks at a component again, whatever it waits for.
    fn retry(&mut self, name: &Arc<str>) {
        if let Some(record) = self.components.get_mut(name) {
            record.attempts = 0;
            record.drift.retain(|_, drifted| drifted.repaired);
            if let Some(desired) = &record.desired {
                self.outbox.push(Effect::ForgetContests(desired.clone()));
            }
        }
        self.begin(name);
    }

    fn begin_all(&mut self) {
        for name in &self.components.names() {
            self.begin(name);
        }
    }

    fn on_runtime(&mut self, object: &Arc<Runtime>) {
        let mut before = self.object.spec.clone();
        before.suspend = object.spec.suspend;
        let policy_changed = before != object.spec;
        if self.object.spec != object.spec {
            self.outbox.push(Effect::SetSpec(Arc::new(object.spec.clone())));
        }
        let declares_anew = object.spec.capabilities != self.object.spec.capabilities;
        let interval = object.spec.drift.full_check_interval;
        if interval != self.object.spec.drift.full_check_interval {
            self.next_full_check = after(self.now, interval.into());
        }
        self.object = object.clone();
        if declares_anew {
            self.check_capabilities();
        }
        if policy_changed && self.desired.is_some() {
            // What stood by the old policy, drift say, may have to be put right by the new one.
            self.retry_all();
        }
    }

    /// Whoever deletes the object of a component takes back what it asked for.
    fn resume_without_object(&mut self, there: &BTreeMap<Arc<str>, UserOverrides>) {
        let is_resumed = |record: &ComponentState| {
            record.suspended && record.generation.is_some() && !there.contains_key(&record.name)
        };
        for name in self.components.names_where(is_resumed) {
            self.on_overrides(&name, UserOverrides::default());
        }
    }

    fn on_overrides(&mut self, name: &Arc<str>, overrides: UserOverrides) {
        let Some(record) = self.components.get_mut(name) else { return };
        let asked = overrides.request.is_some()
            && overrides.request != record.status.last_handled_reconcile_at
            && overrides.request != record.request;
        if asked {
            record.request = overrides.request;
        }
        if record.generation != overrides.generation {
            record.generation = overrides.generation;
            let (generation, spec) = (overrides.generation, overrides.spec.clone());
            self.outbox.push(Effect::ObserveComponent { component: name.clone(), generation, spec });
            self.touched.insert(name.clone());
        }
        let turned = record.suspended != overrides.suspend;
        record.suspended = overrides.suspend;
        self.offers_due |= turned;
        if turned && let Some(rollout) = &mut self.rollout {
            // What waited for people did not take that long.
            rollout.began = self.now;
        }
        if turned || asked {
            self.retry(name);
        }
    }

    /// Asks the cluster anew.
    pub(super) fn check_capabilities(&mut self) {
        let declared = self.object.spec.capabilities.clone().unwrap_or_default();
        self.outbox.push(Effect::CheckCapabilities(declared));
    }

    /// Takes in what was found. What the runtime's own components may yet bring is no news.
    pub(super) fn on_capabilities(&mut self, capabilities: CapabilityReport) {
        if self.rollout.is_none() {
            let message = capabilities.message();
            let is_new = self.reported_capabilities.as_ref() != Some(&message);
            if is_new && !capabilities.lacking.is_empty() {
                self.outbox.emit(None, true, Reason::Incapable, &message);
            }
            self.reported_capabilities = Some(message);
        }
        if self.capabilities.as_ref() != Some(&capabilities) {
            self.capabilities = Some(capabilities);
            self.report_due = Some(self.now);
        }
    }

    /// Says again what was said already. Whoever writes statuses again and again is not kept up with.
    pub(super) fn on_statuses_overwritten(&mut self, whose: &BTreeSet<Option<Arc<str>>>) {
        for component in whose {
            let effect = match component {
                None if self.status.state.is_none() => continue,
                None => Effect::PatchRuntime(Box::new(self.status.clone()), Urgency::Soon),
                Some(name) => {
                    let Some(record) = self.components.get(name) else { continue };
                    let Some(spec) = record.spec.clone() else { continue };
                    Effect::PatchComponent(Box::new((spec, record.status.clone())), Urgency::Soon)
                }
            };
            let of = component.as_ref().map_or("the Runtime", |name| &**name);
            tracing::info!("somebody else wrote the status of {of}: it is put right");
            self.outbox.push(effect);
        }
    }

    /// The runtime goes: its objects first, if its policy says so.
    fn leave(&mut self, why: Departure, policy: DeletionPolicy, view: &dyn Observed) {
        let leaving = Leaving { why, policy };
        if self.leaving.replace(leaving) == Some(leaving) {
            return;
        }
        let objects = view.entry_count();
        let reported = self.status.objects.unwrap_or_default();
        if leaving.has_lost_objects(objects, reported) {
            let label = reeve_renderer_objects::bundle::RUNTIME_LABEL;
            let note = format!(
                "its inventory is gone, so that the {reported} objects which it had cannot be told: they stay; delete \
                 those with the label {label}={} by hand",
                self.name
            );
            tracing::warn!("{note}");
            self.outbox.emit(None, true, Reason::Deleting, &note);
        }
        let sentence = leaving.sentence(objects, self.staying(view));
        tracing::info!("{sentence}");
        self.outbox.emit(None, false, Reason::Deleting, &sentence);
        match policy {
            DeletionPolicy::Orphan => {
                self.outbox.push(Effect::CancelAll);
                self.running.clear();
                self.components.clear();
            }
            DeletionPolicy::Delete => {
                let nothing = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
                self.assigned = None;
                self.reconcile_towards(&Arc::new(nothing), view);
            }
        }
    }

    /// Stops taking away a runtime whose file left Git, until it is known what Git wants of it now.
    fn pause_leaving(&mut self) {
        if self.leaving.take_if(|leaving| leaving.why != Departure::Deleted).is_none() {
            return;
        }
        self.assigned = None;
        self.desired = None;
        self.offers_due = true;
        self.begin_all();
    }

    /// Whether nothing is left of a runtime that goes.
    pub(super) fn is_gone(&self) -> bool {
        self.components.is_empty()
            && self.leaving.is_some_and(|leaving| match leaving.why {
                Departure::Removed | Departure::Moved => !self.suspended,
                Departure::Deleted => true,
            })
    }

    /// How many objects of the runtime stay when it goes and its objects with it: by their kind, or by their own word.
    fn staying(&self, view: &dyn Observed) -> usize {
        let rules = self.rules();
        let entries = view.entries().into_iter().filter_map(|(key, _)| view.entry(&key).map(|entry| (key, entry)));
        entries.filter(|(key, entry)| plan::removal_of(key, entry, view, &rules) == plan::Removal::Release).count()
    }

    /// Lets other runtimes have what left Git here, before it is taken away: an object that moves from one runtime to
    /// another, or whose runtime gets another name, stays the same object. What is suspended gives nothing away.
    fn offer_what_left_git(&mut self, view: &dyn Observed) {
        if !std::mem::take(&mut self.offers_due) {
            return;
        }
        let gives = self.desired.is_some() && !self.suspended;
        let is_suspended = |name: &Arc<str>| self.components.get(name).is_some_and(|component| component.suspended);
        let is_left = |(key, component): &(ObjectKey, Arc<str>)| {
            gives && !self.wanted.contains_key(key) && !is_suspended(component)
        };
        let offered: BTreeSet<ObjectKey> = view.entries().into_iter().filter(is_left).map(|(key, _)| key).collect();
        if offered != self.offered {
            self.offered.clone_from(&offered);
            self.outbox.push(Effect::Offer(offered));
        }
    }
}
