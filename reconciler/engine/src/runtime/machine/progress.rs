//! What may begin, and what the end of a task or a change of an object leads to.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reeve_crds::Reason;
use reeve_crds::outcome::Outcome;
use reeve_renderer_objects::key::ObjectKey;

use super::{Effect, Machine, Observed, Rollout, Task, TaskEnd, Work, last_good};
use crate::clock::after;
use crate::desired::{Desired, DesiredComponent, Stage};
use crate::error::ReconcileError;
use crate::plan::{Action, Step};
use crate::runtime::component::{ComponentState, HealthSummary, Phase, summarize_health};
use crate::runtime::run::RunSpec;
use crate::runtime::{drift, jobs, status};

impl Machine {
    /// Starts whatever differs from what was worked towards before.
    pub(super) fn reconcile_towards(&mut self, desired: &Arc<Desired>, view: &dyn Observed) {
        let now = self.now;
        self.components.set_providers(desired.providers());
        self.wanted = desired.owners();
        self.outbox.push(Effect::SetWanted(desired.clone()));
        self.offers_due = true;
        self.desired = Some(desired.clone());
        let left_over = self.left_over(view);
        for name in &left_over {
            self.components.get_or_new(name, now);
        }
        let good = self.status.last_good.as_ref().is_some_and(|good| good.digest == *desired.digest);
        // To go back to what was good before the last change was done is a change as well.
        if !good || self.rollout.is_some() {
            self.rollout = Some(Rollout { began: now, changes: 0 });
        }
        for component in &desired.components {
            self.outbox.push(Effect::SetHealthRules(component.name.clone(), component.health.clone()));
            let record = self.components.get_or_new(&component.name, now);
            let same = record.desired.as_ref().is_some_and(|before| before.applies_same(component));
            record.verifying = record.desired.is_none() && record.was_ready(component);
            record.desired = Some(component.clone());
            // Whatever comes before its last step sees to what is left over by itself.
            let prunes = matches!(record.phase, Phase::Finishing | Phase::Ready) && left_over.contains(&component.name);
            if same && !prunes {
                // What another commit changed may help; until it has, it is the same failure.
                if matches!(record.phase, Phase::Failed { .. }) {
                    self.begin(&component.name);
                }
                continue;
            }
            if record.is_busy() || matches!(record.phase, Phase::Settling { .. }) {
                let entry = status::history(record, Outcome::Superseded, None, now);
                status::remember(&mut record.status.history, entry);
            }
            record.revision = desired.revision.clone();
            self.restart(&component.name);
        }
        let wanted: BTreeSet<&Arc<str>> = desired.components.iter().map(|component| &component.name).collect();
        let left = self.components.names_where(|record| !wanted.contains(&record.name));
        for name in left {
            let leaves = self.components.get_mut(&name).is_some_and(|record| record.desired.take().is_some());
            if leaves {
                self.outbox.no_longer_fails(&name, "what failed left Git");
                self.restart(&name);
            } else {
                // It is on its way out already; until that is done, what keeps it is the same failure.
                self.begin(&name);
            }
        }
        self.check_capabilities();
        // The whole is told of also if none of its components has to be touched.
        self.report_due = Some(now);
    }

    /// Components that have something in the books which nobody wants any more: their own, or what was to move to another
    /// component that never got to it.
    fn left_over(&self, view: &dyn Observed) -> BTreeSet<Arc<str>> {
        let left = view.entries().into_iter().filter(|(key, _)| !self.wanted.contains_key(key));
        left.map(|(_, component)| component).collect()
    }

    /// Begins anew, with a clean slate.
    fn restart(&mut self, name: &Arc<str>) {
        if let Some(record) = self.components.get_mut(name) {
            record.restart(self.now);
        }
        self.begin(name);
    }

