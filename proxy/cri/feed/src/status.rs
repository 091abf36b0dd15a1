//! What the NodeHookStatus of a node says, and when it is written. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use reeve_crds::condition::types;
use reeve_crds::node_hook::plugin::PluginMode;
use reeve_crds::node_hook_status::{
    BadFile, Calls, Circuit, LiveHook, NodeHookStatusStatus, PluginError, PluginStatus, Proxy,
};
use reeve_crds::{Count, Lenient, NodeHook, Reason, State};
use reeve_proxy_cri::hook_set::HookSet;
use reeve_proxy_cri::settings::Mode;
use reeve_proxy_cri::state;

use crate::condition::{Conditions, cut};
use crate::lower::{commit, hook_type};

/// Numbers alone are written this often at most, and also if nothing changes: who is silent for longer is not Ready.
pub(crate) const INTERVAL: Duration = Duration::from_mins(5);
/// What is not numbers is written this often at most.
const PAUSE: Duration = Duration::from_secs(5);
const MAX_HOOKS: usize = 32;
const MAX_PLUGINS: usize = 64;
const MAX_FILES: usize = 32;

/// What is known of a node's hooks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// What the proxy is to have.
    pub(crate) set: &'a HookSet,
    /// What the proxy says, or why it says nothing.
    pub(crate) state: Result<&'a state::State, &'a str>,
    /// For the Git revisions that the leader found.
    pub(crate) hooks: &'a [std::sync::Arc<NodeHook>],
}

/// The status, with the times of conditions that did not change.
pub(crate) fn status(
    known: Known,
    old: &NodeHookStatusStatus,
    generation: Option<i64>,
    now: Timestamp,
) -> NodeHookStatusStatus {
    let (state, reason, message) = judge(&known);
    let live = is_live(&known);
    let conditions = Conditions { old: &old.conditions, generation, now };
    let (live_reason, live_message) = if live {
        (Reason::Succeeded, "the proxy has the hooks that the node is to have")
    } else {
        (reason, message.as_str())
    };
    let mut status = NodeHookStatusStatus {
        state: Some(state),
        conditions: vec![
            conditions.condition(types::READY, state == State::Ready, reason, &message),
            conditions.condition(types::LIVE, live, live_reason, live_message),
        ],
        observed_generation: generation,
        observed_at: Some(Time(now)),
        ..NodeHookStatusStatus::default()
    };
    if let Ok(reported) = known.state {
        fill(&mut status, reported, &known);
    }
    status
}

fn fill(status: &mut NodeHookStatusStatus, reported: &state::State, known: &Known) {
    let plugins: Vec<PluginStatus> = reported.plugins.iter().take(MAX_PLUGINS).map(plugin).collect();
    let is_open = |plugin: &&state::PluginState| plugin.circuit != state::Circuit::Closed;
    let open = reported.plugins.iter().filter(is_open).count();
    status.digest = Some(reported.digest.clone());
    status.proxy = Some(Proxy {
        version: Some(reported.version.clone()),
        runtime: reported.runtime.clone().map(|runtime| runtime.chars().take(128).collect()),
        started_at: Some(Time(reported.started_at)),
    });
    status.live = Some(Count::new(number(reported.plugins.len() - open), number(reported.plugins.len())));
    status.open_circuits = Some(number(open));
    status.totals = Some(totals(&reported.plugins));
    status.hooks = reported.hooks.iter().take(MAX_HOOKS).map(|hook| live_hook(hook, known.hooks)).collect();
    status.plugins = plugins;
    let files = reported.files.iter().take(MAX_FILES);
    status.bad_files = files.map(|file| BadFile { file: file.file.clone(), message: cut(&file.message) }).collect();
}

/// Whether the proxy has what it is to have.
pub(crate) fn is_live(known: &Known) -> bool {
    known.state.is_ok_and(|reported| {
        reported.bad_set.is_none() && reported.digest == known.set.digest() && has_generations(reported, known.set)
    })
}

fn has_generations(reported: &state::State, set: &HookSet) -> bool {
    reported.hooks.iter().map(|hook| hook.generation).eq(set.hooks.iter().map(|hook| hook.generation))
}

