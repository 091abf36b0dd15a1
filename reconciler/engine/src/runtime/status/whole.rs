//! The status of a whole runtime.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::Reason;
use reeve_crds::condition::types;
use reeve_crds::outcome::{Drift, Failure, Rendered};
use reeve_crds::runtime::{Applier, ComponentSummary, RuntimeStatus};
use reeve_crds::{Count, State};

use super::{LISTED_COMPONENTS, SHORT, count, drift, drop_false, failure, why};
use crate::conditions::{MESSAGE, set_condition};
use crate::desired::Desired;
use crate::rollup::severity;
use crate::runtime::capabilities::CapabilityReport;
use crate::runtime::component::{ComponentState, Phase};
use crate::runtime::components::Components;
use crate::text::truncate;

/// What the status of a runtime is made of besides its components.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct RuntimeFacts<'a> {
    pub(in crate::runtime) before: &'a RuntimeStatus,
    pub(in crate::runtime) generation: Option<i64>,
    pub(in crate::runtime) desired: Option<&'a Desired>,
    /// Why nothing is done, if nothing is.
    pub(in crate::runtime) suspended: Option<&'static str>,
    pub(in crate::runtime) deleting: bool,
    pub(in crate::runtime) objects: usize,
    pub(in crate::runtime) applier: Applier,
    /// What the cluster offers next to what is declared, as far as that is known.
    pub(in crate::runtime) capabilities: Option<&'a CapabilityReport>,
    pub(in crate::runtime) handled: Option<String>,
}

/// The status of a runtime, from those of its components.
pub(in crate::runtime) fn runtime(facts: &RuntimeFacts<'_>, components: &Components, now: Timestamp) -> RuntimeStatus {
    let mut status = facts.before.clone();
    let all: Vec<(&ComponentState, State)> = components.iter().map(|record| (record, record.state(now))).collect();
    let ready = all.iter().filter(|(_, state)| *state == State::Ready).count();
    let state = runtime_state(facts, &all);
    let worst = all.iter().filter(|(_, state)| *state != State::Ready).max_by_key(|(_, state)| severity(*state));
    let (why, message) = why_whole(facts, worst.map(|(record, _)| *record), ready, now);
    status.observed_generation = facts.generation;
    status.state = Some(state);
    // What left Git, and perhaps cannot be taken away, is no part of what is to be applied.
    let mut wanted = components.iter().filter(|record| record.desired.is_some());
    let all_applied = facts.desired.is_some()
        && !facts.deleting
        && wanted.all(|record| matches!(record.phase, Phase::Settling { .. } | Phase::Finishing | Phase::Ready));
    let all_ready = facts.desired.is_some() && ready == components.len();
    let drifted: i32 = components.iter().filter_map(|record| drift(record, None)).map(|drift| drift.objects).sum();
    let mut set = |kind, holds: bool, reason: Reason, message: &str| {
        set_condition(&mut status.conditions, kind, holds, reason, message, facts.generation, now);
    };
    set(types::READY, state == State::Ready, why, &message);
    let busy = matches!(state, State::Processing | State::Error | State::Deleting);
    set(types::RECONCILING, busy, Reason::Progressing, &message);
    set(types::STALLED, state == State::Warning, why, &message);
    set(types::APPLIED, all_applied, if all_applied { Reason::Succeeded } else { why }, &message);
    set(types::HEALTHY, all_ready, if all_ready { Reason::Succeeded } else { why }, &message);
    set(
        types::DRIFTED,
        drifted > 0,
        if drifted > 0 { Reason::Drifted } else { Reason::InSync },
        &format!("{drifted} objects differ"),
    );
    match facts.capabilities {
        Some(capabilities) if capabilities.declared => {
            let capable = capabilities.lacking.is_empty();
            set(
                types::CAPABLE,
                capable,
                if capable { Reason::Succeeded } else { Reason::Incapable },
                &capabilities.message(),
            );
        }
        Some(_) => status.conditions.retain(|condition| condition.type_ != types::CAPABLE),
        None => {}
    }
    drop_false(&mut status.conditions);
    if let Some(desired) = facts.desired {
        status.desired = Some(reached(desired, status.desired.as_ref(), now));
        if all_applied {
            status.applied = Some(reached(desired, status.applied.as_ref(), now));
        }
        if all_ready {
            status.last_good = Some(reached(desired, status.last_good.as_ref(), now));
        }
    }
    status.components_ready = Some(Count::new(count(ready), count(components.len())));
    status.components = summaries(&all, now);
    status.objects = Some(count(facts.objects));
    status.drift = (drifted > 0).then(|| Drift { objects: drifted, since: None, examples: Vec::new() });
    status.failure = worst_failure(&all, now);
    status.applier = Some(facts.applier.clone());
    status.last_handled_reconcile_at = facts.handled.clone().or(status.last_handled_reconcile_at);
    status
}