    /// Begins a component from its first step, giving up what was under way.
    pub(super) fn begin(&mut self, name: &Arc<str>) {
        if self.running.remove(name) {
            self.outbox.push(Effect::Cancel(name.clone()));
        }
        self.touched.insert(name.clone());
        let suspended = self.suspended;
        let known = self.desired.is_some();
        let Some(record) = self.components.get_mut(name) else { return };
        record.task += 1;
        if suspended || record.suspended {
            record.verifying = false;
            record.phase = Phase::Suspended;
            return;
        }
        match &record.desired {
            // Until Git has spoken, what is not wanted is not known either.
            None if !known => record.phase = Phase::Waiting(Vec::new()),
            None => record.phase = Phase::Removing,
            Some(desired) if desired.objects.iter().any(|object| object.stage == Stage::Definitions) => {
                record.phase = Phase::ApplyingDefinitions;
                self.start(name, Task::ApplyDefinitions);
            }
            Some(_) => {
                record.has_definitions = true;
                record.phase = Phase::Waiting(Vec::new());
            }
        }
    }

    /// Starts whatever may start now.
    pub(super) fn advance(&mut self, view: &dyn Observed) {
        let mut open: Vec<Arc<str>> = self.touched.iter().cloned().collect();
        let may_go_on = |record: &ComponentState| matches!(record.phase, Phase::Waiting(_) | Phase::Removing);
        open.extend(self.components.names_where(may_go_on));
        // Whatever becomes ready may let another begin.
        while let Some(name) = open.pop() {
            let became_ready = self.advance_component(&name, view);
            if became_ready {
                open.extend(self.components.waiting());
            }
        }
    }

    /// One component's next step. True if it is ready now and was not.
    fn advance_component(&mut self, name: &Arc<str>, view: &dyn Observed) -> bool {
        let now = self.now;
        let Some(record) = self.components.get(name) else { return false };
        match (&record.phase, &record.desired) {
            (Phase::Waiting(_), Some(desired)) => {
                let missing = self.components.missing(desired);
                let keeps_still =
                    missing.iter().all(|name| self.components.get(name).is_some_and(|record| record.verifying));
                let begins = missing.is_empty();
                let changed = record.phase != Phase::Waiting(missing.clone());
                if let Some(record) = self.components.get_mut(name) {
                    record.verifying &= keeps_still;
                    record.phase = if begins { Phase::Applying } else { Phase::Waiting(missing) };
                }
                if begins {
                    self.start(name, Task::Apply);
                }
                if changed {
                    self.touched.insert(name.clone());
                }
                false
            }
            (Phase::Settling { .. }, Some(desired)) => {
                let health = summarize_health(desired, view, now);
                let healthy = health.unhealthy.is_empty();
                self.set_health(name, health);
                healthy && self.on_settled(name, view)
            }
            (Phase::Ready, Some(desired)) => {
                let health = summarize_health(desired, view, now);
                let timeout = self.timeout(desired);
                let ill = !health.unhealthy.is_empty();
                self.set_health(name, health);
                if ill && let Some(record) = self.components.get_mut(name) {
                    record.phase = Phase::Settling { deadline: after(now, timeout) };
                }
                false
            }
            (Phase::Removing, None) => {
                if self.desired.is_some() && !self.running.contains(name) && !self.components.is_needed(name) {
                    self.start(name, Task::Remove);
                }
                false
            }
            _ => false,
        }
    }

    /// What failed still says which of its objects are there and well.
    fn refresh_health(&mut self, name: &Arc<str>, view: &dyn Observed) {
        let failed = self.components.get(name).filter(|record| matches!(record.phase, Phase::Failed { .. }));
        if let Some(desired) = failed.and_then(|record| record.desired.clone()) {
            self.set_health(name, summarize_health(&desired, view, self.now));
        }
    }

    fn set_health(&mut self, name: &Arc<str>, health: HealthSummary) {
        if let Some(record) = self.components.get_mut(name)
            && record.health != health
        {
            record.health = health;
            self.touched.insert(name.clone());
        }
    }

