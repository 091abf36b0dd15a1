//! What is to be done about each workload now.
//!
//! Level-triggered: the decision compares what is on record with what is applied, whatever happened in between. Its
//! caller first stores the record of a decision, then acts; both may be repeated at any time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use reeve_crds::dapr_workload::{BlockedReason, Method, Proof};
use reeve_crds::runtime::policy::DaprReload;

use crate::entry::{Entries, EntryKind};
use crate::expected::expected;
use crate::fingerprint::Hash;
use crate::gate::{self, Block, length};
use crate::record::{Phase, Record, Restart};
use crate::rule::Rule;
use crate::rules::{EntryChange, Judgement, Need, differences, judge};
use crate::version::Sidecar;
use crate::world::{Evidence, OwnerKind, Workload, WorkloadId, World};

/// How long a restarted workload may take until all its pods are ready: what a Deployment allows itself by default.
pub const RESTART_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// The decision about one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub verdict: Verdict,
    /// The rule that says so, where one does.
    pub rule: Option<Rule>,
    /// Why, in a sentence.
    pub why: String,
    /// What is on record from now on; stored before anything is done.
    pub record: Record,
    /// When to decide again although nothing changes.
    pub again: Option<Timestamp>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Nothing,
    /// The sidecars take a change over by themselves; it is awaited.
    HotReload,
    /// The workload restarts, or is restarting.
    Restart(Means),
    /// The workload should restart and cannot now.
    Blocked(Block),
    /// Somebody else has to act.
    Report,
}

/// By which means a workload restarts. Each may be applied any number of times.
#[derive(Clone, Debug, PartialEq)]
pub enum Means {
    /// The template gets this token.
    Template(String),
    /// A Rollout gets this time as `spec.restartAt`.
    RestartAt(Timestamp),
    /// The template gets this token, if any, and these pods are evicted, by name and uid.
    Evict(Option<String>, Vec<(String, String)>),
}

/// What a workload asks for, before it is compared with the others.
enum Wish {
    Nothing(Option<(Rule, String)>),
    HotReload,
    Report(Rule, String),
    Start,
    Restarting,
    Failed(String),
    Replace(Vec<(String, String)>),
}

/// Decides about all workloads.
pub fn decide(world: &World, now: Timestamp) -> BTreeMap<WorkloadId, Decision> {
    let wishes: Vec<(&WorkloadId, &Workload, Record, Wish)> = world
        .workloads
        .iter()
        .map(|(id, workload)| {
            let (record, wish) = advance(id, workload, world, now);
            (id, workload, record, wish)
        })
        .collect();
    let failed = wishes.iter().find(|(_, _, _, wish)| matches!(wish, Wish::Failed(_))).map(|(id, ..)| (*id).clone());
    let most = usize::try_from(world.policy.max_concurrent_restarts).unwrap_or(1);
    // A place is free once it is on record that it is: records are stored one by one, and the agent may be killed between.
    let has_place = |id| world.records.get(id).is_some_and(|record| record.phase() == Phase::Restarting);
    let mut under_way = wishes.iter().filter(|(id, ..)| has_place(id)).count();
    let mut decisions = BTreeMap::new();
    for (id, workload, record, wish) in wishes {
        let starts = matches!(wish, Wish::Start | Wish::Replace(_));
        let block = starts
            .then(|| {
                gate::block(id, workload, &record, world, now)
                    .or_else(|| failed.as_ref().filter(|other| *other != id).map(unhealthy))
                    .or_else(|| (under_way >= most && !has_place(id)).then(|| queued(most)))
            })
            .flatten();
        if starts && block.is_none() && !has_place(id) {
            under_way += 1;
        }
        decisions.insert(id.clone(), conclude(id, workload, record, wish, block, world, now));
    }
    decisions
}

fn unhealthy(other: &WorkloadId) -> Block {
    let message = format!("{other} did not come back from its restart; restarts go on when it is ready");
    Block::new(BlockedReason::Unhealthy, message)
}

fn queued(most: usize) -> Block {
    Block::new(BlockedReason::Queued, format!("{most} workloads are restarting, which is as many as the policy allows"))
}