/// Why a runtime is in the state that it is in.
fn why_whole(
    facts: &RuntimeFacts<'_>,
    worst: Option<&ComponentState>,
    ready: usize,
    now: Timestamp,
) -> (Reason, String) {
    match (facts.suspended, worst) {
        (Some(why), _) => (Reason::Suspended, why.to_owned()),
        (None, Some(record)) => {
            let (reason, message) = why(record, now);
            (reason, format!("{}: {message}", record.name))
        }
        (None, None) if facts.desired.is_none() => (Reason::Progressing, "nothing was rendered for it yet".to_owned()),
        (None, None) => (Reason::Succeeded, format!("{ready} components are ready")),
    }
}

/// What the runtime is at now. A commit that changes nothing of it is no reason to write to it.
fn reached(desired: &Desired, before: Option<&Rendered>, now: Timestamp) -> Rendered {
    before.filter(|before| before.digest == *desired.digest).cloned().unwrap_or_else(|| Rendered {
        revision: desired.revision.shown.to_string(),
        commit: Some(desired.revision.commit.to_string()),
        digest: desired.digest.to_string(),
        version: None,
        since: Some(Time(now)),
    })
}

/// The failure of the component that fares worst, with its name.
fn worst_failure(states: &[(&ComponentState, State)], now: Timestamp) -> Option<Failure> {
    let failing = states.iter().filter(|(_, state)| matches!(state, State::Error | State::Warning));
    let (record, _) = failing.max_by_key(|(_, state)| severity(*state))?;
    let failure = failure(record, now)?;
    Some(Failure { message: truncate(&format!("{}: {}", record.name, failure.message), MESSAGE), ..failure })
}

fn runtime_state(facts: &RuntimeFacts<'_>, states: &[(&ComponentState, State)]) -> State {
    if facts.deleting {
        return State::Deleting;
    }
    if facts.suspended.is_some() {
        return State::Suspended;
    }
    if facts.desired.is_none() {
        return State::Processing;
    }
    // A component that someone suspended keeps no runtime from being ready.
    let worst = states
        .iter()
        .map(|(_, state)| *state)
        .filter(|state| *state != State::Suspended)
        .max_by_key(|state| severity(*state));
    match worst {
        None | Some(State::Ready) => State::Ready,
        Some(State::Deleting) => State::Processing,
        Some(state) => state,
    }
}

fn summaries(states: &[(&ComponentState, State)], now: Timestamp) -> Vec<ComponentSummary> {
    let mut summaries: Vec<(u8, ComponentSummary)> = states
        .iter()
        .map(|(record, state)| {
            let message = (*state != State::Ready).then(|| truncate(&why(record, now).1, SHORT));
            let version = record.status.applied.as_ref().and_then(|applied| applied.version.clone());
            (severity(*state), ComponentSummary { name: record.name.to_string(), version, state: *state, message })
        })
        .collect();
    // If there are more than the list takes, those that are not well are the ones to see.
    if summaries.len() > LISTED_COMPONENTS {
        summaries.sort_by(|a, b| (b.0, &a.1.name).cmp(&(a.0, &b.1.name)));
        summaries.truncate(LISTED_COMPONENTS);
    }
    let mut summaries: Vec<ComponentSummary> = summaries.into_iter().map(|(_, summary)| summary).collect();
    summaries.sort_by(|a, b| a.name.cmp(&b.name));
    summaries
}
