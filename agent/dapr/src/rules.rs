//! The rules: what a change of one entry means for the sidecars of a workload.

use crate::entry::{Entries, Entry, EntryKey, EntryKind};
use crate::kind::Kind;
use crate::resource::Class;
use crate::rule::Rule;
use crate::version::Sidecar;
use crate::world::World;

/// What a change needs, from the least disturbance to the greatest.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Need {
    /// Nothing: the sidecars run it already, or it does not concern them.
    Nothing,
    /// The sidecars take it over by themselves.
    HotReload,
    /// The workload restarts.
    Restart,
}

/// What is to be done, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    /// What is needed.
    pub need: Need,
    /// The rule that says so.
    pub rule: Rule,
    /// Why, in a sentence.
    pub why: String,
}

/// An entry that is not what it was.
#[derive(Clone, Copy, Debug)]
pub struct EntryChange<'a> {
    /// Which.
    pub key: &'a EntryKey,
    /// What the sidecars run; `None` where they do not have it.
    pub before: Option<&'a Entry>,
    /// What they should run; `None` where they should not have it.
    pub after: Option<&'a Entry>,
}

/// What differs between what the sidecars run and what they should.
pub fn differences<'a>(before: &'a Entries, after: &'a Entries) -> Vec<EntryChange<'a>> {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    after
        .keys()
        .chain(gone)
        .map(|key| EntryChange { key, before: before.get(key), after: after.get(key) })
        .filter(|change| change.before != change.after)
        .collect()
}