/// Brings the record up to date, and says what the workload asks for.
fn advance(id: &WorkloadId, workload: &Workload, world: &World, now: Timestamp) -> (Record, Wish) {
    let expected = expected(&id.namespace, workload, world);
    let Some(mut record) = world.records.get(id).cloned() else {
        let record = Record::adopt(workload.template(), workload.sidecar(), &expected, world.hash_key);
        return (record, without_sidecar(id, workload, world));
    };
    record.rekey(&expected, world.hash_key);
    record.rebind(workload.template(), &expected);
    let restarted = record.phase() == Phase::Restarting && has_restarted(workload, &record);
    if workload.replicas == 0 && workload.pods.is_empty() {
        // Pods that come later start with what is applied then.
        record.applied = expected;
        record.finish(Proof::Observed, Sidecar::UNKNOWN, now);
        return (record, Wish::Nothing(None));
    }
    let sidecar = if restarted { workload.sidecar() } else { running_sidecar(workload, &record) };
    let base = record.base().clone();
    let changes: Vec<EntryChange<'_>> =
        differences(&base, &expected).into_iter().filter(|change| !is_seen_in_pods(change, workload, world)).collect();
    let judgement = judge(&changes, &sidecar, world, &id.namespace);
    // What changed since may be what the last pods of the restart started with: then it is not over, but mixed.
    let is_mixed = judgement.as_ref().is_some_and(|judgement| need(judgement, workload, world) == Need::Restart);
    if restarted && (!is_mixed || leaves_restarts(workload, world)) {
        record.finish(Proof::Observed, sidecar, now);
    }
    if let Some(judgement) = judgement {
        return on_change(id, workload, record, &judgement, &expected, world, now);
    }
    record.adopt_unchanged(&expected);
    let wish = on_no_change(id, workload, &mut record, world, now);
    (record, wish)
}

fn on_change(
    id: &WorkloadId,
    workload: &Workload,
    mut record: Record,
    judgement: &Judgement,
    expected: &Entries,
    world: &World,
    now: Timestamp,
) -> (Record, Wish) {
    let reason = || (judgement.rule, judgement.why.clone());
    let need = need(judgement, workload, world);
    match id.kind {
        OwnerKind::Job => {
            record.applied.clone_from(expected);
            record.finish(Proof::Assumed, workload.sidecar(), now);
            return (record, Wish::Nothing(Some((Rule::R21, format!("the next run of {id} takes it over")))));
        }
        OwnerKind::Pod if need == Need::Restart => {
            let why = format!("{}; nothing would bring {id} back, so replace it by hand", judgement.why);
            return (record, Wish::Report(Rule::R21, why));
        }
        OwnerKind::Pod
        | OwnerKind::Deployment
        | OwnerKind::StatefulSet
        | OwnerKind::DaemonSet
        | OwnerKind::ReplicaSet
        | OwnerKind::Rollout => {}
    }
    // What waits for its restart is not judged again for the same target: when it was, less was possible, or a reload
    // could not be proven. What is mixed is made equal by a restart alone.
    let is_same = record.phase() == Phase::Waiting && record.applied == *expected;
    let is_mixed = record.is_mixed() && need != Need::Nothing;
    let need = if is_same || is_mixed { Need::Restart } else { need };
    match need {
        Need::Nothing => {
            record.adopt_unchanged(expected);
            let wish = match on_no_change(id, workload, &mut record, world, now) {
                Wish::Nothing(None) => Wish::Nothing(Some(reason())),
                wish => wish,
            };
            (record, wish)
        }
        Need::HotReload if record.phase() == Phase::Restarting => {
            // Pods that start now read it, and those that have started reload it.
            record.applied.clone_from(expected);
            (record, Wish::Restarting)
        }
        Need::HotReload => {
            record.plan(Method::HotReload, (judgement.rule, &judgement.why), expected, now);
            (record, Wish::HotReload)
        }
        Need::Restart if leaves_restarts(workload, world) => {
            (record, Wish::Report(judgement.rule, leaves_to_you(&judgement.why, workload, world)))
        }
        Need::Restart => {
            if record.phase() != Phase::Waiting || record.applied != *expected {
                record.plan(Method::Restart, (judgement.rule, &judgement.why), expected, now);
            }
            (record, Wish::Start)
        }
    }
}

/// Nothing differs from what the sidecars have or are about to have.
fn on_no_change(id: &WorkloadId, workload: &Workload, record: &mut Record, world: &World, now: Timestamp) -> Wish {
    match record.phase() {
        Phase::Settled => without_sidecar(id, workload, world),
        // What was to be restarted for has been taken back.
        Phase::Waiting => {
            record.applied = record.running.clone();
            if record.is_mixed() {
                return Wish::Start;
            }
            record.change = None;
            without_sidecar(id, workload, world)
        }
        Phase::Restarting => {
            let Some(change) = &mut record.change else { return Wish::Nothing(None) };
            let late = change.started_at.is_some_and(|at| at.duration_until(now) >= RESTART_TIMEOUT);
            if late || workload.stuck {
                change.proof = Proof::Failed;
                return Wish::Failed(format!("{id} restarted and is not ready; {}", change.why));
            }
            change.proof = Proof::Pending;
            Wish::Restarting
        }
        Phase::Reloading => on_reloading(id, workload, record, world, now),
    }
}