    /// All objects are healthy: what comes last, or done. True if it is done.
    fn on_settled(&mut self, name: &Arc<str>, view: &dyn Observed) -> bool {
        self.touched.insert(name.clone());
        let Some(run) = self.run_for(name) else { return false };
        let has_more = run.has_jobs_after() || !self.plan(&run.desired, view).removals.is_empty();
        if has_more {
            if let Some(record) = self.components.get_mut(name) {
                record.phase = Phase::Finishing;
            }
            self.start(name, Task::Finish);
            return false;
        }
        self.components.on_ready(name, self.now);
        true
    }

    fn timeout(&self, desired: &DesiredComponent) -> std::time::Duration {
        desired.timeout.unwrap_or_else(|| self.object.spec.timeout.into())
    }

    /// What a task of a component works with.
    fn run_for(&self, name: &Arc<str>) -> Option<RunSpec> {
        let component = self.components.get(name)?;
        let desired = component.desired.clone()?;
        let operation = component.operation(&desired);
        let (jobs, timeout) = (component.status.jobs.clone(), self.timeout(&desired));
        Some(RunSpec { desired, jobs, operation, timeout })
    }

    fn start(&mut self, name: &Arc<str>, task: Task) {
        let Some(component) = self.components.get(name) else { return };
        let number = component.task;
        let work = if task == Task::Remove {
            let account = component.spec.as_ref().and_then(|spec| spec.service_account_name.clone());
            Work::Remove { account }
        } else {
            let Some(run) = self.run_for(name) else { return };
            Work::Run(Box::new(run))
        };
        self.outbox.push(Effect::Start { component: name.clone(), task, number, work });
        self.running.insert(name.clone());
    }

    /// A task ended.
    pub(super) fn on_task_finished(&mut self, ended: TaskEnd, view: &dyn Observed) {
        let name = ended.component;
        let Some(record) = self.components.get_mut(&name).filter(|record| record.task == ended.number) else {
            return;
        };
        self.running.remove(&name);
        self.touched.insert(name.clone());
        // What was done counts, also if what came next failed.
        let mut report = ended.report;
        let (removed, left) = (std::mem::take(&mut report.removed), std::mem::take(&mut report.left));
        record.changes += report.changes;
        if let Some(rollout) = &mut self.rollout {
            rollout.changes += report.changes;
        }
        for run in &report.jobs {
            record.status.jobs.retain(|before| before.name != run.name || before.phase != run.phase);
            record.status.jobs.push(run.clone());
        }
        for drifted in drift::of_task(record, ended.task, &mut report, ended.result.is_ok()) {
            self.outbox.report_drift(&name, &drifted);
        }
        self.outbox.report_removed(&name, &removed);
        self.outbox.report_left(&name, &left);
        match ended.result {
            Err(error) if error.is_fenced() => return self.outbox.push(Effect::Fail(error)),
            Err(error) => {
                self.fail(&name, &error);
                self.refresh_health(&name, view);
                // It may have ended between the two.
                return self.check_late_job(&name, view);
            }
            Ok(()) => {}
        }
        match ended.task {
            Task::ApplyDefinitions => {
                if let Some(record) = self.components.get_mut(&name) {
                    record.has_definitions = true;
                    record.again_at = report.again_at;
                    record.phase = Phase::Waiting(Vec::new());
                }
            }
            Task::Apply => {
                let timeout = self.object.spec.timeout.into();
                if let Some(record) = self.components.get_mut(&name) {
                    record.on_applied(report.again_at, timeout, self.now);
                }
                self.check_if_stale(&name, view);
            }
            Task::Finish => {
                self.components.on_ready(&name, self.now);
                self.check_if_stale(&name, view);
            }
            Task::Remove => {
                self.outbox.no_longer_fails(&name, "what failed is gone");
                self.components.remove(&name);
                self.outbox.push(Effect::SetHealthRules(name.clone(), Arc::default()));
                self.outbox.push(Effect::DeleteComponent(name));
            }
        }
    }

