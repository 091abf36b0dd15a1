//! Which hooks a node gets, and what the last good revision of each is. Pure.

use std::collections::BTreeMap;

use reeve_crds::NodeHook;
use reeve_proxy_cri::hook_set::{self, HookSet};
use reeve_proxy_cri::state::{HookState, State};

use crate::lower::{self, Wanted};

/// Labels of a node.
pub(crate) type Labels = BTreeMap<String, String>;

/// What of all NodeHooks a node is to have, in the order in which plugins are asked.
pub(crate) fn select<'a>(hooks: impl IntoIterator<Item = &'a NodeHook>, node: &Labels) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = hooks.into_iter().filter(|hook| is_for(hook, node)).map(lower::node_hook).collect();
    wanted.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    wanted
}

/// Whether a NodeHook is for a node with these labels.
pub(crate) fn is_for(hook: &NodeHook, node: &Labels) -> bool {
    !hook.spec.suspend
        && hook.metadata.deletion_timestamp.is_none()
        && lower::selector(&hook.spec.node_selector).matches(node)
}

/// The next hook set, from the one on disk, what is wanted, and what the proxy found out about the revisions on disk.
pub(crate) fn next_set(disk: &HookSet, wanted: Vec<Wanted>, state: Option<&State>) -> HookSet {
    let next = |wanted: Wanted| {
        let known = disk.hooks.iter().find(|hook| hook.name == wanted.name);
        next_hook(known.map(|known| with_verdict(known, state)), wanted)
    };
    HookSet { hooks: wanted.into_iter().map(next).collect(), ..HookSet::default() }
}

/// What is on disk, with what the proxy says of the same revision.
fn with_verdict(known: &hook_set::NodeHook, state: Option<&State>) -> hook_set::NodeHook {
    let mut known = known.clone();
    let revision = known.current.digest();
    let is_same = |hook: &&HookState| hook.name == known.name && hook.revision == revision;
    if let Some(reported) = state.and_then(|state| state.hooks.iter().find(is_same)) {
        known.returned = known.returned.or_else(|| reported.returned.clone());
        known.good = known.returned.is_none() && (known.good || reported.good);
    }
    known
}

fn next_hook(known: Option<hook_set::NodeHook>, wanted: Wanted) -> hook_set::NodeHook {
    let Wanted { name, generation, order, percent, limits, updates_per_minute, revision, commit } = wanted;
    let mut next = hook_set::NodeHook {
        name,
        generation,
        order,
        percent,
        limits,
        updates_per_minute,
        current: revision,
        commit,
        good: false,
        returned: None,
        last_good: None,
        last_good_commit: None,
    };
    let Some(known) = known else { return next };
    if known.current == next.current {
        (next.good, next.returned, next.last_good) = (known.good, known.returned, known.last_good);
        next.last_good_commit = known.last_good_commit;
        // Until the leader has looked at this generation, the commit of the same content stands.
        next.commit = next.commit.or(known.commit);
        return next;
    }
    // What is replaced is what to return to, if it has proven itself; else what it would have returned to is.
    (next.last_good, next.last_good_commit) =
        if known.good { (Some(known.current), known.commit) } else { (known.last_good, known.last_good_commit) };
    if next.last_good.as_ref() == Some(&next.current) {
        // Somebody took the change back.
        (next.good, next.last_good, next.last_good_commit) = (true, None, None);
    }
    next
}

#[cfg(test)]
pub(crate) mod tests;
