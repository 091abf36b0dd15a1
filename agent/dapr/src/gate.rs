//! What keeps a restart from being begun.

use jiff::{SignedDuration, Timestamp};
use reeve_crds::dapr_workload::BlockedReason;

use crate::entry::EntryKind;
use crate::expected::{expected, missing_secrets};
use crate::record::Record;
use crate::world::{OwnerKind, Role, Strategy, Workload, WorkloadId, World};

/// Why a restart has to wait, and until when if time alone helps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// What keeps it.
    pub reason: BlockedReason,
    /// In a sentence, with what to do.
    pub message: String,
    /// When to look again.
    pub until: Option<Timestamp>,
}

impl Block {
    pub(crate) fn new(reason: BlockedReason, message: String) -> Self {
        Self { reason, message, until: None }
    }
}

/// What keeps this workload's restart, apart from other workloads' restarts.
pub fn block(id: &WorkloadId, workload: &Workload, record: &Record, world: &World, now: Timestamp) -> Option<Block> {
    settling(record, world, now)
        .or_else(|| control_plane(workload, record, world))
        .or_else(|| secrets(id, workload, world))
        .or_else(|| strategy(id, workload))
        .or_else(|| disruption(id, workload))
        .or_else(|| hourly(record, world, now))
}

/// Waits for more changes, so that many of them are one restart.
fn settling(record: &Record, world: &World, now: Timestamp) -> Option<Block> {
    let since = record.change.as_ref()?.since;
    let until = since.saturating_add(length(world.policy.settle_time)).ok().filter(|until| *until > now)?;
    let message = format!("more changes may come until {until}");
    Some(Block { until: Some(until), ..Block::new(BlockedReason::Settling, message) })
}

fn control_plane(workload: &Workload, record: &Record, world: &World) -> Option<Block> {
    if workload.role == Role::ControlPlane {
        return None;
    }
    if workload.role == Role::Sidecar && !world.control_plane.injector_ready {
        let message =
            "no sidecar injector of Dapr is ready: new pods would have no sidecar; look at dapr-sidecar-injector";
        return Some(Block::new(BlockedReason::InjectorDown, message.to_owned()));
    }
    if !world.control_plane.operator_ready {
        let message = "no operator of Dapr is ready: new sidecars would not start; look at dapr-operator";
        return Some(Block::new(BlockedReason::OperatorDown, message.to_owned()));
    }
    let system = |entries: &crate::entry::Entries| {
        entries.iter().find(|(key, _)| key.kind == EntryKind::System).map(|(_, entry)| *entry)
    };
    if system(&record.running) == system(&record.applied) {
        return None;
    }
    let (behind, _) = world.workloads.iter().find(|(id, other)| {
        other.role == Role::ControlPlane
            && world
                .records
                .get(*id)
                .is_some_and(|record| system(&record.running) != system(&expected(&id.namespace, other, world)))
    })?;
    let message = format!("Dapr's control plane takes the change over first; {behind} has not yet");
    Some(Block::new(BlockedReason::ControlPlaneFirst, message))
}

fn secrets(id: &WorkloadId, workload: &Workload, world: &World) -> Option<Block> {
    let missing = missing_secrets(&id.namespace, workload, world);
    let (name, of) = missing.first_key_value()?;
    let message = format!(
        "Secret {}/{name}, or a key of it that {of} names, is missing: sidecars would not start; create it",
        id.namespace
    );
    Some(Block::new(BlockedReason::MissingSecret, message))
}

fn strategy(id: &WorkloadId, workload: &Workload) -> Option<Block> {
    if workload.paused {
        return Some(Block::new(BlockedReason::Paused, format!("{id} is paused; resume it to let the change in")));
    }
    match workload.strategy {
        Strategy::Rolling { .. } | Strategy::Recreate => None,
        Strategy::OnDelete => {
            let message = format!("{id} replaces only pods that somebody deletes; delete them, or use RollingUpdate");
            Some(Block::new(BlockedReason::OnDelete, message))
        }
        Strategy::Partitioned => {
            let message = format!(
                "a partition of {id} keeps some pods back; set spec.updateStrategy.rollingUpdate.partition to 0"
            );
            Some(Block::new(BlockedReason::Partitioned, message))
        }
    }
}

/// A rollout does not ask disruption budgets. It may go on where its strategy takes away no more than they allow.
fn disruption(id: &WorkloadId, workload: &Workload) -> Option<Block> {
    let budget = workload.budget.as_ref()?;
    let at_once = match (id.kind, workload.strategy) {
        (OwnerKind::ReplicaSet | OwnerKind::Rollout, _) => 1,
        (_, Strategy::Rolling { max_unavailable }) => max_unavailable.min(workload.replicas),
        (_, Strategy::Recreate | Strategy::OnDelete | Strategy::Partitioned) => workload.replicas,
    };
    (at_once > budget.allowed).then(|| {
        let message = format!(
            "a restart of {id} takes away up to {at_once} pods at once, and PodDisruptionBudget {} allows {}; allow more, or roll with maxUnavailable 0 and a surge",
            budget.name, budget.allowed
        );
        Block::new(BlockedReason::DisruptionBudget, message)
    })
}

fn hourly(record: &Record, world: &World, now: Timestamp) -> Option<Block> {
    let hour = SignedDuration::from_hours(1);
    let recent: Vec<Timestamp> =
        record.restarts.iter().map(|restart| restart.at).filter(|at| at.duration_until(now) < hour).collect();
    let most = usize::try_from(world.policy.max_restarts_per_hour).unwrap_or(1);
    let oldest = recent.get(most.checked_sub(1)?)?;
    let message = format!(
        "it restarted {} times within an hour, and the policy allows {most}; find what changes so often",
        recent.len()
    );
    Some(Block { until: oldest.saturating_add(hour).ok(), ..Block::new(BlockedReason::RestartBudget, message) })
}

/// A duration of a policy, for arithmetic.
pub(crate) fn length(duration: reeve_crds::Duration) -> SignedDuration {
    SignedDuration::try_from(std::time::Duration::from(duration)).unwrap_or(SignedDuration::MAX)
}
