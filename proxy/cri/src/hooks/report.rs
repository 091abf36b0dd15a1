//! What is told of the hooks on the local socket.

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::broadcast;

use super::Hooks;
use crate::hook_set::{Limits, NodeHook};
use crate::state::{Decision, FileReport, HookState, PluginState, State};
use crate::stats::PROVEN;

/// What does not change while the process runs.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) started_at: Timestamp,
    /// Name and version of the runtime, if it was asked.
    pub(crate) runtime: Option<String>,
}

impl Hooks {
    /// What became of the answers of plugins lately, the oldest first.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        self.provenance.decisions()
    }

    /// Every hooked call from now on, one JSON document a line.
    pub(crate) fn record(&self) -> broadcast::Receiver<Bytes> {
        self.recorder.subscribe()
    }

    pub(crate) fn state(&self, identity: &Identity) -> State {
        let plugins: Vec<PluginState> = self.active().iter().map(|active| active.plugin.state()).collect();
        let registry = self.registry();
        let set = registry.set();
        let files = registry.reports().into_iter();
        State {
            version: reeve_process::version::VERSION.to_owned(),
            started_at: identity.started_at,
            runtime: identity.runtime.clone(),
            digest: set.digest(),
            bad_set: registry.bad_set().map(str::to_owned),
            hooks: set.hooks.iter().map(|hook| of_hook(hook, &plugins)).collect(),
            plugins,
            files: files.map(|report| FileReport { file: report.file, message: report.message }).collect(),
        }
    }
}

fn of_hook(hook: &NodeHook, plugins: &[PluginState]) -> HookState {
    let revision = hook.current.digest();
    let of_revision = plugins.iter().filter(|plugin| plugin.source == hook.name && plugin.revision == revision);
    let calls: u64 = of_revision.map(|plugin| plugin.calls.calls).sum();
    let has_proven = hook.limits == Limits::default() || calls >= PROVEN;
    HookState {
        name: hook.name.clone(),
        generation: hook.generation,
        percent: hook.percent,
        commit: hook.commit.clone(),
        good: hook.returned.is_none() && (hook.good || (hook.percent >= 100 && has_proven)),
        returned: hook.returned.clone(),
        last_good: hook.last_good.as_ref().map(crate::hook_set::Revision::digest),
        revision,
    }
}
