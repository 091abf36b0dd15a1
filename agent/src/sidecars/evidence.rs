//! Whether sidecars took over a change without a restart, as their logs say. Pure.
//!
//! daprd says of a Component that it was loaded, of a Subscription and an `MCPServer` that it was updated, and after it
//! restarted its runtime for a Configuration, an `HTTPEndpoint` or a Resiliency that it is initialized. Of a Component or
//! Subscription that is gone it says nothing, but compares all of them every minute: that is assumed.

use jiff::{SignedDuration, Timestamp};
use reeve_agent_dapr::entry::EntryKind;
use reeve_agent_dapr::rules::{EntryChange, differences};
use reeve_agent_dapr::world::Evidence;
use reeve_agent_dapr::{Kind, Record};

use super::names;
use super::snapshot::PodFacts;

/// daprd may have heard of a change before we did, and the clock of its node may be behind.
const MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// Levels at which daprd does not write what we look for.
const QUIET_LEVELS: [&str; 4] = ["warn", "error", "fatal", "panic"];
/// What daprd writes when all of its resources are loaded.
const INITIALIZED: &str = "dapr initialized. Status: Running";

/// From when on logs tell of the change that is under way; `None` if none is.
pub(super) fn since(record: &Record) -> Option<Timestamp> {
    record.change.as_ref()?.since.saturating_sub(MARGIN).ok()
}

/// Whether the logs of a pod's sidecar can tell of a reload.
pub(super) fn is_readable(pod: &PodFacts) -> bool {
    pod.is_on_node && pod.annotations.get(names::LOG_LEVEL).is_none_or(|level| !QUIET_LEVELS.contains(&level.as_str()))
}

/// What the sidecars of all pods say together. A log that cannot be read is `None`.
pub(super) fn judge(record: &Record, pods: &[(&PodFacts, Option<String>)]) -> Evidence {
    let (Some(since), false) = (since(record), pods.is_empty()) else { return Evidence::Silent };
    let changes = differences(&record.running, &record.applied);
    let all: Vec<Evidence> = pods.iter().map(|(pod, log)| of_pod(&changes, pod, log.as_deref(), since)).collect();
    together(all)
}

fn of_pod(changes: &[EntryChange<'_>], pod: &PodFacts, log: Option<&str>, since: Timestamp) -> Evidence {
    if log.is_some_and(|log| log.contains(INITIALIZED)) {
        return Evidence::Seen;
    }
    if let Some((_, code)) = pod.failed.filter(|(at, _)| *at >= since) {
        return Evidence::Failed(format!("daprd of pod {} ended with exit code {code}", pod.pod.name));
    }
    let Some(log) = log else { return Evidence::Unreadable };
    together(changes.iter().map(|change| of_change(change, log)).collect())
}

/// A failure counts first, then silence; what cannot be known is known of nothing else.
fn together(all: Vec<Evidence>) -> Evidence {
    let mut sum = Evidence::Seen;
    for one in all {
        sum = match (sum, one) {
            (Evidence::Failed(message), _) | (_, Evidence::Failed(message)) => Evidence::Failed(message),
            (Evidence::Silent, _) | (_, Evidence::Silent) => Evidence::Silent,
            (Evidence::Unreadable, _) | (_, Evidence::Unreadable) => Evidence::Unreadable,
            (Evidence::Seen, Evidence::Seen) => Evidence::Seen,
        };
    }
    sum
}

fn of_change(change: &EntryChange<'_>, log: &str) -> Evidence {
    let EntryKind::Resource(kind) = change.key.kind else { return Evidence::Silent };
    let name = &change.key.name;
    let seen = |text: &str| if mentions(log, text, name).is_some() { Evidence::Seen } else { Evidence::Silent };
    match (kind, change.after.is_some()) {
        (Kind::Component, true) => component(log, name),
        (Kind::Component | Kind::Subscription, false) => Evidence::Unreadable,
        (Kind::Subscription, true) => seen("Subscription updated: "),
        (Kind::McpServer, true) => seen("MCPServer updated via hot-reload: "),
        (Kind::McpServer, false) => seen("MCPServer deleted via hot-reload: "),
        (Kind::WorkflowAccessPolicy, _) if log.contains("Recompiled ") => Evidence::Seen,
        // Only the end of the restart of its runtime proves that daprd has it.
        (Kind::WorkflowAccessPolicy | Kind::Configuration | Kind::HttpEndpoint | Kind::Resiliency, _) => {
            Evidence::Silent
        }
    }
}

fn component(log: &str, name: &str) -> Evidence {
    let loaded = mentions(log, "Component loaded: ", name);
    let failed = mentions(log, "Failed to init component ", name);
    let refused =
        mentions(log, "Aborting to hot-reload a state store component that is used as an actor state store: ", name);
    match (loaded, failed.max(refused)) {
        (loaded, Some(failed)) if loaded < Some(failed) => {
            let line = log[failed..].lines().next().unwrap_or_default();
            Evidence::Failed(line.trim_end_matches('"').chars().take(300).collect())
        }
        (Some(_), _) => Evidence::Seen,
        (None, _) => Evidence::Silent,
    }
}

/// Where the log last says this of something of exactly this name.
fn mentions(log: &str, text: &str, name: &str) -> Option<usize> {
    let wanted = format!("{text}{name}");
    let is_whole = |index: &usize| {
        let next = log[index + wanted.len()..].chars().next();
        next.is_none_or(|next| !next.is_ascii_alphanumeric() && !['-', '.'].contains(&next))
    };
    log.rmatch_indices(&wanted).map(|(index, _)| index).find(is_whole)
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