/// Looks for proof that the sidecars reloaded. Without it, one restart makes sure.
fn on_reloading(id: &WorkloadId, workload: &Workload, record: &mut Record, world: &World, now: Timestamp) -> Wish {
    let Some(change) = &mut record.change else { return Wish::Nothing(None) };
    let late = change.since.duration_until(now) >= length(world.policy.proof_timeout);
    let problem = match (&workload.evidence, late) {
        (Evidence::Seen, _) => {
            record.finish(Proof::Observed, workload.sidecar(), now);
            return without_sidecar(id, workload, world);
        }
        (Evidence::Unreadable, true) => {
            record.finish(Proof::Assumed, workload.sidecar(), now);
            return without_sidecar(id, workload, world);
        }
        (Evidence::Unreadable | Evidence::Silent, false) => return Wish::HotReload,
        (Evidence::Silent, true) => format!("no sidecar said so within {}", world.policy.proof_timeout),
        (Evidence::Failed(message), _) => format!("a sidecar could not: {message}"),
    };
    change.proof = Proof::Failed;
    let rule = change.rule;
    if leaves_restarts(workload, world) || id.kind == OwnerKind::Pod {
        return Wish::Report(rule, format!("{}; {problem}", change.why));
    }
    change.method = Method::Restart;
    change.why = format!("{}; {problem}", change.why);
    Wish::Start
}

/// Pods that ask for a sidecar and have none are replaced (R18), where something makes new ones.
fn without_sidecar(id: &WorkloadId, workload: &Workload, world: &World) -> Wish {
    let pods: Vec<_> = workload.pods_without_sidecar().map(|pod| (pod.name.clone(), pod.uid.clone())).collect();
    let why = || format!("{} of {} pods of {id} ask for a sidecar and have none", pods.len(), workload.pods.len());
    match id.kind {
        _ if pods.is_empty() => Wish::Nothing(None),
        OwnerKind::Job => Wish::Nothing(Some((Rule::R21, format!("{}; Jobs are never restarted", why())))),
        OwnerKind::Pod => Wish::Report(Rule::R21, format!("{}; replace it by hand", why())),
        _ if leaves_restarts(workload, world) => Wish::Report(Rule::R18, leaves_to_you(&why(), workload, world)),
        OwnerKind::Deployment
        | OwnerKind::StatefulSet
        | OwnerKind::DaemonSet
        | OwnerKind::ReplicaSet
        | OwnerKind::Rollout => Wish::Replace(pods),
    }
}

fn conclude(
    id: &WorkloadId,
    workload: &Workload,
    mut record: Record,
    wish: Wish,
    block: Option<Block>,
    world: &World,
    now: Timestamp,
) -> Decision {
    let of_change = |record: &Record| {
        record.change.as_ref().map_or((None, String::new()), |change| (Some(change.rule), change.why.clone()))
    };
    let missing = "a pod asks for a sidecar and has none".to_owned();
    let (verdict, (rule, why), again) = match (wish, block) {
        (Wish::Replace(_), Some(block)) => (Verdict::Blocked(block.clone()), (Some(Rule::R18), missing), block.until),
        (Wish::Replace(pods), None) => {
            let uids: Vec<&str> = pods.iter().map(|(_, uid)| uid.as_str()).collect();
            let token = Hash::of(uids.join(" ").as_bytes()).to_string();
            if record.restarts.first().is_none_or(|last| last.token != token) {
                record.remember(Restart { at: now, token, why: missing.clone() });
            }
            (Verdict::Restart(Means::Evict(None, pods)), (Some(Rule::R18), missing), None)
        }
        (_, Some(block)) => (Verdict::Blocked(block.clone()), of_change(&record), block.until),
        (Wish::Start, None) => {
            record.begin(workload.tokens(), now);
            let again = now.saturating_add(RESTART_TIMEOUT).ok();
            (Verdict::Restart(means(id, workload, &record)), of_change(&record), again)
        }
        (Wish::Restarting, None) => {
            let started = record.change.as_ref().and_then(|change| change.started_at).unwrap_or(now);
            let again = started.saturating_add(RESTART_TIMEOUT).ok();
            (Verdict::Restart(means(id, workload, &record)), of_change(&record), again)
        }
        (Wish::Failed(why), None) => {
            (Verdict::Blocked(Block::new(BlockedReason::Unhealthy, why)), of_change(&record), None)
        }
        (Wish::HotReload, None) => {
            let since = record.change.as_ref().map_or(now, |change| change.since);
            let again = since.saturating_add(length(world.policy.proof_timeout)).ok();
            (Verdict::HotReload, of_change(&record), again)
        }
        (Wish::Report(rule, why), None) => (Verdict::Report, (Some(rule), why), None),
        (Wish::Nothing(Some((rule, why))), None) => (Verdict::Nothing, (Some(rule), why), None),
        (Wish::Nothing(None), None) => (Verdict::Nothing, (None, String::new()), None),
    };
    Decision { verdict, rule, why, record, again }
}

