//! What people and Git say.

use std::sync::Arc;

use reeve_crds::{Runtime, annotation};

use super::ending::Departure;
use super::{DesiredState, Message, UserOverrides, Worker, slots};
use crate::clock::after;

impl Worker {
    /// Takes in what people and Git say.
    pub(super) fn on_message(&mut self, message: Message) {
        if let Some(object) = message.object {
            self.on_runtime(&object);
        }
        // Whoever deletes a Runtime means it, whether its source rests or is gone.
        let source_suspended = message.source_suspended && self.object.metadata.deletion_timestamp.is_none();
        let suspended = source_suspended || self.object.spec.suspend == Some(true);
        let was_suspended = std::mem::replace(&mut self.suspended, suspended);
        self.source_suspended = source_suspended;
        for (name, uid) in message.lost {
            if self.status_writer.lost(&name, &uid) && self.components.contains_key(&name) {
                self.specs.remove(&name);
                self.touched.insert(name);
            }
        }
        // The pages of a Runtime that goes are meant to go with it.
        if self.object.metadata.deletion_timestamp.is_none() {
            message.lost_pages.iter().for_each(|(page, uid)| self.ctx.inventory.lost(page, uid));
        }
        for (name, overrides) in message.components {
            self.on_overrides(&name, overrides);
        }
        self.on_desired(&message.desired);
        if suspended != was_suspended {
            let names: Vec<Arc<str>> = self.components.keys().cloned().collect();
            for name in &names {
                self.begin(name);
            }
        }
        self.answer_request();
    }

    /// Takes in what Git wants.
    fn on_desired(&mut self, desired: &DesiredState) {
        if self.object.metadata.deletion_timestamp.is_some() {
            // What Git wants of a runtime that is being deleted is nothing, whatever its file says.
            return self.leave(Departure::Deleted);
        }
        match desired {
            DesiredState::Present(desired) => {
                let is_same = self.assigned.as_ref().is_some_and(|before| Arc::ptr_eq(before, desired));
                if self.leaving.take().is_some() || !is_same {
                    self.set_desired(desired);
                }
            }
            // It is gone from Git, and stays here as it is until somebody resumes it.
            DesiredState::Absent if self.suspended => {}
            DesiredState::Absent => self.leave(Departure::Removed),
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

    pub(super) fn retry_all(&mut self) {
        let names: Vec<Arc<str>> = self.components.keys().cloned().collect();
        for name in &names {
            self.retry(name);
        }
    }

    fn on_runtime(&mut self, object: &Arc<Runtime>) {
        let mut before = self.object.spec.clone();
        before.suspend = object.spec.suspend;
        let policy_changed = before != object.spec;
        if self.object.spec != object.spec {
            let mut ctx = (*self.ctx).clone();
            ctx.spec = Arc::new(object.spec.clone());
            if object.spec.concurrency != self.object.spec.concurrency {
                ctx.budget = ctx.budget.with(slots(&ctx.spec));
            }
            self.ctx = Arc::new(ctx);
        }
        let declares_anew = object.spec.capabilities != self.object.spec.capabilities;
        let interval = object.spec.drift.full_check_interval;
        if interval != self.object.spec.drift.full_check_interval {
            self.next_full_check = after(self.ctx.now(), interval.into());
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
            self.status_writer.observe(name, overrides.generation, &overrides.spec);
            self.touched.insert(name.clone());
        }
        let turned = record.suspended != overrides.suspend;
        record.suspended = overrides.suspend;
        if turned && let Some(rollout) = &mut self.rollout {
            // What waited for people did not take that long.
            rollout.began = self.ctx.now();
        }
        if turned || asked {
            self.retry(name);
        }
    }
}
