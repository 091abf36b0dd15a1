//! What the status of a rule says. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use reeve_crds::condition::{Condition, types};
use reeve_crds::scaling_rule::status::{ColdStart, ScalingRuleStatus, TrafficMode};
use reeve_crds::{Duration, Lenient, Reason, State, annotation};
use serde_json::Value;

use super::keda::KedaState;
use super::machine::{Asked, Machine, Observed};
use super::observing::Observing;
use super::snapshot::Snapshot;
use crate::report::WakeReport;

/// A wake at a person's word.
pub(super) fn asked_for(replicas: i32, now: Timestamp) -> ColdStart {
    ColdStart {
        started_at: Timestamp::from_second(now.as_second()).ok().map(Time),
        cause: Some("reeve wake".to_owned()),
        replicas: Some(replicas),
        ..ColdStart::default()
    }
}

/// The status after a change of mode: what depends on it counts from here.
pub(super) fn turned(
    old: &ScalingRuleStatus,
    mode: TrafficMode,
    restore: Option<i32>,
    now: Timestamp,
) -> ScalingRuleStatus {
    let mut status = old.clone();
    let was = old.mode.as_ref().and_then(|mode| mode.known().copied());
    let totals = status.totals.get_or_insert_default();
    match (was, mode) {
        (Some(TrafficMode::Draining), TrafficMode::Asleep) => totals.sleeps += 1,
        (Some(TrafficMode::Asleep), TrafficMode::Waking) => totals.wakes += 1,
        _ => {}
    }
    if was == Some(TrafficMode::Asleep) {
        let slept = old.mode_since.as_ref().map(|since| now.duration_since(since.0));
        let before: std::time::Duration =
            totals.asleep.as_ref().and_then(|asleep| asleep.known().copied()).map(Into::into).unwrap_or_default();
        let slept: std::time::Duration = slept.and_then(|slept| slept.try_into().ok()).unwrap_or_default();
        totals.asleep = Some(Lenient::from(Duration::from(before + slept)));
    }
    status.mode = Some(Lenient::from(mode));
    status.mode_since = Some(Time(now));
    status.mode_changes = Some(old.mode_changes.unwrap_or_default() + 1);
    status.restore_replicas = restore;
    status
}

/// What a status tells beside what the machine decides by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Besides<'a> {
    /// The last wake that a replica began.
    pub(super) wake: Option<&'a WakeReport>,
    pub(super) observing: Option<&'a Observing>,
    /// Why a replica cannot serve a port of the rule.
    pub(super) problem: Option<&'a str>,
}

/// The status with all that was seen.
pub(super) fn seen(
    old: &ScalingRuleStatus,
    snapshot: &Snapshot,
    machine: &Machine,
    observed: &Observed,
    besides: Besides<'_>,
    now: Timestamp,
) -> ScalingRuleStatus {
    let generation = snapshot.rule.metadata.generation;
    let (state, reason, message) = judge(snapshot, machine, observed, besides, now);
    let mut conditions = Vec::new();
    let mut add = |kind: &str, holds: Option<bool>, reason: Reason, message: String| {
        let status = holds.map_or("Unknown", |holds| if holds { "True" } else { "False" });
        let before = old.conditions.iter().find(|condition| condition.type_ == kind && condition.status == status);
        conditions.push(Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            observed_generation: generation,
            last_transition_time: before.map_or(Time(now), |before| before.last_transition_time.clone()),
            reason: reason.as_str().to_owned(),
            message,
        });
    };
    add(types::READY, Some(state == State::Ready), reason, message);
    let (is_covered, reason, message) = coverage(snapshot);
    add(types::COVERED, Some(is_covered), reason, message);
    let (reason, message) = proof(snapshot, machine);
    add(types::PROVEN, Some(machine.is_proven()), reason, message.to_owned());
    match &snapshot.keda {
        KedaState::Unused => {}
        KedaState::Ready(object) => {
            add(types::KEDA_READY, Some(true), Reason::Succeeded, format!("KEDA scales the target by {object}"));
        }
        KedaState::NotReady { reason, message, .. } => {
            add(types::KEDA_READY, Some(false), *reason, message.chars().take(1024).collect());
        }
    }
    let (last_handled_wake_at, last_handled_sleep_at) = handled(old, snapshot, machine, observed);
    ScalingRuleStatus {
        observed_generation: generation,
        last_handled_wake_at,
        last_handled_sleep_at,
        observed: besides.observing.map(Observing::totals).or_else(|| old.observed.clone()),
        state: Some(state),
        conditions,
        target: snapshot.target.reference.clone(),
        replicas: observed.replicas,
        resolvers: observed.resolvers.and_then(|usable| i32::try_from(usable).ok()),
        held: i32::try_from(observed.held).ok(),
        last_request_time: last_request(old, observed),
        last_cold_start: latest(besides.wake.map(cold_start), old.last_cold_start.as_ref()),
        keda_object: match &snapshot.keda {
            KedaState::Ready(object) => Some(object.clone()),
            KedaState::NotReady { object, .. } => object.clone(),
            KedaState::Unused => None,
        },
        uncovered_services: snapshot.uncovered.iter().take(32).cloned().collect(),
        ..old.clone()
    }
}

