//! What the end of a task or a change of an object leads to.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reeve_crds::outcome::Outcome;
use reeve_renderer_objects::key::ObjectKey;

use super::{Task, TaskEnd, Worker};
use crate::clock::after;
use crate::error::ReconcileError;
use crate::plan::{Action, Step};
use crate::runtime::component::Phase;
use crate::runtime::jobs;
use crate::runtime::run::Report;
use crate::runtime::status;

impl Worker {
    /// A task ended.
    pub(super) fn on_task_finished(&mut self, ended: TaskEnd) -> Result<(), ReconcileError> {
        let name = ended.component;
        let Some(record) = self.components.get_mut(&name).filter(|record| record.task == ended.number) else {
            return Ok(());
        };
        self.running.remove(&name);
        self.touched.insert(name.clone());
        // What was done counts, also if what came next failed.
        let mut report = ended.report;
        let removed = std::mem::take(&mut report.removed);
        record.changes += report.changes;
        if let Some(rollout) = &mut self.rollout {
            rollout.changes += report.changes;
        }
        for run in &report.jobs {
            record.status.jobs.retain(|before| before.name != run.name || before.phase != run.phase);
            record.status.jobs.push(run.clone());
        }
        self.report_removed(&name, &removed);
        match ended.result {
            Err(error) if error.is_fenced() => return Err(error),
            Err(error) => {
                self.fail(&name, &error);
                // It may have ended between the two.
                self.check_late_job(&name);
                return Ok(());
            }
            Ok(()) => {}
        }
        match ended.task {
            Task::ApplyDefinitions => {
                if let Some(record) = self.components.get_mut(&name) {
                    record.has_definitions = true;
                    record.phase = Phase::Waiting(Vec::new());
                }
            }
            Task::Apply => {
                self.applied(&name, report);
                self.check_if_stale(&name);
            }
            Task::Finish => {
                self.ready(&name);
                self.check_if_stale(&name);
            }
            Task::Remove => {
                self.no_longer_fails(&name, "what failed is gone");
                self.components.remove(&name);
                self.specs.remove(&name);
                self.setup.watch_cache.set_rules(&self.ctx.owner, &name, &Arc::default());
                self.status_writer.gone(&name);
            }
        }
        Ok(())
    }

    /// Everything is applied; now it has to become healthy.
    fn applied(&mut self, name: &Arc<str>, report: Report) {
        let now = self.ctx.now();
        let Some(record) = self.components.get_mut(name) else { return };
        record.verifying = false;
        record.error = None;
        record.again_at = report.again_at;
        record.applied_at = Some(now);
        if let Some(desired) = record.desired.clone() {
            let before = record.status.applied.as_ref();
            if before.is_none_or(|before| !status::is_of(before, &desired)) {
                record.status.applied = Some(status::rendered(&desired, &record.revision, now));
            }
            let timeout = desired.timeout.unwrap_or_else(|| self.ctx.spec.timeout.into());
            record.phase = Phase::Settling { deadline: after(now, timeout) };
        }
        self.on_drift(name, report);
    }

    /// What changed while a task was under way may have been looked at before.
    fn check_if_stale(&mut self, name: &Arc<str>) {
        if self.components.get_mut(name).is_some_and(|record| std::mem::take(&mut record.stale)) {
            self.check_component(name);
        }
    }

    fn on_drift(&mut self, name: &Arc<str>, report: Report) {
        let Some(record) = self.components.get_mut(name) else { return };
        let told = std::mem::take(&mut record.drift);
        record.drift = told
            .iter()
            .filter(|(_, drifted)| drifted.repaired)
            .map(|(key, drifted)| (key.clone(), drifted.clone()))
            .take(9)
            .collect();
        let mut news = Vec::new();
        for drifted in report.drifted {
            let (known, drifted) = match told.get(&drifted.key) {
                Some(before) => (drifted.is_known(before), drifted.no_younger_than(before)),
                None => (false, drifted),
            };
            if !known || drifted.repaired {
                news.push(drifted.clone());
            }
            record.drift.insert(drifted.key.clone(), drifted);
        }
        for drifted in &news {
            self.report_drift(name, drifted);
        }
    }

    /// Objects changed: health is looked at again, and whether someone changed what we own.
    pub(super) fn on_objects_changed(&mut self, keys: &BTreeSet<ObjectKey>) {
        let written =
            |key: &ObjectKey| self.ctx.inventory.read(|inventory| Some(inventory.get(key)?.component.clone()));
        // What stays when it leaves Git may not be written down.
        let of = |key: &ObjectKey| written(key).or_else(|| self.ctx.wanted.component(key));
        let names: BTreeSet<Arc<str>> = keys.iter().filter_map(of).collect();
        for name in &names {
            self.check_component(name);
        }
    }

    /// Whether someone changed what we own of a component.
    fn check_component(&mut self, name: &Arc<str>) {
        let Some(record) = self.components.get_mut(name) else { return };
        self.touched.insert(name.clone());
        record.stale = record.is_busy();
        if !matches!(record.phase, Phase::Ready | Phase::Settling { .. }) {
            return self.check_late_job(name);
        }
        let Some(desired) = record.desired.clone() else { return };
        let plan = self.ctx.plan(&desired);
        let acts = |step: &&Step| step.action.writes() || step.action == Action::Report;
        let acting: HashMap<&ObjectKey, &Step> = plan.steps.iter().filter(acts).map(|step| (&step.key, step)).collect();
        let told = |key: &ObjectKey| {
            let owned = self.ctx.watch_cache.get(key).and_then(|live| live.owned);
            record.drift.get(key).is_some_and(|drifted| !drifted.repaired && drifted.owned == owned)
        };
        let needs_work = acting.keys().any(|key| !told(key));
        record.drift.retain(|key, drifted| drifted.repaired || acting.contains_key(key));
        if needs_work {
            self.begin(name);
        }
    }

    /// A Job that ends when nobody waits for it any more is not left until the next try.
    fn check_late_job(&mut self, name: &Arc<str>) {
        let Some((key, ended)) = self.components.get(name).and_then(|record| record.ended_late(&*self.ctx)) else {
            return;
        };
        if ended.is_current() {
            self.begin(name);
        } else {
            self.fail(name, &jobs::failed(&key, &ended));
        }
    }

    fn fail(&mut self, name: &Arc<str>, error: &ReconcileError) {
        let now = self.ctx.now();
        let most = self.ctx.spec.max_backoff.into();
        let Some(record) = self.components.get_mut(name) else { return };
        let retry_at = record.next_try(error, now, most);
        record.attempts += 1;
        record.verifying = false;
        record.answer_request();
        record.phase = Phase::Failed { retry_at };
        let before = record.error.as_ref().map(|(before, _)| (before.reason, before.message.clone()));
        let since = record.error.as_ref().map_or(now, |(_, since)| *since);
        let is_new = before != Some((error.reason, error.message.clone()));
        record.error = Some((error.clone(), since));
        if record.attempts == 1 && record.desired.is_some() {
            let entry = status::history(record, Outcome::Failed, Some(error.message.clone()), now);
            status::remember(&mut record.status.history, entry);
        }
        let attempts = record.attempts;
        self.report_error(name, error, attempts, is_new);
    }
}