    /// What changed while a task was under way may have been looked at before.
    fn check_if_stale(&mut self, name: &Arc<str>, view: &dyn Observed) {
        if self.components.get_mut(name).is_some_and(|record| std::mem::take(&mut record.stale)) {
            self.check_component(name, view);
        }
    }

    /// Objects changed: health is looked at again, and whether someone changed what we own.
    pub(super) fn on_objects_changed(&mut self, keys: &BTreeSet<ObjectKey>, view: &dyn Observed) {
        // What stays when it leaves Git may not be written down, and what moves to another component is written down as
        // the former's until it is applied.
        let written = keys.iter().filter_map(|key| view.entry(key)).map(|entry| entry.component);
        let wanted = keys.iter().filter_map(|key| self.wanted.get(key)).cloned();
        let names: BTreeSet<Arc<str>> = written.chain(wanted).collect();
        for name in &names {
            self.check_component(name, view);
        }
        self.retry_conflicts(keys, view);
    }

    /// What failed because another runtime had an object is tried at once when that runtime lets it go.
    fn retry_conflicts(&mut self, keys: &BTreeSet<ObjectKey>, view: &dyn Observed) {
        let offered = keys.iter().filter(|key| view.is_offered(key)).filter_map(|key| self.wanted.get(key));
        let names: BTreeSet<Arc<str>> = offered.cloned().collect();
        for name in &names {
            let in_conflict = |record: &ComponentState| {
                let error = record.error.as_ref().map(|(error, _)| error.reason);
                matches!(record.phase, Phase::Failed { .. }) && error == Some(Reason::Conflict)
            };
            if self.components.get(name).is_some_and(in_conflict) {
                self.begin(name);
            }
        }
    }

    /// Whether someone changed what we own of a component.
    fn check_component(&mut self, name: &Arc<str>, view: &dyn Observed) {
        let Some(record) = self.components.get_mut(name) else { return };
        self.touched.insert(name.clone());
        record.stale = record.is_busy();
        if !matches!(record.phase, Phase::Ready | Phase::Settling { .. }) {
            self.refresh_health(name, view);
            return self.check_late_job(name, view);
        }
        let Some(desired) = record.desired.clone() else { return };
        let plan = self.plan(&desired, view);
        let Some(record) = self.components.get_mut(name) else { return };
        let acts = |step: &&Step| step.action.writes() || step.action == Action::Report;
        let acting: HashMap<&ObjectKey, &Step> = plan.steps.iter().filter(acts).map(|step| (&step.key, step)).collect();
        let told = |key: &ObjectKey| {
            let owned = view.live(key).and_then(|live| live.owned);
            record.drift.get(key).is_some_and(|drifted| !drifted.repaired && drifted.owned == owned)
        };
        let needs_work = acting.keys().any(|key| !told(key));
        record.drift.retain(|key, drifted| drifted.repaired || acting.contains_key(key));
        if needs_work {
            self.begin(name);
        }
    }

    /// A Job that ends when nobody waits for it any more is not left until the next try.
    fn check_late_job(&mut self, name: &Arc<str>, view: &dyn Observed) {
        let Some((key, ended)) = self.components.get(name).and_then(|record| record.ended_late(view)) else {
            return;
        };
        if ended.is_current() {
            self.begin(name);
        } else {
            self.fail(name, &jobs::failed(&key, &ended));
        }
    }

    fn fail(&mut self, name: &Arc<str>, error: &ReconcileError) {
        let most = self.object.spec.max_backoff.into();
        let Some(record) = self.components.get_mut(name) else { return };
        let is_new = record.on_failed(error, most, self.now);
        record.failing_reason = Some(error.reason);
        let attempts = record.attempts;
        self.outbox.report_error(name, error, attempts, is_new, last_good(&self.status));
    }
}
