//! Carries the plan of one component out, stage by stage.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use reeve_crds::Reason;
use reeve_crds::inventory::EntryState;
use reeve_crds::runtime_component::JobRun;
use reeve_renderer_objects::key::ObjectKey;

use super::Context;
use super::budget::Turn;
use super::definitions;
use super::drift::Drifted;
use super::removal::{remove, watch_entries};
use crate::admission::{self, Allowed};
use crate::apply::{Applier, ApplyError};
use crate::desired::{DesiredComponent, DesiredObject, Stage};
use crate::error::ReconcileError;
use crate::inventory::{Change, Entry};
use crate::live::Live;
use crate::payload::Apply;
use crate::plan::{Action, Step};
use crate::target::Target;

mod entries;

/// Steps of one component that may wait for a slot at once.
pub(super) const STEPS_IN_FLIGHT: usize = 64;

/// What a run works with: decided when it begins.
#[derive(Clone, Debug)]
pub(super) struct RunSpec {
    pub(super) desired: Arc<DesiredComponent>,
    /// Jobs that ran already.
    pub(super) jobs: Vec<JobRun>,
    /// What the work is for.
    pub(super) operation: Operation,
    /// How long waits inside may take.
    pub(super) timeout: Duration,
}

/// A component that has to be worked on.
#[derive(Clone, Debug)]
pub(super) struct ComponentRun {
    pub(super) ctx: Arc<Context>,
    pub(super) spec: RunSpec,
}

/// What work on a component is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// It never was as Git says.
    Install,
    /// It was as Git said before.
    Upgrade,
    /// It was as Git says already, and is looked at again.
    Reconcile,
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// Objects created, changed or deleted.
    pub(super) changes: i32,
    /// Objects that left Git and were deleted.
    pub(super) removed: Vec<ObjectKey>,
    /// Objects that left Git and stay, since they are not what was applied any more.
    pub(super) left: Vec<ObjectKey>,
    /// Objects that others had changed.
    pub(super) drifted: Vec<Drifted>,
    /// Jobs that ran.
    pub(super) jobs: Vec<JobRun>,
    /// When a contested object may be put right.
    pub(super) again_at: Option<Timestamp>,
}

impl ComponentRun {
    pub(super) fn applier(&self) -> Applier {
        let desired = &self.spec.desired;
        self.ctx.applier(desired.target, self.ctx.account(desired), Some(desired.release.clone()))
    }

    /// The cluster that the component is applied to.
    pub(super) fn target(&self) -> &Target {
        self.ctx.targets.of(self.spec.desired.target)
    }

    /// Namespaces and CRDs, which others may need before this component may begin.
    pub(super) async fn apply_definitions(&self, report: &mut Report) -> Result<(), ReconcileError> {
        self.admit()?;
        Box::pin(self.stage(Stage::Definitions, None, report)).await?;
        Box::pin(definitions::established(self)).await
    }

    /// Everything else that Git wants.
    pub(super) async fn apply(&self, report: &mut Report) -> Result<(), ReconcileError> {
        self.admit()?;
        Box::pin(self.jobs_before(report)).await?;
        self.ctx.inventory.store(self.spec.announced(&*self.ctx, &self.ctx.owner), []).await?;
        // Of a large change most components wait here; what comes after is large, and made only when it is needed.
        let mut turn = self.ctx.budget.turn().await.ok_or_else(stopped)?;
        for stage in [Stage::Prerequisites, Stage::Main, Stage::Webhooks] {
            Box::pin(self.stage(stage, Some(&mut turn), report)).await?;
        }
        Ok(())
    }

    /// What comes when all is healthy: Jobs, and taking away what left Git.
    pub(super) async fn finish(&self, report: &mut Report) -> Result<(), ReconcileError> {
        Box::pin(self.jobs_after(report)).await?;
        let account = self.ctx.account(&self.spec.desired);
        watch_entries(&self.ctx, &account, &self.ctx.inventory.entries_of(&self.spec.desired.name)).await?;
        let removals = self.ctx.plan(&self.spec.desired).removals;
        remove(&self.ctx, &self.applier(), self.spec.desired.target, removals, self.spec.timeout, report).await
    }

    /// Refuses what a tenant or a component of the control plane may not have.
    fn admit(&self) -> Result<(), ReconcileError> {
        let tenant = !self.ctx.spec.target.namespaces.is_empty();
        if let Some(key) = self.left_elsewhere() {
            let message = format!(
                "{key} is in the cluster of a former target: take it out of Git, and bring it back when it is gone"
            );
            return Err(ReconcileError::terminal(Reason::Unsupported, message).about(&key));
        }
        match admission::refused(&self.spec.desired, tenant, Allowed::Kinds(&self.ctx.control_plane.kinds)) {
            Some((key, why)) => Err(ReconcileError::terminal(Reason::Refused, format!("{key} {why}")).about(key)),
            None => Ok(()),
        }
    }