/// Whether all that leads to the target is led to the resolver.
fn coverage(snapshot: &Snapshot) -> (bool, Reason, String) {
    match snapshot.uncovered_ways() {
        None => (true, Reason::Succeeded, "every Service that leads to the target is in a rule".to_owned()),
        Some(ways) => (false, Reason::UncoveredService, ways),
    }
}

/// Whether it was seen that it is.
fn proof(snapshot: &Snapshot, machine: &Machine) -> (Reason, &'static str) {
    match (machine.is_proven(), snapshot.routes()) {
        (false, _) => (Reason::Progressing, "the path through the resolver is not proven"),
        (true, None) => (Reason::Succeeded, "fresh connections to the Services all reached the resolver"),
        (true, Some(_)) => {
            (Reason::Succeeded, "the routes have led to the resolver for as long as proxies may take to follow them")
        }
    }
}

/// Only ever later, and in whole seconds.
fn last_request(old: &ScalingRuleStatus, observed: &Observed) -> Option<Time> {
    let seen = observed.traffic.and_then(|traffic| traffic.last_request);
    let seen = seen.and_then(|seen| Timestamp::from_second(seen.as_second()).ok());
    let old = old.last_request_time.as_ref().map(|time| time.0);
    seen.max(old).map(Time)
}

/// What people asked for, as far as they got it. Who is woken no longer waits for a sleep.
fn handled(
    old: &ScalingRuleStatus,
    snapshot: &Snapshot,
    machine: &Machine,
    observed: &Observed,
) -> (Option<String>, Option<String>) {
    let before = (old.last_handled_wake_at.clone(), old.last_handled_sleep_at.clone());
    if observed.policy.asked.is_none() || !machine.has_answered(&observed.policy) {
        return before;
    }
    let asked = |name: &str| snapshot.rule.annotations().get(name).map(|value| value.chars().take(1024).collect());
    match observed.policy.asked {
        Some(Asked::Wake) => (asked(annotation::WAKE), asked(annotation::SLEEP).or(before.1)),
        Some(Asked::Sleep) | None => (before.0, asked(annotation::SLEEP)),
    }
}

/// A wake that a replica began, or a later one that was none of theirs.
fn latest(reported: Option<ColdStart>, old: Option<&ColdStart>) -> Option<ColdStart> {
    let began = |one: &ColdStart| one.started_at.as_ref().map(|time| time.0);
    let Some(reported) = reported else { return old.cloned() };
    match old {
        Some(old) if began(old) > began(&reported) => Some(old.clone()),
        _ => Some(reported),
    }
}

fn cold_start(wake: &WakeReport) -> ColdStart {
    let millis = |millis: Option<u64>| {
        millis.map(|millis| Lenient::from(Duration::from(std::time::Duration::from_millis(millis))))
    };
    ColdStart {
        started_at: Timestamp::from_second(wake.started_at.as_second()).ok().map(Time),
        cause: Some(wake.cause.chars().take(1024).collect()),
        replicas: Some(wake.replicas),
        held: wake.held.and_then(|held| i32::try_from(held).ok()),
        scaled: millis(wake.scaled_ms),
        ready: millis(wake.ready_ms),
        total: millis(wake.first_byte_ms),
    }
}

