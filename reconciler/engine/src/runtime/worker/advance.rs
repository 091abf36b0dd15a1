//! What may begin, and what an end leads to.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use reeve_crds::RuntimeComponentStatus;
use reeve_crds::outcome::Outcome;
use reeve_renderer_objects::key::ObjectKey;

use super::{Task, TaskEnd, Worker};
use crate::clock::after;
use crate::desired::{Desired, DesiredComponent, Stage};
use crate::runtime::component::{ComponentState, Phase, summarize_health};
use crate::runtime::removal;
use crate::runtime::run::{ComponentRun, Operation, Report};
use crate::runtime::status;

impl Worker {
    /// Git wants something else.
    pub(super) fn set_desired(&mut self, desired: &Arc<Desired>) {
        self.assigned = Some(desired.clone());
        self.reconcile_towards(desired);
    }

    /// Starts whatever differs from what was worked towards before.
    pub(super) fn reconcile_towards(&mut self, desired: &Arc<Desired>) {
        let now = self.ctx.now();
        self.providers = providers(desired);
        self.ctx.wanted.set(desired);
        self.desired = Some(desired.clone());
        let left_over = self.left_over();
        for name in &left_over {
            let new = || ComponentState::new(name.clone(), RuntimeComponentStatus::default(), now);
            self.components.entry(name.clone()).or_insert_with(new);
        }
        let good = self.status.last_good.as_ref().is_some_and(|good| good.digest == *desired.digest);
        // To go back to what was good before the last change was done is a change as well.
        if !good || self.rollout.is_some() {
            self.rollout = Some(super::Rollout { began: now, changes: 0 });
        }
        for component in &desired.components {
            self.setup.watch_cache.set_rules(&self.ctx.owner, &component.name, &component.health);
            let record = self
                .components
                .entry(component.name.clone())
                .or_insert_with(|| ComponentState::new(component.name.clone(), RuntimeComponentStatus::default(), now));
            let same = record.desired.as_ref().is_some_and(|before| is_same(before, component));
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
        let left: Vec<Arc<str>> = self.components.keys().filter(|name| !wanted.contains(name)).cloned().collect();
        for name in left {
            let leaves = self.components.get_mut(&name).is_some_and(|record| record.desired.take().is_some());
            if leaves {
                self.no_longer_fails(&name, "what failed left Git");
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
    fn left_over(&self) -> BTreeSet<Arc<str>> {
        let is_left = |key: &ObjectKey| !self.ctx.wanted.has(key);
        self.ctx.inventory.read(|inventory| {
            inventory.iter().filter(|(key, _)| is_left(key)).map(|(_, entry)| entry.component.clone()).collect()
        })
    }

    /// Begins anew, with a clean slate.
    fn restart(&mut self, name: &Arc<str>) {
        let now = self.ctx.now();
        if let Some(record) = self.components.get_mut(name) {
            record.began = now;
            record.applied_at = None;
            record.changes = 0;
            record.attempts = 0;
            record.error = None;
            record.has_definitions = false;
        }
        self.begin(name);
    }

    /// Looks at a component again, whatever it waits for.
    pub(super) fn retry(&mut self, name: &Arc<str>) {
        if let Some(record) = self.components.get_mut(name) {
            record.attempts = 0;
            record.drift.retain(|_, drifted| drifted.repaired);
            if let Some(desired) = &record.desired {
                self.ctx.contests.forget(desired.objects.iter().map(|object| &object.key));
            }
        }
        self.begin(name);
    }

    /// Begins a component from its first step, giving up what was under way.
    pub(super) fn begin(&mut self, name: &Arc<str>) {
        if let Some(running) = self.running.remove(name) {
            running.abort();
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
    pub(super) fn advance(&mut self) {
        let mut open: Vec<Arc<str>> = self.touched.iter().cloned().collect();
        open.extend(
            self.components
                .values()
                .filter(|record| matches!(record.phase, Phase::Waiting(_) | Phase::Removing))
                .map(|record| record.name.clone()),
        );
        // Whatever becomes ready may let another begin.
        while let Some(name) = open.pop() {
            let became_ready = self.step(&name);
            if became_ready {
                open.extend(
                    self.components
                        .values()
                        .filter(|record| matches!(record.phase, Phase::Waiting(_)))
                        .map(|record| record.name.clone()),
                );
            }
        }
    }

    /// One component's next step. True if it is ready now and was not.
    fn step(&mut self, name: &Arc<str>) -> bool {
        let now = self.ctx.now();
        let Some(record) = self.components.get(name) else { return false };
        match (&record.phase, &record.desired) {
            (Phase::Waiting(_), Some(desired)) => {
                let missing = self.missing(desired);
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
                let condition = summarize_health(desired, &*self.ctx, now);
                let healthy = condition.unhealthy.is_empty();
                self.set_condition(name, condition);
                healthy && self.settled(name)
            }
            (Phase::Ready, Some(desired)) => {
                let condition = summarize_health(desired, &*self.ctx, now);
                let timeout = self.timeout(desired);
                let ill = !condition.unhealthy.is_empty();
                self.set_condition(name, condition);
                if ill && let Some(record) = self.components.get_mut(name) {
                    record.phase = Phase::Settling { deadline: after(now, timeout) };
                }
                false
            }
            (Phase::Removing, None) => {
                if self.desired.is_some() && !self.running.contains_key(name) && !self.is_needed(name) {
                    self.start(name, Task::Remove);
                }
                false
            }
            _ => false,
        }
    }

    fn set_condition(&mut self, name: &Arc<str>, condition: crate::runtime::component::HealthSummary) {
        if let Some(record) = self.components.get_mut(name)
            && record.health != condition
        {
            record.health = condition;
            self.touched.insert(name.clone());
        }
    }

    /// All objects are healthy: what comes last, or done. True if it is done.
    fn settled(&mut self, name: &Arc<str>) -> bool {
        self.touched.insert(name.clone());
        let Some(work) = self.work(name) else { return false };
        let has_more = work.has_jobs_after() || !self.ctx.plan(&work.desired).removals.is_empty();
        if has_more {
            if let Some(record) = self.components.get_mut(name) {
                record.phase = Phase::Finishing;
            }
            self.start(name, Task::Finish);
            return false;
        }
        self.ready(name);
        true
    }

    pub(super) fn ready(&mut self, name: &Arc<str>) {
        let now = self.ctx.now();
        let Some(record) = self.components.get_mut(name) else { return };
        record.phase = Phase::Ready;
        record.error = None;
        record.attempts = 0;
        record.answer_request();
        let Some(desired) = record.desired.clone() else { return };
        let good = record.status.last_good.as_ref();
        if good.is_none_or(|good| !status::is_of(good, &desired)) {
            record.status.last_good = Some(status::rendered(&desired, &record.revision, now));
            let entry = status::history(record, Outcome::Succeeded, None, now);
            status::remember(&mut record.status.history, entry);
        }
    }

    /// What a component waits for: components it depends on, and foundations that it builds on.
    fn missing(&self, desired: &DesiredComponent) -> Vec<Arc<str>> {
        let not_ready = |name: &&Arc<str>| self.components.get(*name).is_none_or(|record| !record.is_ready());
        let not_laid = |name: &&Arc<str>| self.components.get(*name).is_none_or(|record| !record.has_definitions);
        let built_on = self.providers.get(&desired.name).into_iter().flatten();
        let missing: BTreeSet<Arc<str>> =
            desired.depends_on.iter().filter(not_ready).chain(built_on.filter(not_laid)).cloned().collect();
        missing.into_iter().collect()
    }

    /// Whether another component that is on its way out still builds on this one.
    fn is_needed(&self, name: &Arc<str>) -> bool {
        self.components.values().any(|record| {
            record.desired.is_none()
                && record.name != *name
                && self.specs.get(&record.name).is_some_and(|spec| spec.depends_on.iter().any(|on| **on == **name))
        })
    }

    fn timeout(&self, desired: &DesiredComponent) -> std::time::Duration {
        desired.timeout.unwrap_or_else(|| self.ctx.spec.timeout.into())
    }

    fn work(&self, name: &Arc<str>) -> Option<ComponentRun> {
        let record = self.components.get(name)?;
        let desired = record.desired.clone()?;
        let operation = match &record.status.last_good {
            None => Operation::Install,
            Some(good) if good.digest == *desired.digest => Operation::Reconcile,
            Some(_) => Operation::Upgrade,
        };
        let (jobs, timeout) = (record.status.jobs.clone(), self.timeout(&desired));
        Some(ComponentRun { ctx: self.ctx.clone(), timeout, desired, jobs, operation })
    }

    fn start(&mut self, name: &Arc<str>, task: Task) {
        let Some(record) = self.components.get(name) else { return };
        let (number, component) = (record.task, name.clone());
        let handle = if task == Task::Remove {
            let named = self.specs.get(name).and_then(|spec| spec.service_account_name.clone());
            let ctx = self.ctx.clone();
            self.tasks.spawn(async move {
                let mut report = Report::default();
                let result = removal::dissolve(&ctx, &component, named.as_deref(), &mut report).await;
                TaskEnd { component, task, number, report, result }
            })
        } else {
            let Some(work) = self.work(name) else { return };
            self.tasks.spawn(async move {
                let mut report = Report::default();
                let result = match task {
                    Task::ApplyDefinitions => work.apply_definitions(&mut report).await,
                    Task::Apply => work.apply(&mut report).await,
                    Task::Finish | Task::Remove => work.finish(&mut report).await,
                };
                TaskEnd { component, task, number, report, result }
            })
        };
        self.running.insert(name.clone(), handle);
    }
}

/// Whether nothing of a component has to be applied anew.
fn is_same(before: &DesiredComponent, after: &DesiredComponent) -> bool {
    before.digest == after.digest
        && before.version == after.version
        && before.chart == after.chart
        && before.target == after.target
        && before.service_account == after.service_account
        && before.depends_on == after.depends_on
        && before.sends_same(after)
}

/// Which other components give a component its namespaces and kinds.
fn providers(desired: &Desired) -> HashMap<Arc<str>, BTreeSet<Arc<str>>> {
    let mut namespaces: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    let mut kinds: HashMap<(String, String), Arc<str>> = HashMap::new();
    for component in &desired.components {
        for object in component.objects.iter().filter(|object| object.stage == Stage::Definitions) {
            if &*object.key.kind == "Namespace" {
                namespaces.insert(object.key.name.clone(), component.name.clone());
                continue;
            }
            let crd = object.value();
            let text = |path| crd.pointer(path).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
            kinds.insert((text("/spec/group"), text("/spec/names/kind")), component.name.clone());
        }
    }
    let needs = |component: &Arc<DesiredComponent>| {
        let mut needed = BTreeSet::new();
        for object in &component.objects {
            needed.extend(object.key.namespace.as_ref().and_then(|namespace| namespaces.get(namespace)).cloned());
            needed.extend(kinds.get(&(object.key.group.to_string(), object.key.kind.to_string())).cloned());
        }
        needed.remove(&component.name);
        (component.name.clone(), needed)
    };
    desired.components.iter().map(needs).filter(|(_, needed)| !needed.is_empty()).collect()
}