fn judge(known: &Known) -> (State, Reason, String) {
    let reported = match known.state {
        Ok(reported) => reported,
        Err(error) => return (State::Error, Reason::Unreachable, format!("the proxy says nothing: {error}")),
    };
    if let Some(bad) = &reported.bad_set {
        return (State::Error, Reason::Invalid, format!("the proxy cannot use the hook set: {bad}"));
    }
    if !is_live(known) {
        return (State::Processing, Reason::Progressing, "the proxy has not read the hook set yet".to_owned());
    }
    if let Some((hook, why)) = reported.hooks.iter().find_map(|hook| Some((&hook.name, hook.returned.as_ref()?))) {
        let message = format!("NodeHook {hook} returned to its last good revision: {why}");
        return (State::Warning, Reason::Unhealthy, message);
    }
    if let Some(plugin) = reported.plugins.iter().find(|plugin| plugin.circuit != state::Circuit::Closed) {
        let why = plugin.last_error.as_ref().map_or("it keeps failing", |error| error.message.as_str());
        let message = format!("plugin {} of {} is not asked: {why}", plugin.plugin, plugin.source);
        return (State::Warning, Reason::Unhealthy, message);
    }
    (State::Ready, Reason::Succeeded, format!("{} plugins are in force", reported.plugins.len()))
}

fn live_hook(reported: &state::HookState, hooks: &[std::sync::Arc<NodeHook>]) -> LiveHook {
    let of_generation = |hook: &&std::sync::Arc<NodeHook>| {
        hook.name_any() == reported.name && hook.metadata.generation == Some(reported.generation)
    };
    let git = hooks.iter().find(of_generation).and_then(|hook| commit(hook));
    LiveHook {
        name: reported.name.clone(),
        generation: Some(reported.generation),
        git,
        revision: reported.revision.clone(),
        percent: Some(reported.percent.into()),
        last_good: reported.last_good.clone(),
        returned: reported.returned.as_deref().map(cut),
    }
}

fn plugin(reported: &state::PluginState) -> PluginStatus {
    PluginStatus {
        source: reported.source.clone(),
        plugin: reported.plugin.clone(),
        revision: reported.revision.clone(),
        endpoint: Some(reported.endpoint.display().to_string()),
        mode: Some(Lenient::from(match reported.mode {
            Mode::Enforce => PluginMode::Enforce,
            Mode::Audit => PluginMode::Audit,
        })),
        hooks: reported.hooks.iter().map(|hook| Lenient::from(hook_type(*hook))).collect(),
        circuit: Some(Lenient::from(match reported.circuit {
            state::Circuit::Closed => Circuit::Closed,
            state::Circuit::Open => Circuit::Open,
            state::Circuit::HalfOpen => Circuit::HalfOpen,
        })),
        circuit_since: Some(Time(reported.circuit_since)),
        calls: calls(&reported.calls),
        last_error: reported.last_error.as_ref().map(|error| PluginError {
            time: Some(Time(error.time)),
            hook: Some(Lenient::from(hook_type(error.hook))),
            pod: Some(error.pod.clone()),
            message: cut(&error.message),
        }),
    }
}

fn calls(reported: &state::Calls) -> Calls {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let time = |time: Option<Duration>| time.map(|time| Lenient::from(reeve_crds::Duration::from(time)));
    Calls {
        calls: count(reported.calls),
        failures: count(reported.failures),
        timeouts: count(reported.timeouts),
        refusals: count(reported.refusals),
        changes: count(reported.changes),
        forbidden_changes: count(reported.forbidden_changes),
        conflicts: count(reported.conflicts),
        p50: time(reported.p50),
        p99: time(reported.p99),
    }
}

/// Sums, and of the times the longest: what no plugin exceeds.
fn totals(plugins: &[state::PluginState]) -> Calls {
    let sum = |of: fn(&state::Calls) -> u64| plugins.iter().map(|plugin| of(&plugin.calls)).sum();
    let most = |of: fn(&state::Calls) -> Option<Duration>| plugins.iter().filter_map(|plugin| of(&plugin.calls)).max();
    calls(&state::Calls {
        calls: sum(|calls| calls.calls),
        failures: sum(|calls| calls.failures),
        timeouts: sum(|calls| calls.timeouts),
        refusals: sum(|calls| calls.refusals),
        changes: sum(|calls| calls.changes),
        forbidden_changes: sum(|calls| calls.forbidden_changes),
        conflicts: sum(|calls| calls.conflicts),
        p50: most(|calls| calls.p50),
        p99: most(|calls| calls.p99),
    })
}

/// Whether the status is to be written, next to what was written when.
pub(crate) fn is_due(
    new: &NodeHookStatusStatus,
    written: Option<&(NodeHookStatusStatus, Timestamp)>,
    now: Timestamp,
) -> bool {
    let Some((old, at)) = written else { return true };
    let since = Duration::try_from(now.duration_since(*at)).unwrap_or_default();
    since >= INTERVAL || (since >= PAUSE && without_numbers(new) != without_numbers(old))
}

fn without_numbers(status: &NodeHookStatusStatus) -> NodeHookStatusStatus {
    let mut status = status.clone();
    (status.observed_at, status.totals) = (None, None);
    for plugin in &mut status.plugins {
        // The last error is told with the numbers: a plugin that fails seldom would have a write for each.
        (plugin.calls, plugin.last_error) = (Calls::default(), None);
    }
    status
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
