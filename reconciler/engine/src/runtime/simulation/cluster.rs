//! A model of what an API server does with the objects of runtimes: uids, versions, owners, finalizers, health.

use std::collections::{BTreeMap, BTreeSet};

use reeve_renderer_objects::key::ObjectKey;

use crate::desired::DesiredObject;
use crate::health::{Health, HealthState};
use crate::live::Live;
use crate::owner::Owner;

/// All objects, and what happened to them.
#[derive(Debug, Default)]
pub(super) struct ModelCluster {
    pub(super) objects: BTreeMap<ObjectKey, Live>,
    versions: u64,
    uids: u64,
    /// Writes that changed something.
    pub(super) writes: usize,
    /// Objects that changed since a watch last told of them.
    pub(super) changed: BTreeSet<ObjectKey>,
    /// The uids of objects that stayed when their Runtime went, as its policy said.
    pub(super) orphans: BTreeSet<Box<str>>,
    /// Objects that a finalizer keeps when they are deleted.
    pub(super) finalized: BTreeSet<ObjectKey>,
}

/// Another runtime has the object.
#[derive(Debug)]
pub(super) struct Claimed(pub(super) Owner);

impl ModelCluster {
    /// Server-side apply: creates the object or changes it, unless a runtime has it for which `is_kept` holds.
    pub(super) fn apply(
        &mut self,
        owner: &Owner,
        component: &str,
        object: &DesiredObject,
        is_kept: impl Fn(&Owner) -> bool,
    ) -> Result<Live, Claimed> {
        let before = self.objects.get(&object.key).cloned();
        if let Some(other) = before.as_ref().and_then(|live| live.owner.clone())
            && other != *owner
            && is_kept(&other)
        {
            return Err(Claimed(other));
        }
        let is_new = before.is_none();
        let mut live = before.clone().unwrap_or_else(|| self.create(object));
        self.orphans.remove(&live.uid);
        live.owner = Some(owner.clone());
        live.component = Some(component.into());
        live.content = Some(object.content.clone());
        live.owned = Some(object.content.clone());
        live.prune = object.options.prune;
        if is_new || before != Some(live.clone()) {
            self.writes += 1;
            live = self.put(&object.key, live);
        }
        Ok(live)
    }

    fn create(&mut self, object: &DesiredObject) -> Live {
        self.uids += 1;
        let starts = &*object.key.kind == "Deployment";
        Live {
            uid: self.uids.to_string().into(),
            resource_version: 0,
            content: None,
            owner: None,
            owned: None,
            legacy: false,
            leftovers: false,
            component: None,
            deleting: None,
            prune: object.options.prune,
            health: starts.then(|| health(HealthState::InProgress)),
        }
    }

    fn put(&mut self, key: &ObjectKey, mut live: Live) -> Live {
        self.versions += 1;
        live.resource_version = self.versions;
        self.objects.insert(key.clone(), live.clone());
        self.changed.insert(key.clone());
        live
    }

    /// Changes an object as a person or a controller does.
    pub(super) fn edit(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Live)) {
        if let Some(mut live) = self.objects.get(key).cloned() {
            change(&mut live);
            self.put(key, live);
        }
    }

    /// Deletes an object of this uid. False if a finalizer keeps it for now.
    pub(super) fn delete(&mut self, key: &ObjectKey, uid: Option<&str>) -> bool {
        let Some(live) = self.objects.get(key) else { return true };
        if uid.is_some_and(|uid| *live.uid != *uid) {
            return true;
        }
        self.writes += 1;
        if self.finalized.contains(key) {
            self.edit(key, |live| live.deleting = Some("a finalizer".into()));
            return false;
        }
        self.remove(key);
        true
    }

    /// The object is gone.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.changed.insert(key.clone());
    }
}

pub(super) fn health(state: HealthState) -> Health {
    Health { state, message: String::new(), fails_at: None }
}
