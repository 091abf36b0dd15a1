//! What one node's feed does next: a machine that is told what it sees and says what to do. Reads no clock and no cluster.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use reeve_crds::node_hook::WhileNotLive;
use reeve_crds::node_hook_status::NodeHookStatusStatus;
use reeve_crds::{NodeHook, Reason};
use reeve_proxy_cri::hook_set::HookSet;
use reeve_proxy_cri::state::{Circuit, State};

use crate::selection::{self, Labels};
use crate::status::{self, Known};

/// After a write failed.
const RETRY: Duration = Duration::from_secs(5);

/// What is of interest of the Node object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeFacts {
    pub(crate) uid: String,
    pub(crate) labels: Labels,
    pub(crate) is_tainted: bool,
    /// Of the condition `HooksLive`.
    pub(crate) says_live: Option<bool>,
}

/// What the feed sees.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// All NodeHooks, as they are now.
    Hooks(Vec<Arc<NodeHook>>),
    /// The node, as it is now.
    Node(NodeFacts),
    /// What the proxy says, or why it says nothing.
    State(Result<Box<State>, String>),
    /// The hook set is on disk.
    SetWritten(Box<HookSet>),
    /// The status is at the API server; the generation of its object.
    StatusWritten(Box<NodeHookStatusStatus>, Option<i64>),
    /// The hook set could not be written.
    DiskFailed,
    /// The API server did not take something.
    ApiFailed,
}

/// What the feed does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    WriteSet(Box<HookSet>),
    WriteStatus {
        status: Box<NodeHookStatusStatus>,
        node_uid: String,
    },
    /// Sets the node's taint and condition; `None` leaves it as it is.
    PatchNode {
        taint: Option<bool>,
        live: Option<bool>,
        message: String,
    },
    /// Tells an event about a NodeHook.
    Publish {
        hook: Arc<NodeHook>,
        reason: Reason,
        is_warning: bool,
        note: String,
    },
}

/// What is known, and what was written.
#[derive(Debug)]
pub(crate) struct Machine {
    hooks: Option<Vec<Arc<NodeHook>>>,
    node: Option<NodeFacts>,
    state: Result<Box<State>, String>,
    disk: HookSet,
    written: Option<(NodeHookStatusStatus, Timestamp)>,
    generation: Option<i64>,
    /// Nothing is written there before these, after a failure.
    disk_not_before: Option<Timestamp>,
    api_not_before: Option<Timestamp>,
    writes: NodeWrites,
}

/// What the feed may write of its Node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeWrites {
    pub(crate) condition: bool,
    pub(crate) taint: bool,
}

impl Machine {
    /// `written` is the status that the API server has, if it was read.
    pub(crate) fn new(disk: HookSet, written: Option<NodeHookStatusStatus>, writes: NodeWrites) -> Self {
        Self {
            hooks: None,
            node: None,
            state: Err("it was not asked yet".to_owned()),
            disk,
            written: written.map(|status| (status, Timestamp::UNIX_EPOCH)),
            generation: None,
            disk_not_before: None,
            api_not_before: None,
            writes,
        }
    }

