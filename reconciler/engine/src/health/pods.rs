//! Pods, and the Jobs that run them to an end.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Condition, Health, integer, text};
use crate::clock::after;

/// How long a scheduler may look for a node before the pod counts as failed.
const SCHEDULING: Duration = Duration::from_secs(15);

pub(super) fn pod(object: &Value, now: Timestamp) -> Health {
    match text(object, "/status/phase") {
        Some("Succeeded") => Health::current("it ran to its end"),
        Some("Failed") => Health::failed(waiting_reason(object).unwrap_or_else(|| "it ran and failed".to_owned())),
        Some("Running") => match Condition::find(object, "Ready") {
            Some(ready) if ready.is_true() => Health::current(""),
            ready => crashing(object).unwrap_or_else(|| {
                Health::in_progress(ready.map_or_else(|| "not ready".to_owned(), |it| it.sentence()))
            }),
        },
        Some("Pending") => crashing(object).or_else(|| unschedulable(object, now)).unwrap_or_else(|| {
            Health::in_progress(waiting(object).unwrap_or_else(|| "its containers have not started".to_owned()))
        }),
        _ => Health::in_progress("nobody has seen it yet"),
    }
}

fn waiting_reason(object: &Value) -> Option<String> {
    text(object, "/status/message").or_else(|| text(object, "/status/reason")).map(str::to_owned)
}

fn containers(object: &Value) -> impl Iterator<Item = &Value> {
    let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    of("/status/initContainerStatuses").chain(of("/status/containerStatuses"))
}

fn crashing(object: &Value) -> Option<Health> {
    let crashing: Vec<&str> = containers(object)
        .filter(|container| text(container, "/state/waiting/reason") == Some("CrashLoopBackOff"))
        .filter_map(|container| text(container, "/name"))
        .collect();
    (!crashing.is_empty()).then(|| Health::failed(format!("containers crash: {}", crashing.join(", "))))
}

fn waiting(object: &Value) -> Option<String> {
    containers(object).find_map(|container| {
        let reason = text(container, "/state/waiting/reason")?;
        Some(format!("container {} waits: {reason}", text(container, "/name")?))
    })
}

fn unschedulable(object: &Value, now: Timestamp) -> Option<Health> {
    let scheduled =
        Condition::find(object, "PodScheduled").filter(|it| it.is_false() && it.reason == "Unschedulable")?;
    let since = scheduled.since.or_else(|| text(object, "/metadata/creationTimestamp")?.parse().ok());
    Some(match since.map(|since| after(since, SCHEDULING)) {
        Some(late) if late <= now => Health::failed(scheduled.sentence()),
        Some(late) => Health::in_progress_until(late, scheduled.sentence()),
        None => Health::in_progress(scheduled.sentence()),
    })
}

pub(super) fn job(object: &Value) -> Health {
    if Condition::find(object, "Complete").is_some_and(|it| it.is_true()) {
        return Health::current("it ran to its end");
    }
    if let Some(failed) = Condition::find(object, "Failed").filter(Condition::is_true) {
        return Health::failed(failed.sentence());
    }
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        // A Job that somebody waits for is not done because a queue holds it back.
        let is_hook = object.pointer("/metadata/annotations/helm.sh~1hook").is_some();
        return if is_hook { Health::in_progress("suspended") } else { Health::current("suspended") };
    }
    let want = integer(object, "/spec/completions").unwrap_or(1);
    let done = integer(object, "/status/succeeded").unwrap_or(0);
    let active = integer(object, "/status/active").unwrap_or(0);
    let failed = integer(object, "/status/failed").unwrap_or(0);
    let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
    Health::in_progress(format!("{done} of {want} pods succeeded, {active} active{failures}"))
}
