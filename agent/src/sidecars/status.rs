//! What the `DaprWorkload` of a workload says, and which events are worth telling. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_agent_dapr::decide::{Decision, Means, Verdict};
use reeve_agent_dapr::gate::Block;
use reeve_agent_dapr::ledger;
use reeve_agent_dapr::world::{OwnerKind, Role, Workload, WorkloadId};
use reeve_crds::condition::{Condition, types};
use reeve_crds::dapr_workload::{Blocked, BlockedReason, Method, Proof};
use reeve_crds::runtime::policy::DaprReload;
use reeve_crds::{Count, DaprWorkloadSpec, DaprWorkloadStatus, Lenient, Reason, State, WorkloadRef};

use super::snapshot::Subject;

/// Longest message in a status.
const MESSAGE: usize = 1024;

/// Which workload a record speaks of.
pub(super) fn spec(subject: &Subject, workload: &Workload) -> DaprWorkloadSpec {
    DaprWorkloadSpec {
        workload: WorkloadRef {
            api_version: subject.owner.api_version.clone(),
            kind: subject.owner.kind.clone(),
            name: subject.owner.name.clone(),
        },
        app_id: workload.app_id.clone(),
        shared: workload.role == Role::Shared,
        configuration: workload.configuration.clone(),
    }
}

/// What is told of a decision.
struct Summary {
    state: State,
    reason: Reason,
    message: String,
    blocked: Option<(BlockedReason, String)>,
}

/// The status that says what was decided.
pub(super) fn status(
    id: &WorkloadId,
    subject: &Subject,
    workload: &Workload,
    decision: &Decision,
    reload: DaprReload,
    generation: Option<i64>,
    now: Timestamp,
) -> DaprWorkloadStatus {
    let old = subject.record.as_ref().and_then(|record| record.status.clone()).unwrap_or_default();
    let mut status = DaprWorkloadStatus::default();
    ledger::write(&decision.record, &mut status);
    let summary = summarize(id, decision);
    status.observed_generation = generation;
    status.state = Some(summary.state);
    status.reload = Some(Lenient::from(workload.reload.unwrap_or(reload)));
    let missing = workload.pods_without_sidecar().count();
    let sidecar = status.sidecar.get_or_insert_default();
    sidecar.native = Some(subject.pods.iter().any(|pod| pod.is_native));
    sidecar.missing = Some(whole(missing));
    status.pods = Some(Count::new(whole(current_pods(workload, decision)), whole(workload.pods.len())));
    let mut add = |kind: &str, holds: bool, reason: Reason, message: &str| {
        status.conditions.push(condition(&old, kind, holds, reason, message, generation, now));
    };
    let is_ready = summary.state == State::Ready;
    add(types::READY, is_ready, summary.reason, &summary.message);
    let is_current = decision.verdict == Verdict::Nothing && missing == 0;
    add(types::CURRENT, is_current, if is_current { Reason::Succeeded } else { summary.reason }, &summary.message);
    let block = summary.blocked.as_ref().filter(|(reason, _)| !passes_by_itself(*reason));
    let why = block.map_or("nothing keeps it", |(_, message)| message.as_str());
    add(types::BLOCKED, block.is_some(), if block.is_some() { Reason::Blocked } else { Reason::Succeeded }, why);
    status.blocked = summary.blocked.map(|(reason, message)| {
        let known = Lenient::from(reason);
        let since = old.blocked.filter(|blocked| blocked.reason == known).and_then(|blocked| blocked.since);
        Blocked { reason: known, message: shorten(&message), since: since.or(Some(Time(now))) }
    });
    status
}

fn summarize(id: &WorkloadId, decision: &Decision) -> Summary {
    let why =
        || if decision.why.is_empty() { "the sidecars run what is applied".to_owned() } else { decision.why.clone() };
    let (state, reason) = match &decision.verdict {
        Verdict::Nothing => (State::Ready, Reason::Succeeded),
        Verdict::HotReload | Verdict::Restart(_) => (State::Processing, Reason::Progressing),
        Verdict::Blocked(block) => return blocked(block, &decision.why),
        Verdict::Report => {
            let reason = if id.kind == OwnerKind::Pod { BlockedReason::NoOwner } else { BlockedReason::Policy };
            return blocked(&Block { reason, message: why(), until: None }, "");
        }
    };
    Summary { state, reason, message: why(), blocked: None }
}

