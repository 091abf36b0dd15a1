//! Keeps one runtime to what Git wants of it.
//!
//! A worker per runtime holds what is wanted, what was applied and how each component is doing, and starts a task where
//! something has to be written. Waiting (for health, for another component, for a retry) is a line in the worker's books,
//! never a task or a slot.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_crds::RuntimeSpec;
use reeve_crds::runtime::policy::DriftMode;
use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use crate::apply::Applier;
use crate::clock::Clock;
use crate::cluster::Account;
use crate::desired::{Desired, DesiredComponent, DesiredObject, WantedObject};
use crate::inventory::{Entry, InventoryWriter};
use crate::live::{Live, Scope};
use crate::metrics::Metrics;
use crate::owner::{Owner, Release};
use crate::plan::{self, Rules, View};
use crate::rollup::Rollup;
use crate::target::{Target, Targets};

mod budget;
mod capabilities;
mod changes;
mod claims;
mod component;
mod components;
mod contest;
mod definitions;
mod drift;
mod jobs;
mod machine;
mod removal;
mod run;
#[cfg(test)]
mod simulation;
mod status;
mod status_writer;
#[cfg(test)]
mod tests;
mod watched;
mod worker;

pub use status_writer::{SeenStatus, SeenStatuses, StatusWriter, component_name};
pub use worker::{DesiredState, End, FINALIZER, Handle, Message, Role, Setup, UserOverrides};

use budget::Budget;
use changes::Changes;
use contest::Contests;
use machine::Observed;
use watched::Watched;

/// What all tasks of a runtime share. Made anew when the runtime's policy changes.
#[derive(Clone, Debug)]
struct Context {
    runtime: Arc<str>,
    /// The same with its namespace, as its objects name it.
    owner: Owner,
    spec: Arc<RuntimeSpec>,
    targets: Targets,
    inventory: InventoryWriter,
    clock: Clock,
    budget: Budget,
    control_plane: Arc<ControlPlaneRules>,
    contests: Contests,
    metrics: Metrics,
    wanted: Wanted,
    watched: Watched,
    /// Whether the other runtimes of its source know what Git wants of them.
    rollup: Rollup,
}

/// Every object that any component of the runtime has in Git: one that moves to another component stays. Clones are the
/// same.
#[derive(Clone, Debug, Default)]
struct Wanted(Arc<Mutex<HashMap<ObjectKey, WantedObject>>>);

impl Wanted {
    /// Replaces them, and gives those that are not wanted any more.
    fn set(&self, desired: &Desired) -> Vec<ObjectKey> {
        let now = desired.wants();
        let mut wanted = self.0.lock();
        let dropped = wanted.keys().filter(|key| !now.contains_key(*key)).cloned().collect();
        *wanted = now;
        dropped
    }

    fn get(&self, key: &ObjectKey) -> Option<WantedObject> {
        self.0.lock().get(key).cloned()
    }

    fn has(&self, key: &ObjectKey) -> bool {
        self.0.lock().contains_key(key)
    }
}

/// What components may do that have the control plane as their target.
#[derive(Clone, Debug)]
pub struct ControlPlaneRules {
    /// As whom they are applied.
    pub account: Account,
    /// Which kinds they may have, as `group/Kind`; the core group is empty.
    pub kinds: Vec<String>,
}

impl Context {
    fn account(&self, component: &DesiredComponent) -> Account {
        self.account_of(component.target, component.service_account.as_ref())
    }

    fn account_of(&self, target: ComponentTarget, named: Option<&Arc<str>>) -> Account {
        match target {
            ComponentTarget::ControlPlane => self.control_plane.account.clone(),
            ComponentTarget::Runtime => {
                let account = &self.spec.target.service_account;
                Account::Service {
                    namespace: account.namespace.as_str().into(),
                    name: named.map_or_else(|| account.name.as_str().into(), Arc::clone),
                }
            }
        }
    }

    fn applier(&self, target: ComponentTarget, account: Account, release: Option<Release>) -> Applier {
        let Target { cluster, watch_cache } = self.targets.of(target).clone();
        Applier {
            cluster,
            watch_cache,
            account,
            release,
            adoption: self.spec.adoption,
            recreate: self.spec.recreate,
            owner: self.owner.clone(),
            clock: self.clock.clone(),
        }
    }

    /// Where an object is watched: a tenant's account may not look beyond its namespaces.
    fn scope(&self, account: &Account, target: ComponentTarget, key: &ObjectKey) -> Scope {
        let tenant = target == ComponentTarget::Runtime && !self.spec.target.namespaces.is_empty();
        Scope { account: account.clone(), namespace: key.namespace.clone().filter(|_| tenant) }
    }

    /// What changes of the runtime's objects: of those that it has, and of those that Git wants whatever they say.
    fn subscribe(&self) -> Changes {
        Changes::of(&self.targets, &self.owner, &self.wanted)
    }

    /// The cluster that an object is in: the one that it was applied to, or is wanted in.
    fn target_of(&self, key: &ObjectKey) -> &Target {
        let applied = self.inventory.read(|inventory| inventory.get(key).map(|entry| entry.target));
        let wanted = || self.wanted.get(key).map(|wanted| wanted.target);
        self.targets.of(applied.or_else(wanted).unwrap_or_default())
    }

    fn rules(&self) -> Rules {
        Rules { owner: self.owner.clone(), drift: self.spec.drift.mode, prune: self.spec.prune }
    }

    fn drift_mode(&self, object: &DesiredObject) -> DriftMode {
        object.options.drift.unwrap_or(self.spec.drift.mode)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl View for Context {
    fn entry(&self, key: &ObjectKey) -> Option<Entry> {
        self.inventory.read(|inventory| inventory.get(key).cloned())
    }

    fn live(&self, key: &ObjectKey) -> Option<Live> {
        self.target_of(key).watch_cache.get(key)
    }
}

impl Observed for Context {
    fn entries(&self) -> Vec<(ObjectKey, Arc<str>)> {
        let of = |(key, entry): (&ObjectKey, &Entry)| (key.clone(), entry.component.clone());
        self.inventory.read(|inventory| inventory.iter().map(of).collect())
    }

    fn entry_count(&self) -> usize {
        self.inventory.read(|inventory| inventory.iter().count())
    }

    fn is_offered(&self, key: &ObjectKey) -> bool {
        let watch_cache = &self.target_of(key).watch_cache;
        let owner = watch_cache.get(key).and_then(|live| live.owner);
        owner.is_some_and(|owner| watch_cache.is_offered(&owner, key))
    }

    fn entries_of(&self, component: &str) -> Vec<(ObjectKey, Entry)> {
        self.inventory.entries_of(component)
    }
}

impl Context {
    fn plan(&self, desired: &DesiredComponent) -> plan::ComponentPlan {
        self.plan_as(desired, self)
    }
}