    pub(crate) fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Hooks(hooks) => self.hooks = Some(hooks),
            Event::Node(node) => self.node = Some(node),
            Event::State(state) => {
                effects = self.transitions(state.as_deref().ok());
                self.state = state;
            }
            Event::SetWritten(set) => self.disk = *set,
            Event::StatusWritten(status, generation) => {
                self.written = Some((*status, now));
                self.generation = generation;
            }
            Event::DiskFailed => self.disk_not_before = Some(now + RETRY),
            Event::ApiFailed => self.api_not_before = Some(now + RETRY),
        }
        effects.extend(self.due(now));
        effects
    }

    /// What has to be written.
    fn due(&self, now: Timestamp) -> Vec<Effect> {
        // Before both are known an empty set would take hooks away that are in force.
        let (Some(hooks), Some(node)) = (&self.hooks, &self.node) else { return Vec::new() };
        let mut effects = Vec::new();
        let wanted = selection::select(hooks.iter().map(|hook| &**hook), &node.labels);
        let set = selection::next_set(&self.disk, wanted, self.state.as_deref().ok());
        let may = |not_before: Option<Timestamp>| not_before.is_none_or(|not_before| now >= not_before);
        if set != self.disk && may(self.disk_not_before) {
            effects.push(Effect::WriteSet(Box::new(set.clone())));
        }
        if !may(self.api_not_before) {
            return effects;
        }
        let known = Known { set: &set, state: self.state.as_deref().map_err(String::as_str), hooks };
        let old = self.written.as_ref().map(|(status, _)| status.clone()).unwrap_or_default();
        let status = status::status(known, &old, self.generation, now);
        if status::is_due(&status, self.written.as_ref(), now) {
            effects.push(Effect::WriteStatus { status: Box::new(status), node_uid: node.uid.clone() });
        }
        effects.extend(self.patch_of_node(node, hooks, status::is_live(&known)));
        effects
    }

    fn patch_of_node(&self, node: &NodeFacts, hooks: &[Arc<NodeHook>], is_live: bool) -> Option<Effect> {
        let keeps_pods_off = |hook: &&Arc<NodeHook>| {
            hook.spec.while_not_live == WhileNotLive::NoSchedule && selection::is_for(hook, &node.labels)
        };
        let blocking = hooks.iter().find(keeps_pods_off);
        let taint = !is_live && blocking.is_some();
        let taint = (self.writes.taint && taint != node.is_tainted).then_some(taint);
        let live = (self.writes.condition && node.says_live != Some(is_live)).then_some(is_live);
        let message = match (is_live, blocking) {
            (true, _) => "the CRI proxy has the node's hooks".to_owned(),
            (false, Some(hook)) => {
                format!("NodeHook {} is not live, and asks for no pods until it is", hook.name_any())
            }
            (false, None) => "the CRI proxy does not have the node's hooks".to_owned(),
        };
        (taint.is_some() || live.is_some()).then_some(Effect::PatchNode { taint, live, message })
    }

    /// Events about what the proxy says now and did not say before.
    fn transitions(&self, state: Option<&State>) -> Vec<Effect> {
        let (Some(new), Ok(old)) = (state, &self.state) else { return Vec::new() };
        let mut effects = Vec::new();
        for hook in &new.hooks {
            let before = old.hooks.iter().find(|old| old.name == hook.name && old.revision == hook.revision);
            if let Some(why) = hook.returned.as_ref().filter(|_| before.is_some_and(|old| old.returned.is_none())) {
                let note = format!("returned to the last good revision: {why}");
                effects.extend(self.publish(&hook.name, Reason::Unhealthy, true, note));
            }
        }
        for plugin in &new.plugins {
            let is_same = |old: &&reeve_proxy_cri::state::PluginState| {
                (&old.source, &old.plugin, &old.revision) == (&plugin.source, &plugin.plugin, &plugin.revision)
            };
            let Some(before) = old.plugins.iter().find(is_same) else { continue };
            let (was_closed, is_closed) = (before.circuit == Circuit::Closed, plugin.circuit == Circuit::Closed);
            if was_closed && !is_closed {
                let why = plugin.last_error.as_ref().map_or("", |error| error.message.as_str());
                let note = format!("plugin {} is not asked because it keeps failing: {why}", plugin.plugin);
                effects.extend(self.publish(&plugin.source, Reason::Failed, true, note));
            } else if is_closed && !was_closed {
                let note = format!("plugin {} answers again", plugin.plugin);
                effects.extend(self.publish(&plugin.source, Reason::Recovered, false, note));
            }
        }
        effects
    }

    fn publish(&self, hook: &str, reason: Reason, is_warning: bool, note: String) -> Option<Effect> {
        let hook = self.hooks.iter().flatten().find(|known| known.name_any() == hook)?;
        Some(Effect::Publish { hook: Arc::clone(hook), reason, is_warning, note })
    }
}

#[cfg(test)]
mod tests;