fn blocked(block: &Block, why: &str) -> Summary {
    let (state, reason) = match block.reason {
        reason if passes_by_itself(reason) => (State::Processing, Reason::Progressing),
        BlockedReason::Unhealthy => (State::Warning, Reason::Unhealthy),
        _ => (State::Warning, Reason::Blocked),
    };
    let message = if why.is_empty() { block.message.clone() } else { format!("{}; {why}", block.message) };
    Summary { state, reason, message, blocked: Some((block.reason, block.message.clone())) }
}

/// Whether nobody has to do anything about it.
fn passes_by_itself(reason: BlockedReason) -> bool {
    match reason {
        BlockedReason::Settling | BlockedReason::Queued | BlockedReason::ControlPlaneFirst => true,
        BlockedReason::DisruptionBudget
        | BlockedReason::Paused
        | BlockedReason::OnDelete
        | BlockedReason::Partitioned
        | BlockedReason::InjectorDown
        | BlockedReason::MissingSecret
        | BlockedReason::RestartBudget
        | BlockedReason::Policy
        | BlockedReason::NoOwner
        | BlockedReason::Unhealthy
        | BlockedReason::OperatorDown => false,
    }
}

/// How many pods are known to run what is applied.
fn current_pods(workload: &Workload, decision: &Decision) -> usize {
    match &decision.verdict {
        Verdict::Nothing | Verdict::Restart(Means::Evict(None, _)) => {
            workload.pods.len() - workload.pods_without_sidecar().count()
        }
        Verdict::Restart(Means::Template(token) | Means::Evict(Some(token), _)) => {
            workload.pods.iter().filter(|pod| pod.ready && pod.token.as_ref() == Some(token)).count()
        }
        Verdict::Restart(Means::RestartAt(_)) | Verdict::HotReload | Verdict::Blocked(_) | Verdict::Report => 0,
    }
}

fn condition(
    old: &DaprWorkloadStatus,
    kind: &str,
    holds: bool,
    reason: Reason,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let status = if holds { "True" } else { "False" };
    let before = old.conditions.iter().find(|condition| condition.type_ == kind && condition.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        observed_generation: generation,
        last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
        reason: reason.as_str().to_owned(),
        message: shorten(message),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MESSAGE).collect()
}

fn whole(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Whether two statuses say the same, in whichever order lists are kept.
pub(super) fn is_same(one: &DaprWorkloadStatus, other: &DaprWorkloadStatus) -> bool {
    let sorted = |status: &DaprWorkloadStatus| {
        let mut status = status.clone();
        status.resources.sort_by(|one, other| (&one.kind, &one.name).cmp(&(&other.kind, &other.name)));
        status.conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
        status
    };
    sorted(one) == sorted(other)
}

/// Something that people want to know of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Notice {
    pub(super) reason: Reason,
    pub(super) is_warning: bool,
    pub(super) note: String,
}

/// What happened between two statuses.
pub(super) fn notices(old: Option<&DaprWorkloadStatus>, new: &DaprWorkloadStatus) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |reason, is_warning, note: &str| notices.push(Notice { reason, is_warning, note: shorten(note) });
    let before = old.and_then(|old| old.change.as_ref());
    if let Some(change) = &new.change {
        let why = change.message.as_deref().unwrap_or_default();
        if change.started_at.is_some()
            && before.and_then(|before| before.started_at.as_ref()) != change.started_at.as_ref()
        {
            add(Reason::Restarting, false, why);
        }
        if change.finished_at.is_some() && before.is_none_or(|before| before.finished_at.is_none()) {
            match (change.method.known(), change.proof.as_ref().and_then(|proof| proof.known().copied())) {
                (Some(Method::Restart), _) => add(Reason::Restarted, false, why),
                (Some(Method::HotReload), Some(Proof::Observed)) => add(Reason::Reloaded, false, why),
                (Some(Method::HotReload), _) => add(Reason::Reloaded, false, &format!("{why}; no log says so")),
                _ => {}
            }
        }
    }
    let reason =
        |status: &DaprWorkloadStatus| status.blocked.as_ref().and_then(|blocked| blocked.reason.known().copied());
    if let Some(blocked) = &new.blocked
        && reason(new).is_some_and(|reason| !passes_by_itself(reason))
        && old.and_then(reason) != reason(new)
    {
        add(Reason::Blocked, true, &blocked.message);
    }
    notices
}

#[cfg(test)]
mod tests;