    /// An object that is in another cluster, where it would be forgotten if the component were applied to its own.
    fn left_elsewhere(&self) -> Option<ObjectKey> {
        let desired = &self.spec.desired;
        let is_left = |(key, entry): &(&ObjectKey, &Entry)| {
            entry.target != desired.target && (entry.component == desired.name || desired.object(key).is_some())
        };
        let left = || self.ctx.inventory.read(|inventory| Some(inventory.iter().find(is_left)?.0.clone()));
        if self.ctx.targets.is_one() { None } else { left() }
    }

    /// Applies the objects of a stage. One that fails does not keep the others of its stage back.
    async fn stage(
        &self,
        stage: Stage,
        turn: Option<&mut Turn<'_>>,
        report: &mut Report,
    ) -> Result<(), ReconcileError> {
        let objects: Vec<&DesiredObject> =
            self.spec.desired.objects.iter().filter(|object| object.stage == stage).collect();
        if objects.is_empty() {
            return Ok(());
        }
        let applier = self.applier();
        self.watch(&applier, objects.iter().copied()).await?;
        let plan = self.ctx.plan_with_claims(&self.spec.desired).await;
        let mut errors: Vec<ReconcileError> = Vec::new();
        for (key, owner) in plan.claimed.iter().filter(|(key, _)| objects.iter().any(|object| object.key == *key)) {
            let message = format!("{key} belongs to {owner}: remove it there or here");
            errors.push(ReconcileError::terminal(Reason::Conflict, message).about(key));
        }
        let steps: Vec<Step> = plan.steps.into_iter().filter(|step| step.stage == stage).collect();
        self.ctx.inventory.note(self.spec.released(&steps));
        self.write_ahead(&steps).await?;
        let (going, steps): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| step.action == Action::Replace);
        self.execute(&applier, &steps, report, &mut errors).await;
        if !going.is_empty() {
            let wait = self.until_gone(&applier, going, &mut errors);
            let gone = match turn {
                Some(turn) => turn.step_aside(wait).await.ok_or_else(stopped)?,
                None => wait.await,
            };
            self.execute(&applier, &gone, report, &mut errors).await;
        }
        worst(errors)
    }

    async fn execute(&self, applier: &Applier, steps: &[Step], report: &mut Report, errors: &mut Vec<ReconcileError>) {
        let work: Vec<_> = steps.iter().map(|step| self.step(applier, step)).collect();
        let mut results = stream::iter(work).buffer_unordered(STEPS_IN_FLIGHT);
        while let Some(result) = results.next().await {
            match result {
                Ok(done) => report.add(done),
                Err(error) => errors.push(error),
            }
        }
    }

    /// Waits for objects to be gone, and gives the steps of those that are.
    async fn until_gone(&self, applier: &Applier, going: Vec<Step>, errors: &mut Vec<ReconcileError>) -> Vec<Step> {
        let waits = going.into_iter().filter_map(|step| Some((self.spec.desired.object(&step.key)?, step)));
        let waits = waits.map(|(object, step)| async move {
            let kind = applier.kind(object).await?;
            let uid = applier.watch_cache.get(&step.key).map(|live| live.uid);
            let gone = applier.until_gone(&step.key, &kind, uid.as_deref(), self.spec.timeout);
            self.ctx.budget.wait(gone).await.ok_or_else(stopped)??;
            Ok::<Step, ReconcileError>(step)
        });
        let waits: Vec<_> = waits.collect();
        let mut gone = Vec::new();
        let mut results = stream::iter(waits).buffer_unordered(STEPS_IN_FLIGHT);
        while let Some(result) = results.next().await {
            match result {
                Ok(step) => gone.push(step),
                Err(error) => errors.push(error),
            }
        }
        gone
    }

    /// Watches the kinds of these objects, so that what is there is known.
    pub(super) async fn watch(
        &self,
        applier: &Applier,
        objects: impl Iterator<Item = &DesiredObject>,
    ) -> Result<(), ReconcileError> {
        let mut watched = BTreeSet::new();
        for object in objects {
            let scope = self.ctx.scope(&applier.account, self.spec.desired.target, &object.key);
            if !watched.insert((object.api_version.clone(), object.key.kind.clone(), scope.namespace.clone())) {
                continue;
            }
            let kind = applier.kind(object).await?;
            self.ctx.watch(self.spec.desired.target, scope, &kind).await?;
        }
        Ok(())
    }

    /// Stores what is about to be created, and waits for what others are about to store of it.
    async fn write_ahead(&self, steps: &[Step]) -> Result<(), ReconcileError> {
        let planned = self.spec.write_ahead(steps, &*self.ctx);
        let written = steps.iter().filter(|step| step.action.writes());
        Ok(self.ctx.inventory.store(planned, written.map(|step| &step.key)).await?)
    }

    async fn step(&self, applier: &Applier, step: &Step) -> Result<Done, ReconcileError> {
        let Some(object) = self.spec.desired.object(&step.key) else { return Ok(Done::default()) };
        match step.action {
            Action::Keep | Action::Leave => Ok(Done::default()),
            Action::Create if object.options.apply == Apply::IfMissing => self.create_if_missing(applier, object).await,
            Action::Create | Action::Replace if self.was_there(&object.key) => {
                Box::pin(self.make_anew(applier, object)).await
            }
            Action::Create | Action::Update | Action::Verify | Action::Replace => self.write(applier, object).await,
            Action::Repair | Action::Report => Box::pin(self.repair(applier, object)).await,
        }
    }

    /// Whether an object was as Git says when somebody took it away.
    fn was_there(&self, key: &ObjectKey) -> bool {
        let applied = |entry: &Entry| entry.uid.is_some() && entry.state == EntryState::Applied;
        self.spec.operation == Operation::Reconcile
            && self.ctx.inventory.read(|inventory| inventory.get(key).is_some_and(applied))
    }

    /// Watches show only what is ours, so one that somebody else made has to be asked for.
    async fn create_if_missing(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, ReconcileError> {
        let kind = applier.kind(object).await?;
        let Some(there) = applier.get(&object.key, &kind).await? else { return self.write(applier, object).await };
        applier.record_live(&object.key, &kind, &there);
        self.ctx.inventory.note([Change::Drop(object.key.clone())]);
        Ok(Done::default())
    }

    pub(super) async fn write(&self, applier: &Applier, object: &DesiredObject) -> Result<Done, ReconcileError> {
        applier.cluster.breaker().pass(&self.ctx.clock).await;
        let known =
            self.ctx.inventory.read(|inventory| inventory.get(&object.key).is_some_and(|entry| entry.uid.is_some()));
        let mut freed = None;
        let result = loop {
            let written = {
                let _slot = self.ctx.metrics.waiting(self.ctx.budget.slot()).await.ok_or_else(stopped)?;
                Box::pin(applier.apply(object, known, freed.as_ref())).await
            };
            match written {
                Err(ApplyError::Claimed { owner, .. })
                    if freed.as_ref() != Some(&owner)
                        && !self.ctx.is_kept_by(&owner, self.spec.desired.target, &object.key).await =>
                {
                    freed = Some(owner);
                }
                other => break other,
            }
        };
        self.ctx.metrics.written("apply", result.as_ref().map_or_else(ApplyError::reason, |_| Reason::Succeeded));
        match &result {
            Err(ApplyError::Kind { .. }) => applier.cluster.kinds().forget(&object.api_version),
            Err(ApplyError::Claimed { .. }) => self.forget_plan(&object.key),
            _ => {}
        }
        let done = result?;
        self.record(object, &done.live);
        Ok(Done { changes: i32::from(done.changed), ..Done::default() })
    }

    /// What was written down ahead of a write that the API server refused for good is no object of ours.
    fn forget_plan(&self, key: &ObjectKey) {
        let is_plan = |entry: &Entry| entry.state == EntryState::Planned && entry.uid.is_none();
        if self.ctx.inventory.read(|inventory| inventory.get(key).is_some_and(is_plan)) {
            self.ctx.inventory.note([Change::Drop(key.clone())]);
        }
    }

    pub(super) fn record(&self, object: &DesiredObject, live: &Live) {
        self.ctx.inventory.note([Change::Put(object.key.clone(), self.spec.applied(object, live))]);
    }
}

/// What one step did.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) changes: i32,
    pub(super) drifted: Option<Drifted>,
    pub(super) again_at: Option<Timestamp>,
}

impl Report {
    fn add(&mut self, done: Done) {
        self.changes += done.changes;
        self.drifted.extend(done.drifted);
        self.again_at = match (self.again_at, done.again_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The process is about to end: nothing more begins.
pub(super) fn stopped() -> ReconcileError {
    ReconcileError::transient(Reason::Stopped, "the work is stopped")
}

/// The failure that is told: one that a person must see to comes before one that may pass.
pub(super) fn worst(mut errors: Vec<ReconcileError>) -> Result<(), ReconcileError> {
    errors.sort_by(|a, b| (a.transient, &a.object).cmp(&(b.transient, &b.object)));
    let count = errors.len();
    match errors.into_iter().next() {
        None => Ok(()),
        Some(mut first) => {
            if count > 1 {
                first.message = format!("{} (and {} more)", first.message, count - 1);
                first.count = count;
            }
            Err(first)
        }
    }
}
