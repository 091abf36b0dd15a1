//! What would be done to a whole runtime: the plans of all its components, found out without doing anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_crds::Lenient;
use reeve_crds::inventory::EntryState;
use reeve_crds::outcome::Outcome;
use reeve_crds::runtime::policy::DeletionPolicy;
use reeve_crds::runtime_component::{JobPhase, JobRun};
use reeve_renderer_objects::hook::Phase;
use reeve_renderer_objects::key::ObjectKey;
use serde_json::Value;

use crate::desired::{Desired, DesiredComponent, DesiredObject, Revision};
use crate::fields;
use crate::fields::managed_fields;
use crate::inventory::{Change, Entry, Inventory};
use crate::live::Live;
use crate::owner::Owner;
use crate::payload::{self, Apply, Prune};
use crate::plan::{self, ComponentPlan, Removal, Rules, View};

/// The plans of a runtime's components, in the order in which they would be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Components that Git wants.
    pub components: Vec<(Arc<str>, ComponentPlan)>,
    /// Components that it no longer wants.
    pub removed: Vec<(Arc<str>, ComponentPlan)>,
}

impl Preview {
    /// Whether nothing would change in the cluster.
    pub fn is_empty(&self) -> bool {
        self.components.iter().chain(&self.removed).all(|(_, plan)| plan.is_empty())
    }
}

/// What would be done to make a runtime what Git wants, given its inventory and what is there.
pub fn preview(
    desired: &Desired,
    inventory: &Inventory,
    live: &dyn Fn(&ObjectKey) -> Option<Live>,
    rules: &Rules,
) -> Preview {
    let mut entries: BTreeMap<Arc<str>, Vec<(ObjectKey, Entry)>> = BTreeMap::new();
    for (key, entry) in inventory.iter() {
        entries.entry(entry.component.clone()).or_default().push((key.clone(), entry.clone()));
    }
    let view = Looking { inventory, live };
    let owners = desired.owners();
    let components = desired.components.iter().map(|component| {
        let own = entries.remove(&component.name).unwrap_or_default();
        let elsewhere = |key: &ObjectKey| owners.get(key).is_some_and(|owner| *owner != component.name);
        (component.name.clone(), plan::component(component, own, &view, rules, &elsewhere))
    });
    let components = components.collect();
    let removed = entries
        .into_iter()
        .map(|(name, own)| (name, plan::removal(own, &view, rules, &|key| owners.contains_key(key))));
    Preview { components, removed: removed.collect() }
}

/// What would be done to the objects of a runtime whose file left Git.
pub fn ending(
    inventory: &Inventory,
    live: &dyn Fn(&ObjectKey) -> Option<Live>,
    rules: &Rules,
    policy: DeletionPolicy,
) -> Preview {
    let nothing = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
    let mut preview = preview(&nothing, inventory, live, rules);
    if policy == DeletionPolicy::Orphan {
        for (_, _, removal) in preview.removed.iter_mut().flat_map(|(_, plan)| &mut plan.removals) {
            *removal = match removal {
                Removal::Delete | Removal::Settle | Removal::Release => Removal::Release,
                Removal::Forget => Removal::Forget,
            };
        }
    }
    preview
}

/// The Jobs of a component that would run, given the digest at which it was last good, the Jobs that ran, and whether Helm
/// installed it before.
pub fn jobs(
    component: &DesiredComponent,
    good: Option<&str>,
    runs: &[JobRun],
    is_installed: bool,
) -> Vec<(ObjectKey, JobPhase)> {
    let occasions = match good {
        None => [Phase::PreInstall, Phase::PostInstall],
        Some(good) if *good == *component.digest => return Vec::new(),
        Some(_) => [Phase::PreUpgrade, Phase::PostUpgrade],
    };
    let ran = |name: &str, phase| {
        runs.iter().any(|run| {
            run.name == name
                && run.phase.known() == Some(&phase)
                && run.digest.as_deref() == Some(&*component.digest)
                && run.outcome.as_ref().and_then(Lenient::known) == Some(&Outcome::Succeeded)
        })
    };
    let phases = occasions.into_iter().zip([JobPhase::Before, JobPhase::After]);
    let due = |(occasion, phase): (Phase, JobPhase)| {
        let jobs = component.jobs.iter().filter(move |job| job.runs_on(occasion, is_installed));
        jobs.filter(move |job| !ran(&job.object.key.name, phase)).map(move |job| (job.object.key.clone(), phase))
    };
    phases.flat_map(due).collect()
}

/// Whether somebody changed what we own of an object, beyond what is left to others.
pub fn is_drifted(object: &DesiredObject, live: &Value, owner: &Owner) -> bool {
    let manager = owner.manager();
    let wanted = payload::without(&object.value(), Some(live), &object.ignored, &manager);
    !fields::drifted(&wanted, &managed_fields(live), &manager).is_empty()
}

struct Looking<'a> {
    inventory: &'a Inventory,
    live: &'a dyn Fn(&ObjectKey) -> Option<Live>,
}

impl View for Looking<'_> {
    fn entry(&self, key: &ObjectKey) -> Option<Entry> {
        self.inventory.get(key).cloned()
    }

    fn live(&self, key: &ObjectKey) -> Option<Live> {
        (self.live)(key)
    }
}

/// The inventory and the objects of a cluster that is exactly as Git wants: what a plan between two revisions starts from.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its inventory.
    pub inventory: Inventory,
    objects: BTreeMap<ObjectKey, Live>,
}

impl Model {
    /// A runtime to which this was applied; nothing was, if there is none.
    pub fn of(runtime: &Arc<str>, owner: &Owner, desired: Option<&Desired>) -> Self {
        let mut model = Self { inventory: Inventory::load(runtime.clone(), []), objects: BTreeMap::new() };
        for component in desired.into_iter().flat_map(|desired| &desired.components) {
            for object in component.objects.iter().filter(|object| object.options.apply != Apply::Never) {
                let entry = Entry {
                    component: component.name.clone(),
                    target: component.target,
                    version: object.api_version.rsplit('/').next().unwrap_or_default().into(),
                    uid: Some("".into()),
                    state: EntryState::Applied,
                    owned: Some("".into()),
                    kept: None,
                };
                model.inventory.change(Change::Put(object.key.clone(), entry));
                let live = Live {
                    uid: "".into(),
                    resource_version: 0,
                    content: Some(object.content.clone()),
                    owner: Some(owner.clone()),
                    owned: Some("".into()),
                    legacy: false,
                    leftovers: false,
                    component: Some((&*component.name).into()),
                    deleting: None,
                    prune: if object.keep { Prune::Never } else { object.options.prune },
                    health: None,
                };
                model.objects.insert(object.key.clone(), live);
            }
        }
        model
    }

    /// An object of it.
    pub fn live(&self, key: &ObjectKey) -> Option<Live> {
        self.objects.get(key).cloned()
    }
}
