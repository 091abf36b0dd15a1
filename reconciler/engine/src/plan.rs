//! What has to be done to a component: a pure function of what Git wants, what the inventory says and what is there.
//!
//! The same function answers `reeve plan` and drives `reeve run`. It reads nothing and does nothing; whoever carries a
//! plan out makes no choice of its own.

use std::collections::BTreeSet;

use reeve_crds::inventory::EntryState;
use reeve_crds::runtime::policy::DriftMode;
use reeve_renderer_objects::key::ObjectKey;

use crate::desired::{DesiredComponent, DesiredObject, Stage, is_protected};
use crate::inventory::Entry;
use crate::live::Live;
use crate::owner::Owner;
use crate::payload::{Apply, Prune};

#[cfg(test)]
mod tests;

/// By which rules a plan is made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The runtime that plans, with its namespace.
    pub owner: Owner,
    /// What to do about drift, unless an object says otherwise.
    pub drift: DriftMode,
    /// Whether what left Git is deleted.
    pub prune: bool,
}

/// What a planner may look at.
pub trait View {
    /// What the inventory says of an object.
    fn entry(&self, key: &ObjectKey) -> Option<Entry>;

    /// The object as it is, if it is ours.
    fn live(&self, key: &ObjectKey) -> Option<Live>;
}

/// What is done to an object that Git wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is not there, or not ours yet.
    Create,
    /// It is there, with other content.
    Update,
    /// It is there as we applied it, but nobody wrote down how that looked.
    Verify,
    /// Someone changed what we own: put it right.
    Repair,
    /// Someone changed what we own: tell.
    Report,
    /// It is on its way out; it is made anew when it is gone.
    Replace,
    /// Nothing, since it asks to be left alone.
    Leave,
    /// Nothing, since it is as it should be.
    Keep,
}

impl Action {
    /// Whether it sends anything.
    pub fn writes(self) -> bool {
        match self {
            Self::Create | Self::Update | Self::Verify | Self::Repair | Self::Replace => true,
            Self::Report | Self::Leave | Self::Keep => false,
        }
    }
}

/// One object that Git wants, and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The object.
    pub key: ObjectKey,
    /// When.
    pub stage: Stage,
    /// What.
    pub action: Action,
}

/// What is done to an object that Git no longer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Delete it and wait until it is gone.
    Delete,
    /// Ask whether it was ever created, and delete it if so.
    Settle,
    /// It stays, and is forgotten: its kind, an annotation or the policy says so.
    Release,
    /// It is forgotten: it is gone, or someone made it theirs.
    Forget,
}

/// All that is done to one component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentPlan {
    /// Objects that Git wants, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// Objects that it no longer wants, in the order in which they are taken away.
    pub removals: Vec<(ObjectKey, Stage, Removal)>,
    /// Objects that another runtime or component has, and who.
    pub claimed: Vec<(ObjectKey, String)>,
}

impl ComponentPlan {
    /// Whether nothing would change in the cluster: to look again, and to forget, changes nothing.
    pub fn is_empty(&self) -> bool {
        let changes = |step: &Step| step.action.writes() && step.action != Action::Verify;
        let removes = |removal: Removal| matches!(removal, Removal::Delete | Removal::Settle);
        self.claimed.is_empty()
            && !self.steps.iter().any(changes)
            && !self.removals.iter().any(|(_, _, removal)| removes(*removal))
    }
}

/// The plan for a component that Git wants. `wanted_elsewhere` tells of objects that another component of the runtime
/// has now: they move, and are not taken away.
pub fn component(
    desired: &DesiredComponent,
    entries: impl IntoIterator<Item = (ObjectKey, Entry)>,
    view: &dyn View,
    rules: &Rules,
    wanted_elsewhere: &dyn Fn(&ObjectKey) -> bool,
) -> ComponentPlan {
    let mut plan = ComponentPlan::default();
    for object in &desired.objects {
        if let Some(owner) = other_owner(&object.key, view, rules) {
            plan.claimed.push((object.key.clone(), owner));
            continue;
        }
        let action = action(object, view, rules);
        plan.steps.push(Step { key: object.key.clone(), stage: object.stage, action });
    }
    let wanted: BTreeSet<&ObjectKey> = desired
        .objects
        .iter()
        .map(|object| &object.key)
        .chain(desired.jobs.iter().map(|job| &job.object.key))
        .collect();
    let gone = entries.into_iter().filter(|(key, _)| !wanted.contains(key));
    plan.removals = removals(gone, view, rules, wanted_elsewhere);
    plan
}

/// The plan for a component that Git no longer has.
pub fn removal(
    entries: impl IntoIterator<Item = (ObjectKey, Entry)>,
    view: &dyn View,
    rules: &Rules,
    wanted_elsewhere: &dyn Fn(&ObjectKey) -> bool,
) -> ComponentPlan {
    ComponentPlan { removals: removals(entries, view, rules, wanted_elsewhere), ..ComponentPlan::default() }
}

