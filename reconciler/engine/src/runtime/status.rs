//! What the statuses say: pure functions of what the worker knows.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::Reason;
use reeve_crds::condition::{Condition as StatusCondition, types};
use reeve_crds::outcome::{Drift, DriftedObject, Failure, HistoryEntry, Outcome, Rendered};
use reeve_crds::runtime_component::{RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{Count, Duration, Lenient, State};

use super::component::{ComponentState, Phase, worst_object};
use super::drift::Drifted;
use crate::clock::since;
use crate::conditions::{MESSAGE, set_condition};
use crate::desired::{DesiredComponent, Revision};
use crate::error::ReconcileError;
use crate::inventory::object_ref;
use crate::text::truncate;

mod whole;

pub(super) use whole::{RuntimeFacts, runtime};

/// Longest message in the list of components.
const SHORT: usize = 256;
const LISTED_COMPONENTS: usize = 256;
const HISTORY: usize = 10;

/// The spec of a component's object.
pub(super) fn component_spec(runtime: &str, desired: &DesiredComponent) -> RuntimeComponentSpec {
    RuntimeComponentSpec {
        runtime: runtime.to_owned(),
        component: desired.name.to_string(),
        target: desired.target,
        chart: desired.chart.to_string(),
        version: desired.version.to_string(),
        channel: desired.channel.as_deref().map(str::to_owned),
        namespace: Some(desired.namespace.to_string()),
        origin: Some(desired.origin.clone()),
        depends_on: desired.depends_on.iter().map(ToString::to_string).collect(),
        service_account_name: desired.service_account.as_deref().map(str::to_owned),
        timeout: desired.timeout.map(Into::into),
        // Belongs to people: what is not said here is not taken from them.
        suspend: None,
    }
}

/// The status of a component, from the one before.
pub(super) fn component(record: &ComponentState, now: Timestamp) -> RuntimeComponentStatus {
    let mut status = record.status.clone();
    let state = record.state(now);
    let (reason, message) = why(record, now);
    status.observed_generation = record.generation.or(status.observed_generation);
    status.state = Some(state);
    status.last_handled_reconcile_at = record.answered.clone().or(status.last_handled_reconcile_at);
    let applied = matches!(record.phase, Phase::Settling { .. } | Phase::Finishing | Phase::Ready);
    let healthy = record.health.unhealthy.is_empty() && applied;
    let standing = standing_drift(record);
    let mut set = |kind, holds: bool, reason: Reason, message: String| {
        set_condition(&mut status.conditions, kind, holds, reason, &message, record.generation, now);
    };
    set(types::READY, state == State::Ready, reason, message.clone());
    let busy = matches!(state, State::Processing | State::Error | State::Deleting);
    set(types::RECONCILING, busy, Reason::Progressing, message.clone());
    set(types::STALLED, state == State::Warning, reason, message.clone());
    set(types::APPLIED, applied, if applied { Reason::Succeeded } else { reason }, applied_message(record, applied));
    set(
        types::HEALTHY,
        healthy,
        if healthy { Reason::Succeeded } else { Reason::Progressing },
        worst_object(&record.health),
    );
    set(
        types::DRIFTED,
        !standing.is_empty(),
        if standing.is_empty() { Reason::InSync } else { Reason::Drifted },
        drift_message(&standing),
    );
    drop_false(&mut status.conditions);
    if let Some(desired) = &record.desired {
        // A commit that changes nothing of a component is no reason to write to it.
        let same = status.desired.take().filter(|before| is_of(before, desired));
        status.desired = same.or_else(|| Some(rendered(desired, &record.revision, now)));
    }
    status.health = Some(Count::new(record.health.healthy, record.health.total));
    status.unhealthy.clone_from(&record.health.unhealthy);
    for object in &mut status.unhealthy {
        object.message = object.message.take().map(|message| truncate(&message, MESSAGE));
    }
    status.waits_for = match &record.phase {
        Phase::Waiting(on) => on.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    status.drift = drift(record, status.drift.as_ref());
    status.failure = failure(record, now);
    status
}

fn applied_message(record: &ComponentState, applied: bool) -> String {
    match (&record.desired, applied) {
        (Some(desired), true) => format!("{} {} is applied", desired.chart, desired.version),
        (Some(desired), false) => format!("{} {} is not applied yet", desired.chart, desired.version),
        (None, _) => "it left Git".to_owned(),
    }
}

/// Why a component is in the state that it is in.
fn why(record: &ComponentState, now: Timestamp) -> (Reason, String) {
    if record.phase == Phase::Suspended {
        let whose = if record.suspended { "spec.suspend is set" } else { "its runtime or source is suspended" };
        return (Reason::Suspended, whose.to_owned());
    }
    if matches!(record.phase, Phase::Settling { .. }) && record.lacks_only_contested() {
        return (Reason::Drifted, drift_message(&standing_drift(record)));
    }
    if let Phase::Settling { deadline } = record.phase
        && record.is_late(deadline, now)
    {
        // What has failed will not come, however long ago it should have.
        let why = if record.health.has_failed() { Reason::Unhealthy } else { Reason::TimedOut };
        return (why, truncate(&worst_object(&record.health), MESSAGE));
    }
    if let Some((error, _)) = &record.error {
        return (error.reason, truncate(&error.message, MESSAGE));
    }
    match &record.phase {
        Phase::Waiting(on) if on.is_empty() => {
            (Reason::Progressing, "what Git wants of it is not known yet".to_owned())
        }
        Phase::Waiting(on) => (Reason::DependencyNotReady, format!("waits for {}", on.join(", "))),
        Phase::ApplyingDefinitions => (Reason::Progressing, "applying namespaces and CRDs".to_owned()),
        Phase::Applying | Phase::Finishing if record.job.is_some() => {
            (Reason::Progressing, truncate(record.job.as_deref().unwrap_or_default(), MESSAGE))
        }
        Phase::Applying | Phase::Failed { .. } => (Reason::Progressing, "applying".to_owned()),
        Phase::Settling { .. } => (Reason::Progressing, truncate(&worst_object(&record.health), MESSAGE)),
        Phase::Finishing => (Reason::Progressing, "removing what left Git".to_owned()),
        Phase::Removing => (Reason::Progressing, "it left Git and is being removed".to_owned()),
        Phase::Suspended => (Reason::Suspended, String::new()),
        Phase::Ready => {
            let standing = standing_drift(record);
            if standing.is_empty() {
                let total = record.health.total;
                let are = if total == 1 { "is" } else { "are" };
                (Reason::Succeeded, format!("{} {are} applied and healthy", counted(total, "object")))
            } else {
                (Reason::Drifted, drift_message(&standing))
            }
        }
    }
}

/// What others changed and nobody put right.
fn standing_drift(record: &ComponentState) -> Vec<&Drifted> {
    record.drift.values().filter(|drifted| !drifted.repaired).collect()
}

fn drift_message(standing: &[&Drifted]) -> String {
    let Some(first) = standing.iter().min_by_key(|drifted| &drifted.key) else { return "nobody changed it".to_owned() };
    let what = match first.shown.fields.join(", ") {
        fields if fields.is_empty() => "deleted".to_owned(),
        fields => format!("{fields} changed"),
    };
    let who = first.shown.manager.as_deref().unwrap_or("somebody");
    let contested =
        if first.shown.contested == Some(true) { "; it is changed back each time, so Reeve slows down" } else { "" };
    truncate(&format!("{}: {what} by {who}{contested}", first.key), MESSAGE)
}

/// What stands, and if nothing does what was put right last.
fn drift(record: &ComponentState, before: Option<&Drift>) -> Option<Drift> {
    if record.drift.is_empty() {
        let mut before = before?.clone();
        before.objects = 0;
        before.since = None;
        return Some(before);
    }
    let mut all: Vec<&Drifted> = record.drift.values().collect();
    all.sort_by(|a, b| (a.repaired, &a.key).cmp(&(b.repaired, &b.key)));
    let standing = all.iter().filter(|drifted| !drifted.repaired);
    let since = standing.clone().filter_map(|drifted| drifted.shown.changed_at.clone()).map(|time| time.0).min();
    let examples: Vec<DriftedObject> = all.iter().take(10).map(|drifted| drifted.shown.clone()).collect();
    Some(Drift { objects: i32::try_from(standing.count()).unwrap_or(i32::MAX), since: since.map(Time), examples })
}

fn failure(record: &ComponentState, now: Timestamp) -> Option<Failure> {
    let (error, at, object) = match (&record.error, &record.phase) {
        (Some((error, at)), _) => (error.clone(), *at, error.object.as_ref().map(object_ref)),
        (None, Phase::Settling { deadline }) if record.is_late(*deadline, now) => {
            let (reason, message) = why(record, now);
            let since = if record.health.has_failed() { now } else { *deadline };
            let worst = record.health.unhealthy.first().map(|unhealthy| unhealthy.object.clone());
            (ReconcileError::transient(reason, message), since, worst)
        }
        _ => return None,
    };
    // A failure that repeats keeps the time when it was seen first.
    let before = record.status.failure.as_ref();
    let before = before.filter(|before| before.reason == error.reason && before.object == object);
    Some(Failure {
        reason: error.reason.to_string(),
        message: truncate(&error.message, MESSAGE),
        component: Some(record.name.to_string()),
        since: before.and_then(|before| before.since.clone()).or(Some(Time(at))),
        object,
        revision: Some(record.revision.shown.to_string()),
    })
}

/// Whether this speaks of these very objects, whatever the commit.
pub(super) fn is_of(rendered: &Rendered, desired: &DesiredComponent) -> bool {
    rendered.digest == *desired.digest && rendered.version.as_deref() == Some(&*desired.version)
}

/// What is wanted or applied now.
pub(super) fn rendered(desired: &DesiredComponent, revision: &Revision, now: Timestamp) -> Rendered {
    Rendered {
        revision: revision.shown.to_string(),
        commit: Some(revision.commit.to_string()),
        digest: desired.digest.to_string(),
        version: Some(desired.version.to_string()),
        since: Some(Time(now)),
    }
}

/// A line of history for a change that ended.
pub(super) fn history(
    record: &ComponentState,
    outcome: Outcome,
    message: Option<String>,
    now: Timestamp,
) -> HistoryEntry {
    let desired = record.desired.as_ref();
    let millis = |duration: std::time::Duration| {
        let whole = std::time::Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        Some(Lenient::Known(Duration::from(whole)))
    };
    HistoryEntry {
        revision: record.revision.shown.to_string(),
        digest: desired.map(|desired| desired.digest.to_string()).unwrap_or_default(),
        version: desired.map(|desired| desired.version.to_string()),
        outcome: Lenient::Known(outcome),
        started_at: Some(Time(record.began)),
        apply_time: record.applied_at.and_then(|at| millis(since(at, record.began))),
        total_time: millis(since(now, record.began)),
        changes: Some(record.changes),
        message: message.map(|message| truncate(&message, MESSAGE)),
    }
}

/// Puts a line on top of a history of ten.
pub(super) fn remember(history: &mut Vec<HistoryEntry>, entry: HistoryEntry) {
    history.insert(0, entry);
    history.truncate(HISTORY);
}

/// Takes out what by convention is only there while it holds.
fn drop_false(conditions: &mut Vec<StatusCondition>) {
    let while_it_holds = [types::RECONCILING, types::STALLED];
    conditions.retain(|condition| condition.status == "True" || !while_it_holds.contains(&&*condition.type_));
}

/// `1 object`, `2 objects`.
pub(super) fn counted(number: i32, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