/// State, reason and sentence of a rule.
fn judge(
    snapshot: &Snapshot,
    machine: &Machine,
    observed: &Observed,
    besides: Besides<'_>,
    now: Timestamp,
) -> (State, Reason, String) {
    let observing = besides.observing;
    let spec = &snapshot.rule.spec;
    if snapshot.rule.metadata.deletion_timestamp.is_some() {
        return (State::Deleting, Reason::Deleting, "the service is left awake and direct".to_owned());
    }
    if spec.suspend {
        return (State::Suspended, Reason::Suspended, "the resolver is out of the path".to_owned());
    }
    if let Some(problem) = snapshot.unsupported() {
        return (State::Warning, Reason::Unsupported, problem);
    }
    if let Some(problem) = &snapshot.target.problem {
        return (State::Warning, Reason::NotFound, problem.clone());
    }
    if let Some(problem) = besides.problem {
        return (State::Warning, Reason::InvalidCredentials, problem.chars().take(1024).collect());
    }
    if observing.is_none() && (machine.mode() == TrafficMode::FailOpen || observed.resolvers == Some(0)) {
        let message = "no resolver lives: the service is direct and its target is kept awake";
        return (State::Error, Reason::Unavailable, message.to_owned());
    }
    if let Some(ways) = snapshot.uncovered_ways() {
        return (State::Warning, Reason::UncoveredService, ways);
    }
    if let KedaState::NotReady { reason, message, .. } = &snapshot.keda
        && *reason != Reason::Progressing
    {
        let message = format!("stays awake since KEDA cannot be relied upon: {message}");
        return (State::Warning, *reason, message.chars().take(1024).collect());
    }
    if let Some(observing) = observing {
        let blind = "the kubelets do not say what the pods send: nothing is known of their idleness";
        if observing.is_blind(now) {
            return (State::Warning, Reason::Unsupported, blind.to_owned());
        }
        return (State::Ready, Reason::Succeeded, observing.summary());
    }
    let ready = |message: String| (State::Ready, Reason::Succeeded, message);
    let progressing = |message: &str| (State::Processing, Reason::Progressing, message.to_owned());
    match machine.mode() {
        TrafficMode::Direct => ready("the pods serve by themselves".to_owned()),
        TrafficMode::Entering => progressing("the resolver enters the path"),
        TrafficMode::Proxied if snapshot.kept_awake(now).is_some() => {
            ready(snapshot.kept_awake(now).unwrap_or_default())
        }
        TrafficMode::Proxied if !observed.pods_quiet => ready(
            "awake; does not sleep while pods that are older than the capture may have clients of their own".to_owned(),
        ),
        TrafficMode::Proxied if snapshot.scales_jobs() => ready("awake; its Jobs end by themselves".to_owned()),
        TrafficMode::Proxied => ready(format!("awake; sleeps after {} without a request", spec.idle_after)),
        TrafficMode::Draining => ready("about to sleep".to_owned()),
        TrafficMode::Asleep => ready("asleep; the next request wakes it".to_owned()),
        TrafficMode::Waking => progressing("waking; requests wait"),
        TrafficMode::HandingOver => progressing("the resolver leaves the path"),
        TrafficMode::FailOpen | TrafficMode::Untouched => ready("the resolver is out of the path".to_owned()),
    }
}

/// A merge patch that makes the one of the other, if they differ.
pub(super) fn difference(old: &ScalingRuleStatus, new: &ScalingRuleStatus) -> Option<Value> {
    if old == new {
        return None;
    }
    let (old, new) = (serde_json::to_value(old).ok()?, serde_json::to_value(new).ok()?);
    let mut patch = serde_json::Map::new();
    for (key, value) in new.as_object()? {
        if old.get(key) != Some(value) {
            patch.insert(key.clone(), replaced(old.get(key), value));
        }
    }
    for key in old.as_object()?.keys().filter(|key| new.get(key.as_str()).is_none()) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Within an object, what is gone is said to be gone.
fn replaced(old: Option<&Value>, new: &Value) -> Value {
    let (Some(Value::Object(old)), Value::Object(new)) = (old, new) else { return new.clone() };
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    new.iter().map(|(key, value)| (key.clone(), replaced(old.get(key), value))).chain(gone).collect()
}

/// Whether a change should be seen at once; counters alone may wait.
pub(super) fn is_urgent(old: &ScalingRuleStatus, new: &ScalingRuleStatus) -> bool {
    let told = |status: &ScalingRuleStatus| {
        let conditions = status.conditions.iter();
        let conditions: Vec<_> =
            conditions.map(|one| (one.type_.clone(), one.status.clone(), one.reason.clone())).collect();
        let handled = (status.last_handled_wake_at.clone(), status.last_handled_sleep_at.clone());
        let target = status.target.clone();
        (status.state, conditions, target, status.ports.clone(), status.observed_generation, handled)
    };
    told(old) != told(new)
}
