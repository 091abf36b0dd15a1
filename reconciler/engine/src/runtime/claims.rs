//! Whether another runtime really has what bears its marks. One that is gone, or that let go of an object, left them on
//! it: what is in nobody's inventory may be had by whoever wants it. Only the cluster that the object is in is asked.

use std::collections::{BTreeMap, BTreeSet};

use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use super::Context;
use crate::desired::DesiredComponent;
use crate::inventory::{Entry, pages_of};
use crate::live::Live;
use crate::owner::Owner;
use crate::plan::{self, ComponentPlan, View};
use crate::target::Target;

/// The cluster as it would be if these objects bore nobody's marks.
struct Freed<'a> {
    ctx: &'a Context,
    keys: BTreeSet<ObjectKey>,
}

impl View for Freed<'_> {
    fn entry(&self, key: &ObjectKey) -> Option<Entry> {
        self.ctx.entry(key)
    }

    fn live(&self, key: &ObjectKey) -> Option<Live> {
        let live = self.ctx.live(key)?;
        Some(if self.keys.contains(key) { Live { owner: None, ..live } } else { live })
    }
}

impl Context {
    /// The plan for a component, in which nothing is another's that the other does not have.
    pub(super) async fn plan_with_claims(&self, desired: &DesiredComponent) -> ComponentPlan {
        let plan = self.plan(desired);
        let mut claimed: BTreeMap<Owner, Vec<&ObjectKey>> = BTreeMap::new();
        for (key, _) in &plan.claimed {
            if let Some(owner) = self.live(key).and_then(|live| live.owner) {
                claimed.entry(owner).or_default().push(key);
            }
        }
        let mut keys = BTreeSet::new();
        for (owner, of_owner) in claimed {
            let kept = self.kept_by(&owner, desired.target, &of_owner).await;
            keys.extend(of_owner.into_iter().filter(|key| !kept.contains(*key)).cloned());
        }
        if keys.is_empty() {
            return plan;
        }
        self.plan_as(desired, &Freed { ctx: self, keys })
    }

    /// Whether a runtime has an object in its inventory; yes, if that cannot be read.
    pub(super) async fn is_kept_by(&self, owner: &Owner, target: ComponentTarget, key: &ObjectKey) -> bool {
        !self.kept_by(owner, target, &[key]).await.is_empty()
    }

    /// Which of these objects a runtime has in its inventory and does not let others have; all, if its inventory cannot
    /// be read.
    async fn kept_by(&self, owner: &Owner, target: ComponentTarget, keys: &[&ObjectKey]) -> BTreeSet<ObjectKey> {
        let Target { cluster, watch_cache } = self.targets.of(target);
        let keys: Vec<&ObjectKey> = keys.iter().copied().filter(|key| !watch_cache.is_offered(owner, key)).collect();
        if keys.is_empty() {
            return BTreeSet::new();
        }
        let all = || keys.iter().map(|key| (*key).clone()).collect();
        // Of one whose name is hashed nobody else can tell where its inventory is.
        if owner.namespace().is_empty() {
            return all();
        }
        // Its Runtime may be in another cluster.
        match pages_of(cluster, owner).await {
            Ok(inventory) => keys.iter().filter(|key| inventory.get(key).is_some()).map(|key| (*key).clone()).collect(),
            Err(_) => all(),
        }
    }

    pub(super) fn plan_as(&self, desired: &DesiredComponent, view: &dyn View) -> ComponentPlan {
        let entries = self.inventory.entries_of(&desired.name);
        plan::component(desired, entries, view, &self.rules(), &|key| self.wanted.has(key))
    }
}
