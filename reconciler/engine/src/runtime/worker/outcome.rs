//! What the end of a task or a change of an object leads to.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reeve_crds::outcome::Outcome;
use reeve_renderer_objects::key::ObjectKey;

use super::{Task, TaskEnd, Worker};
use crate::clock::after;
use crate::plan::{Action, Step};
use crate::runtime::record::Phase;
use crate::runtime::status;
use crate::runtime::work::Report;
use crate::runtime::{Trouble, jobs};

impl Worker {
    /// A task ended.
    pub(super) fn take(&mut self, ended: TaskEnd) -> Result<(), Trouble> {
        let name = ended.component;
        let Some(record) = self.records.get_mut(&name).filter(|record| record.task == ended.number) else {
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
        self.tell_removed(&name, &removed);
        match ended.result {
            Err(trouble) if trouble.fenced => return Err(trouble),
            Err(trouble) => {
                self.fail(&name, &trouble);
                // It may have ended between the two.
                self.look_at_late_job(&name);
                return Ok(());
            }
            Ok(()) => {}
        }
        match ended.task {
            Task::Lay => {
                if let Some(record) = self.records.get_mut(&name) {
                    record.laid = true;
                    record.phase = Phase::Waiting(Vec::new());
                }
            }
            Task::Apply => {
                self.applied(&name, report);
                self.look_if_stale(&name);
            }
            Task::Finish => {
                self.ready(&name);
                self.look_if_stale(&name);
            }
            Task::Remove => {
                self.no_longer_fails(&name, "what failed is gone");
                self.records.remove(&name);
                self.specs.remove(&name);
                self.setup.hub.set_rules(&self.ctx.owner, &name, &Arc::default());
                self.outlet.gone(&name);
            }
        }
        Ok(())
    }

    /// Everything is applied; now it has to become healthy.
    fn applied(&mut self, name: &Arc<str>, report: Report) {
        let now = self.ctx.now();
        let Some(record) = self.records.get_mut(name) else { return };
        record.verifying = false;
        record.trouble = None;
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
        self.take_drift(name, report);
    }

    /// What changed while a task was under way may have been looked at before.
    fn look_if_stale(&mut self, name: &Arc<str>) {
        if self.records.get_mut(name).is_some_and(|record| std::mem::take(&mut record.stale)) {
            self.look(name);
        }
    }

    fn take_drift(&mut self, name: &Arc<str>, report: Report) {
        let Some(record) = self.records.get_mut(name) else { return };
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
            self.tell_drift(name, drifted);
        }
    }

    /// Objects changed: health is looked at again, and whether someone changed what we own.
    pub(super) fn look_at(&mut self, keys: &BTreeSet<ObjectKey>) {
        let written = |key: &ObjectKey| self.ctx.keeper.read(|ledger| Some(ledger.get(key)?.component.clone()));
        // What stays when it leaves Git may not be written down.
        let of = |key: &ObjectKey| written(key).or_else(|| self.ctx.wanted.component(key));
        let names: BTreeSet<Arc<str>> = keys.iter().filter_map(of).collect();
        for name in &names {
            self.look(name);
        }
    }

    /// Whether someone changed what we own of a component.
    fn look(&mut self, name: &Arc<str>) {
        let Some(record) = self.records.get_mut(name) else { return };
        self.touched.insert(name.clone());
        record.stale = record.is_busy();
        if !matches!(record.phase, Phase::Ready | Phase::Settling { .. }) {
            return self.look_at_late_job(name);
        }
        let Some(desired) = record.desired.clone() else { return };
        let plan = self.ctx.plan(&desired);
        let acts = |step: &&Step| step.action.writes() || step.action == Action::Report;
        let acting: HashMap<&ObjectKey, &Step> = plan.steps.iter().filter(acts).map(|step| (&step.key, step)).collect();
        let told = |key: &ObjectKey| {
            let owned = self.ctx.hub.get(key).and_then(|live| live.owned);
            record.drift.get(key).is_some_and(|drifted| !drifted.repaired && drifted.owned == owned)
        };
        let needs_work = acting.keys().any(|key| !told(key));
        record.drift.retain(|key, drifted| drifted.repaired || acting.contains_key(key));
        if needs_work {
            self.begin(name);
        }
    }

    /// A Job that ends when nobody waits for it any more is not left until the next try.
    fn look_at_late_job(&mut self, name: &Arc<str>) {
        let Some((key, ended)) = self.records.get(name).and_then(|record| record.ended_late(&*self.ctx)) else {
            return;
        };
        if ended.is_current() {
            self.begin(name);
        } else {
            self.fail(name, &jobs::failed(&key, &ended));
        }
    }

    fn fail(&mut self, name: &Arc<str>, trouble: &Trouble) {
        let now = self.ctx.now();
        let most = self.ctx.spec.max_backoff.into();
        let Some(record) = self.records.get_mut(name) else { return };
        let retry_at = record.next_try(trouble, now, most);
        record.attempts += 1;
        record.verifying = false;
        record.answer();
        record.phase = Phase::Failed { retry_at };
        let before = record.trouble.as_ref().map(|(before, _)| (before.reason, before.message.clone()));
        let since = record.trouble.as_ref().map_or(now, |(_, since)| *since);
        let is_news = before != Some((trouble.reason, trouble.message.clone()));
        record.trouble = Some((trouble.clone(), since));
        if record.attempts == 1 && record.desired.is_some() {
            let entry = status::history(record, Outcome::Failed, Some(trouble.message.clone()), now);
            status::remember(&mut record.status.history, entry);
        }
        let attempts = record.attempts;
        self.tell_trouble(name, trouble, attempts, is_news);
    }
}