fn means(id: &WorkloadId, workload: &Workload, record: &Record) -> Means {
    let change = record.change.as_ref();
    let token = change.and_then(|change| change.token.clone()).unwrap_or_default();
    match id.kind {
        OwnerKind::Rollout => Means::RestartAt(change.and_then(|change| change.started_at).unwrap_or_default()),
        OwnerKind::ReplicaSet => {
            let old = workload.pods.iter().filter(|pod| pod.token.as_ref() != Some(&token));
            // One at a time, and the next when the one before is back.
            let may_go = workload.pods.len() >= workload.replicas as usize && workload.pods.iter().all(|pod| pod.ready);
            let next = old.take(usize::from(may_go)).map(|pod| (pod.name.clone(), pod.uid.clone())).collect();
            Means::Evict(Some(token), next)
        }
        OwnerKind::Deployment | OwnerKind::StatefulSet | OwnerKind::DaemonSet | OwnerKind::Job | OwnerKind::Pod => {
            Means::Template(token)
        }
    }
}

/// Whether all pods have the token of the restart and are ready (R20); of a Rollout, whether it says so itself.
fn has_restarted(workload: &Workload, record: &Record) -> bool {
    let Some(change) = &record.change else { return false };
    let complete = workload.pods.len() >= workload.replicas as usize && workload.pods.iter().all(|pod| pod.ready);
    let has_token = workload.pods.iter().all(|pod| pod.token.is_some() && pod.token == change.token);
    let says_so = workload.restarted_at.is_some_and(|at| change.started_at.is_some_and(|started| at >= started));
    complete && (has_token || says_so)
}

/// What is seen in the pods themselves counts more than what is on record: the image of their sidecars (R17), and which
/// values they read when they start, since another template is rolled out by its own controller (R16).
fn is_seen_in_pods(change: &EntryChange<'_>, workload: &Workload, world: &World) -> bool {
    let image = world.control_plane.sidecar_image.as_ref();
    match change.key.kind {
        // Before it is known, and once the template names another, no image is wanted.
        EntryKind::Image if change.before.is_none() || change.after.is_none() => true,
        EntryKind::Image => workload.pods.iter().all(|pod| pod.image.as_ref() == image),
        EntryKind::Source(_) => change.before.is_none() || change.after.is_none(),
        EntryKind::Resource(_) | EntryKind::System => false,
    }
}

/// The sidecar as it runs: hot reload that was off when it started is off, whatever its Configuration says now (R8).
fn running_sidecar(workload: &Workload, record: &Record) -> Sidecar {
    let seen = workload.sidecar();
    if seen.version == record.sidecar.version { record.sidecar.clone() } else { seen }
}

/// What a judgement asks for, by the policy.
fn need(judgement: &Judgement, workload: &Workload, world: &World) -> Need {
    match (judgement.need, reload_policy(workload, world)) {
        (Need::HotReload, DaprReload::Restart) => Need::Restart,
        (need, _) => need,
    }
}

fn reload_policy(workload: &Workload, world: &World) -> DaprReload {
    workload.reload.unwrap_or(world.policy.reload)
}

/// Whether a person restarts. By `Manual` a change is not even applied; one that is there all the same is no reason to.
fn leaves_restarts(workload: &Workload, world: &World) -> bool {
    matches!(reload_policy(workload, world), DaprReload::HotOnly | DaprReload::Manual)
}

fn leaves_to_you(why: &str, workload: &Workload, world: &World) -> String {
    format!("{why}; the policy {:?} leaves the restart to you", reload_policy(workload, world))
}

#[cfg(test)]
mod tests;
