//! Whether another runtime really has what bears its labels. One that is gone, or that let go of an object, left them on it:
//! what belongs to nobody may be had by whoever wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Api;
use reeve_crds::Runtime;
use reeve_renderer::object::ObjectKey;

use super::Context;
use crate::desired::DesiredComponent;
use crate::ledger::{Entry, Keeper};
use crate::live::Live;
use crate::owner::Owner;
use crate::plan::{self, ComponentPlan, View};

/// The cluster as it would be if these objects bore nobody's labels.
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
            if let Some(owner) = self.hub.get(key).and_then(|live| live.owner) {
                claimed.entry(owner).or_default().push(key);
            }
        }
        let mut keys = BTreeSet::new();
        for (owner, of_owner) in claimed {
            let kept = self.kept_by(&owner, &of_owner).await;
            keys.extend(of_owner.into_iter().filter(|key| !kept.contains(*key)).cloned());
        }
        if keys.is_empty() {
            return plan;
        }
        self.plan_as(desired, &Freed { ctx: self, keys })
    }

    /// Which of these objects a runtime has in its books; all, if these cannot be read.
    async fn kept_by(&self, owner: &Owner, keys: &[&ObjectKey]) -> BTreeSet<ObjectKey> {
        let all = || keys.iter().map(|key| (*key).clone()).collect();
        let Ok(own) = self.cluster.own() else { return all() };
        let runtimes: Api<Runtime> = Api::namespaced(own.clone(), owner.namespace());
        match runtimes.get_metadata_opt(owner.runtime()).await {
            Ok(None) => return BTreeSet::new(),
            Ok(Some(_)) => {}
            Err(_) => return all(),
        }
        match Keeper::load(&own, owner.namespace(), Arc::from(owner.runtime())).await {
            Ok(books) => books
                .read(|ledger| keys.iter().filter(|key| ledger.get(key).is_some()).map(|key| (*key).clone()).collect()),
            Err(_) => all(),
        }
    }

    pub(super) fn plan_as(&self, desired: &DesiredComponent, view: &dyn View) -> ComponentPlan {
        let entries = self.keeper.entries_of(&desired.name);
        plan::component(desired, entries, view, &self.rules(), &|key| self.wanted.has(key))
    }
}