/// Another runtime that has the object. Components of one runtime may hand an object over.
fn other_owner(key: &ObjectKey, view: &dyn View, rules: &Rules) -> Option<String> {
    let live = view.live(key)?;
    if is_ours(&live, view.entry(key).as_ref(), rules) {
        return None;
    }
    let owner = live.owner.as_ref()?;
    Some(holder(owner, live.component.as_deref()))
}

/// Who has an object, as people are told.
pub fn holder(owner: &Owner, component: Option<&str>) -> String {
    format!("component {} of runtime {owner}", component.unwrap_or("?"))
}

/// Whether an object is this runtime's. What its manager applied is; where nobody wrote down who applied it, anybody may
/// have changed the labels, and the very object that the inventory has is.
fn is_ours(live: &Live, entry: Option<&Entry>, rules: &Rules) -> bool {
    let is_certain = live.owned.is_some() && !live.legacy;
    let is_same = || entry.is_some_and(|entry| entry.uid.as_ref() == Some(&live.uid));
    live.owner.as_ref() == Some(&rules.owner) || (!is_certain && is_same())
}

fn action(object: &DesiredObject, view: &dyn View, rules: &Rules) -> Action {
    let live = view.live(&object.key);
    match (object.options.apply, live) {
        (Apply::Never, _) | (Apply::IfMissing, Some(Live { deleting: None, .. })) => Action::Leave,
        (Apply::Always | Apply::IfMissing, Some(live)) if live.deleting.is_some() => Action::Replace,
        (Apply::Always | Apply::IfMissing, None) => Action::Create,
        (Apply::Always | Apply::IfMissing, Some(live)) => compare(object, &live, view.entry(&object.key), rules),
    }
}

fn compare(object: &DesiredObject, live: &Live, entry: Option<Entry>, rules: &Rules) -> Action {
    if live.content.as_deref() != Some(&*object.content) {
        // Our annotation is among what we own: if it is not what we wrote down either, someone took it away.
        return Action::Update;
    }
    match entry.and_then(|entry| entry.owned) {
        None => Action::Verify,
        // Written once more for the sake of its field managers.
        Some(owned) if live.owned.as_ref() == Some(&owned) && live.leftovers => Action::Verify,
        Some(owned) if live.owned.as_ref() == Some(&owned) => Action::Keep,
        Some(_) => match object.options.drift.unwrap_or(rules.drift) {
            DriftMode::Repair if live.leftovers => Action::Verify,
            DriftMode::Repair => Action::Repair,
            DriftMode::Report => Action::Report,
            DriftMode::Ignore => Action::Keep,
        },
    }
}

fn removals(
    entries: impl IntoIterator<Item = (ObjectKey, Entry)>,
    view: &dyn View,
    rules: &Rules,
    wanted_elsewhere: &dyn Fn(&ObjectKey) -> bool,
) -> Vec<(ObjectKey, Stage, Removal)> {
    let mut removals: Vec<_> = entries
        .into_iter()
        .filter(|(key, _)| !wanted_elsewhere(key))
        .map(|(key, entry)| {
            let removal = removal_of(&key, &entry, view, rules);
            (Stage::of(&key.group, &key.kind), key, removal)
        })
        .map(|(stage, key, removal)| (key, stage, removal))
        .collect();
    removals.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0)));
    removals
}

/// What is done to an object that Git no longer wants, by what is known of it now. Only what the inventory and the object
/// itself both claim is deleted.
pub fn removal_of(key: &ObjectKey, entry: &Entry, view: &dyn View, rules: &Rules) -> Removal {
    let Some(live) = view.live(key) else {
        // An object that was written down but never seen may still have been created by whoever was killed.
        return match entry.state {
            EntryState::Planned => Removal::Settle,
            EntryState::Applied | EntryState::Deleting => Removal::Forget,
        };
    };
    removal_of_live(key, entry, &live, rules)
}

/// What is done to an object that Git no longer wants and that is there.
pub fn removal_of_live(key: &ObjectKey, entry: &Entry, live: &Live, rules: &Rules) -> Removal {
    // Made anew by us before a crash, or brought back from a backup, it is another object and ours all the same.
    let other_object = entry.uid.as_ref().is_some_and(|uid| *uid != live.uid) && live.owned.is_none();
    if other_object || !is_ours(live, Some(entry), rules) {
        return Removal::Forget;
    }
    // Git's word counts although somebody took it off the object.
    if entry.kept.is_some() && entry.kept == live.content {
        return Removal::Release;
    }
    leave(key, live, rules)
}

/// What is done to an object that is ours and left Git, by what it says of itself.
pub fn leave(key: &ObjectKey, live: &Live, rules: &Rules) -> Removal {
    match live.prune {
        Prune::Default if rules.prune && !is_protected(&key.group, &key.kind) => Removal::Delete,
        Prune::Always => Removal::Delete,
        Prune::Default | Prune::Never => Removal::Release,
    }
}
