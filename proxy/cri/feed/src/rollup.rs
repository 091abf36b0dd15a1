//! What a NodeHook's own status says: how it does over all nodes. Pure.

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use reeve_crds::condition::types;
use reeve_crds::node_hook::{NodeHookRollout, NodeNotReady};
use reeve_crds::{Count, NodeHook, NodeHookStatus, Reason, RuntimeComponent, State};

use crate::condition::{Conditions, cut};
use crate::selection::{self, Labels};
use crate::status::INTERVAL;

/// Nodes that are named.
const MAX_NAMED: usize = 10;
/// Who was not heard of for so many intervals says nothing of today.
const SILENT_AFTER: u32 = 3;

/// How a NodeHook does on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OnNode {
    Live,
    Pending(String),
    Unwell(String),
}

/// A node, and what its feed says of it.
#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: String,
    pub(crate) labels: &'a Labels,
    pub(crate) status: Option<&'a NodeHookStatus>,
}

/// The status of a NodeHook; `revision` is the Git revision that this generation comes from.
pub(crate) fn roll_up(hook: &NodeHook, nodes: &[Member], revision: Option<String>, now: Timestamp) -> NodeHookRollout {
    let generation = hook.metadata.generation;
    let selected: Vec<(&Member, OnNode)> = nodes
        .iter()
        .filter(|node| selection::is_for(hook, node.labels))
        .map(|node| (node, on_node(hook, node, now)))
        .collect();
    let live = selected.iter().filter(|(_, on_node)| *on_node == OnNode::Live).count();
    let not_ready = selected.iter().filter_map(|(node, on_node)| match on_node {
        OnNode::Live => None,
        OnNode::Pending(message) | OnNode::Unwell(message) => {
            Some(NodeNotReady { node: node.name.clone(), message: cut(message) })
        }
    });
    let (state, reason, message) = judge(hook, &selected, live);
    let old = hook.status.clone().unwrap_or_default();
    let conditions = Conditions { old: &old.conditions, generation, now };
    NodeHookRollout {
        observed_generation: generation,
        state: Some(state),
        conditions: vec![
            conditions.condition(types::READY, state == State::Ready, reason, &message),
            conditions.condition(types::LIVE, !hook.spec.suspend && live == selected.len(), reason, &message),
        ],
        nodes: Some(Count::new(number(live), number(selected.len()))),
        not_ready: not_ready.take(MAX_NAMED).collect(),
        revision,
    }
}

fn judge(hook: &NodeHook, selected: &[(&Member, OnNode)], live: usize) -> (State, Reason, String) {
    if hook.metadata.deletion_timestamp.is_some() {
        return (State::Deleting, Reason::Deleting, "it is taken off all nodes".to_owned());
    }
    if hook.spec.suspend {
        return (State::Suspended, Reason::Suspended, "it is off all nodes".to_owned());
    }
    if selected.is_empty() {
        let message = "no node has the labels that spec.nodeSelector asks for".to_owned();
        return (State::Warning, Reason::NotFound, message);
    }
    let total = selected.len();
    let unwell = selected.iter().filter(|(_, on_node)| matches!(on_node, OnNode::Unwell(_))).count();
    if unwell > 0 {
        return (State::Warning, Reason::Unhealthy, format!("not well on {unwell} of {total} nodes; see notReady"));
    }
    if live < total {
        return (State::Processing, Reason::Progressing, format!("live on {live} of {total} nodes"));
    }
    (State::Ready, Reason::Succeeded, format!("live on all {total} nodes"))
}

fn on_node(hook: &NodeHook, node: &Member, now: Timestamp) -> OnNode {
    let Some(status) = node.status.and_then(|object| object.status.as_ref()) else {
        return OnNode::Pending("its feed has not reported".to_owned());
    };
    let heard = status.observed_at.as_ref().map(|time| time.0).unwrap_or_default();
    let silent = Duration::try_from(now.duration_since(heard)).unwrap_or_default();
    if silent >= INTERVAL * SILENT_AFTER {
        return OnNode::Unwell("its feed is silent: nothing was heard of it for a quarter of an hour".to_owned());
    }
    let is_live = status.conditions.iter().any(|one| one.type_ == types::LIVE && one.status == "True");
    let ready = status.conditions.iter().find(|condition| condition.type_ == types::READY);
    let why = ready.map(|condition| condition.message.clone()).unwrap_or_default();
    let on_it = status.hooks.iter().find(|live| live.name == hook.name_any());
    let Some(on_it) = on_it.filter(|live| live.generation == hook.metadata.generation) else {
        return match status.state {
            Some(State::Error) => OnNode::Unwell(why),
            _ => OnNode::Pending("this generation has not reached it".to_owned()),
        };
    };
    if let Some(returned) = &on_it.returned {
        return OnNode::Unwell(format!("returned to the last good revision: {returned}"));
    }
    let is_open = |plugin: &&reeve_crds::node_hook_status::PluginStatus| {
        use reeve_crds::node_hook_status::Circuit;
        let circuit = plugin.circuit.as_ref().and_then(|circuit| circuit.known());
        plugin.source == on_it.name && circuit.is_some_and(|circuit| *circuit != Circuit::Closed)
    };
    match status.plugins.iter().find(is_open) {
        Some(plugin) => OnNode::Unwell(format!("plugin {} is not asked because it keeps failing", plugin.plugin)),
        None if is_live => OnNode::Live,
        None => OnNode::Pending(why),
    }
}

/// The Git revision that a NodeHook's content comes from: that which its component had applied once the content was written.
/// Later commits that leave the NodeHook as it is do not change it.
pub(crate) fn revision(hook: &NodeHook, component: Option<&RuntimeComponent>) -> Option<String> {
    let status = hook.status.as_ref();
    let is_known = status.is_some_and(|status| status.observed_generation == hook.metadata.generation);
    if let Some(known) = status.filter(|_| is_known).and_then(|status| status.revision.clone()) {
        return Some(known);
    }
    let of_content =
        hook.managed_fields().iter().filter(|entry| entry.subresource.as_deref().unwrap_or_default().is_empty());
    let written = of_content.filter_map(|entry| entry.time.as_ref().map(|time| time.0)).max()?;
    let applied = component?.status.as_ref()?.applied.as_ref()?;
    let since = applied.since.as_ref()?.0;
    (since >= written).then(|| applied.revision.clone())
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