/// What all changes together need: the most that one of them does. `None` if there is none.
pub fn judge(changes: &[EntryChange<'_>], sidecar: &Sidecar, world: &World, namespace: &str) -> Option<Judgement> {
    let mut judged: Vec<Judgement> =
        changes.iter().map(|change| judge_one(*change, sidecar, world, namespace)).collect();
    // The first of the gravest is told, and how many others there are.
    judged.sort_by_key(|judgement| std::cmp::Reverse(judgement.need));
    let gravest = judged.first()?.need;
    let others = judged.iter().filter(|judgement| judgement.need == gravest).count() - 1;
    let mut first = judged.swap_remove(0);
    if others > 0 {
        first.why = format!("{} (and {others} more)", first.why);
    }
    Some(first)
}

fn judge_one(change: EntryChange<'_>, sidecar: &Sidecar, world: &World, namespace: &str) -> Judgement {
    let name = format!("{} {}", change.key.kind.as_str(), change.key.name);
    let (need, rule, why) = match change.key.kind {
        EntryKind::Image => (Need::Restart, Rule::R17, "the injector has another image for sidecars".to_owned()),
        EntryKind::System => (Need::Restart, Rule::R9, "the Configuration of Dapr's control plane changed".to_owned()),
        EntryKind::Source(_) => {
            (Need::Restart, Rule::R14, format!("{name} changed, which sidecars read only when they start"))
        }
        EntryKind::Resource(kind) => return judge_resource(change, kind, &name, sidecar, world, namespace),
    };
    Judgement { need, rule, why }
}

fn judge_resource(
    change: EntryChange<'_>,
    kind: Kind,
    name: &str,
    sidecar: &Sidecar,
    world: &World,
    namespace: &str,
) -> Judgement {
    let restart = |rule, why: String| Judgement { need: Need::Restart, rule, why };
    if let (Some(before), Some(after)) = (change.before, change.after) {
        let (before, after) = (before.fingerprint, after.fingerprint);
        if before.container != after.container {
            return restart(
                Rule::R15,
                format!("the container of {name} changed, and containers are fixed at admission"),
            );
        }
        if before.is_same_but_for_scopes(&after) {
            return scopes_alone(name, sidecar);
        }
        if before.content == after.content && before.secrets != after.secrets {
            return judge_secret(change.key, kind, name, sidecar, world, namespace);
        }
    } else if change.before.or(change.after).is_some_and(|entry| entry.fingerprint.container != crate::Hash::NONE) {
        return restart(Rule::R15, format!("{name} has a container of its own, and containers are fixed at admission"));
    }
    let (rule, reloads) = reload_rule(change, kind, sidecar, world);
    let rule = if rule == Rule::R1 { presence_rule(change, world, namespace) } else { rule };
    let event = match (change.before, change.after) {
        (None, _) => "came",
        (_, None) => "is gone",
        (Some(_), Some(_)) => "changed",
    };
    if reloads {
        let why = format!("{name} {event}, and {} reloads it", sidecar.name());
        return Judgement { need: Need::HotReload, rule, why };
    }
    let why = if rule == Rule::R7 && sidecar.reloads_since(1, 18, 0) {
        format!("{name} {event} while no operator of Dapr was ready to tell the sidecars")
    } else if sidecar.hot_reload {
        format!("{name} {event}, and {} cannot reload it", sidecar.name())
    } else {
        format!("{name} {event}, and {} does not reload", sidecar.name())
    };
    restart(rule, why)
}

/// An app that stays in the scopes runs the same; a daprd that reloads closes and opens the component nevertheless.
fn scopes_alone(name: &str, sidecar: &Sidecar) -> Judgement {
    let why = format!("the scopes of {name} changed, and the app stays in them");
    let need = if sidecar.hot_reload { Need::HotReload } else { Need::Nothing };
    Judgement { need, rule: Rule::R2, why }
}

/// The rule for a resource of which more than scopes or Secrets changed, and whether the sidecar reloads it.
fn reload_rule(change: EntryChange<'_>, kind: Kind, sidecar: &Sidecar, world: &World) -> (Rule, bool) {
    let was_or_is = |class| [change.before, change.after].into_iter().flatten().any(|entry| entry.class == class);
    match kind {
        Kind::Component if was_or_is(Class::ActorStateStore) => (Rule::R3, sidecar.reloads_since(1, 18, 3)),
        Kind::Component if was_or_is(Class::WorkflowBackend) => (Rule::R4, sidecar.reloads_since(1, 15, 0)),
        Kind::Component if was_or_is(Class::SecretStore) => (Rule::R5, sidecar.reloads_since(1, 13, 0)),
        Kind::Component => (Rule::R1, sidecar.reloads_since(1, 13, 0)),
        Kind::Subscription => (Rule::R6, sidecar.reloads_since(1, 14, 0)),
        Kind::HttpEndpoint | Kind::Resiliency => {
            (Rule::R7, sidecar.reloads_since(1, 18, 0) && world.control_plane.operator_ready)
        }
        Kind::Configuration => (Rule::R8, sidecar.reloads_since(1, 18, 0) && world.control_plane.operator_ready),
        Kind::McpServer | Kind::WorkflowAccessPolicy => (Rule::R10, sidecar.reloads_since(1, 18, 0)),
    }
}

/// Whether a component that an app gained or lost came or went as a whole (R1), or its scopes changed (R2).
fn presence_rule(change: EntryChange<'_>, world: &World, namespace: &str) -> Rule {
    let known_to_others = || {
        let in_namespace = world.records.iter().filter(|(id, _)| id.namespace == namespace);
        in_namespace.into_iter().any(|(_, record)| record.running.contains_key(change.key))
    };
    let is_applied = || world.resources.keys().any(|id| id.namespace == namespace && EntryKey::of(id) == *change.key);
    match (change.before, change.after) {
        (None, Some(_)) if known_to_others() => Rule::R2,
        (Some(_), None) if is_applied() => Rule::R2,
        _ => Rule::R1,
    }
}

fn judge_secret(
    key: &EntryKey,
    kind: Kind,
    name: &str,
    sidecar: &Sidecar,
    world: &World,
    namespace: &str,
) -> Judgement {
    let is_foreign = world.resources.iter().any(|(id, resource)| {
        id.namespace == namespace && EntryKey::of(id) == *key && resource.reads_foreign_secrets()
    });
    let (need, rule, why) = if is_foreign {
        (Need::Restart, Rule::R13, format!("{name} says that a secret of its store changed"))
    } else if kind.is_told_once() {
        (Need::Restart, Rule::R12, format!("a Secret of {name} changed, which sidecars read only when they start"))
    } else if sidecar.reloads_since(1, 13, 0) {
        (
            Need::HotReload,
            Rule::R11,
            format!("a Secret of {name} changed, and {} reads it within a minute", sidecar.name()),
        )
    } else {
        (Need::Restart, Rule::R11, format!("a Secret of {name} changed, and {} does not reload", sidecar.name()))
    };
    Judgement { need, rule, why }
}

#[cfg(test)]
mod tests;
