//! Jobs of a component that run before or after its objects are applied, once per digest.
//!
//! That a Job is of this digest is in its content annotation, so that one that ran is known again after a crash. It is
//! written down like any object, and taken away when its chart asks for it or it leaves Git.

use reeve_crds::Lenient;
use reeve_crds::Reason;
use reeve_crds::outcome::Outcome;
use reeve_crds::runtime_component::{JobPhase, JobRun};
use reeve_renderer_objects::hook::{HookDeletion, Phase};
use reeve_renderer_objects::key::ObjectKey;

use super::run::{ComponentRun, Operation, Report, RunSpec, stopped};
use crate::apply::{Applier, ApplyError, Gone};
use crate::desired::DesiredJob;
use crate::error::ReconcileError;
use crate::health::{Health, HealthState};
use crate::inventory::Change;
use crate::plan::View as _;

/// A Job that ended otherwise than it should have.
pub(super) fn failed(key: &ObjectKey, ended: &Health) -> ReconcileError {
    ReconcileError::transient(Reason::JobFailed, format!("{key}: {}", ended.message)).about(key)
}

impl RunSpec {
    fn after(&self) -> Option<Phase> {
        match self.operation {
            Operation::Install => Some(Phase::PostInstall),
            Operation::Upgrade => Some(Phase::PostUpgrade),
            Operation::Reconcile => None,
        }
    }

    /// Whether a Job of this phase is yet to run.
    pub(super) fn has_jobs_after(&self) -> bool {
        let Some(operation) = self.after() else { return false };
        self.desired.jobs.iter().any(|job| job.hook.phases.contains(&operation) && !self.ran(job, JobPhase::After))
    }

    fn ran(&self, job: &DesiredJob, phase: JobPhase) -> bool {
        self.jobs.iter().any(|run| {
            *run.name == *job.object.key.name
                && run.phase.known() == Some(&phase)
                && run.digest.as_deref() == Some(&*self.desired.digest)
                && run.outcome.as_ref().and_then(Lenient::known) == Some(&Outcome::Succeeded)
        })
    }
}

impl ComponentRun {
    pub(super) async fn jobs_before(&self, report: &mut Report) -> Result<(), ReconcileError> {
        match self.spec.operation {
            Operation::Install => self.run_jobs(Phase::PreInstall, JobPhase::Before, report).await,
            Operation::Upgrade => self.run_jobs(Phase::PreUpgrade, JobPhase::Before, report).await,
            Operation::Reconcile => Ok(()),
        }
    }

    pub(super) async fn jobs_after(&self, report: &mut Report) -> Result<(), ReconcileError> {
        match self.spec.after() {
            Some(operation) => self.run_jobs(operation, JobPhase::After, report).await,
            None => Ok(()),
        }
    }

    async fn run_jobs(&self, operation: Phase, phase: JobPhase, report: &mut Report) -> Result<(), ReconcileError> {
        let applier = self.applier();
        let jobs = &self.spec.desired.jobs;
        let is_new = self.spec.operation == Operation::Install;
        let is_installed =
            is_new && jobs.iter().any(DesiredJob::is_for_install_alone) && applier.is_installed_by_helm().await?;
        for job in jobs.iter().filter(|job| job.runs_on(operation, is_installed)) {
            if self.spec.ran(job, phase) {
                continue;
            }
            self.watch(&applier, std::iter::once(&job.object)).await?;
            self.refuse_others(&job.object.key).await?;
            let outcome = self.run_job(&applier, job, report).await;
            if self.ctx.budget.is_closed() {
                // A wait that was given up says nothing of the Job, which is not to be deleted for it.
                return Err(stopped());
            }
            let done = if outcome.is_ok() { Outcome::Succeeded } else { Outcome::Failed };
            report.jobs.push(JobRun {
                name: job.object.key.name.to_string(),
                phase: Lenient::Known(phase),
                digest: Some(self.spec.desired.digest.to_string()),
                outcome: Some(Lenient::Known(done)),
                finished_at: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.ctx.now())),
            });
            let clean = if outcome.is_ok() { HookDeletion::Succeeded } else { HookDeletion::Failed };
            if job.hook.deletion.contains(&clean) {
                self.take_away(&applier, job).await?;
            }
            outcome?;
        }
        Ok(())
    }

    /// Leaves a Job of that name alone which another runtime has.
    async fn refuse_others(&self, key: &ObjectKey) -> Result<(), ReconcileError> {
        let Some(live) = self.ctx.live(key) else { return Ok(()) };
        match live.owner.filter(|owner| *owner != self.ctx.owner) {
            Some(owner) if self.ctx.is_kept_by(&owner, self.spec.desired.target, key).await => {
                let component = live.component.map(String::from);
                Err(ApplyError::Claimed { object: key.clone(), owner, component }.into())
            }
            _ => Ok(()),
        }
    }

    async fn run_job(&self, applier: &Applier, job: &DesiredJob, report: &mut Report) -> Result<(), ReconcileError> {
        let key = &job.object.key;
        let is_ours = |content: Option<&str>| content == Some(&*job.object.content);
        let there = self.ctx.live(key);
        let failed_before = there
            .as_ref()
            .is_some_and(|live| live.health.as_ref().is_some_and(|health| health.state == HealthState::Failed));
        // One that failed is tried anew with the component; one of an earlier digest makes room.
        let make_room = there.as_ref().is_some_and(|live| !is_ours(live.content.as_deref())) || failed_before;
        if make_room {
            self.take_away(applier, job).await?;
        }
        if make_room || there.is_none() {
            self.ctx.inventory.store(vec![(key.clone(), self.spec.planned(&job.object))], []).await?;
            self.write(applier, &job.object).await?;
            report.changes += 1;
        }
        let ended = self.ctx.budget.wait(self.until_ended(job)).await.ok_or_else(stopped)??;
        match ended.state {
            HealthState::Current => Ok(()),
            HealthState::Failed | HealthState::InProgress | HealthState::Terminating => Err(failed(key, &ended)),
        }
    }

    async fn until_ended(&self, job: &DesiredJob) -> Result<Health, ReconcileError> {
        let key = &job.object.key;
        let changed_keys = self.target().watch_cache.subscribe(self.ctx.owner.clone(), None);
        let ended = async {
            loop {
                let health = self.ctx.live(key).and_then(|live| live.health);
                match health {
                    Some(health) if matches!(health.state, HealthState::Current | HealthState::Failed) => {
                        return Ok(health);
                    }
                    Some(_) => {}
                    None => {
                        let message = format!("{key} went away before it was done");
                        return Err(ReconcileError::transient(Reason::JobFailed, message).about(key));
                    }
                }
                changed_keys.changed().await;
            }
        };
        tokio::select! {
            result = ended => result,
            () = self.ctx.clock.sleep(self.spec.timeout) => {
                let within = reeve_crds::Duration::from(self.spec.timeout);
                Err(ReconcileError::transient(Reason::TimedOut, format!("{key} is not done within {within}")).about(key))
            }
        }
    }

    async fn take_away(&self, applier: &Applier, job: &DesiredJob) -> Result<(), ReconcileError> {
        let kind = applier.kind(&job.object).await?;
        let uid = self.ctx.live(&job.object.key).map(|live| live.uid);
        if applier.delete(&job.object.key, &kind, uid.as_deref()).await? == Gone::Deleting {
            let gone = applier.until_gone(&job.object.key, &kind, uid.as_deref(), self.spec.timeout);
            self.ctx.budget.wait(gone).await.ok_or_else(stopped)??;
        }
        self.ctx.inventory.note([Change::Drop(job.object.key.clone())]);
        Ok(())
    }
}
