//! The watches that a runtime has need of: they end when no runtime has.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use reeve_crds::runtime_component::ComponentTarget;

use super::Context;
use crate::cluster::Kind;
use crate::live::{Scope, WatchFailure, WatchHold};

/// What is watched for a runtime. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched(Arc<Mutex<HashMap<Need, WatchHold>>>);

/// Group and kind, which are watched in some version.
type GroupKind = (Arc<str>, Arc<str>);
type Need = (ComponentTarget, Scope, GroupKind);

impl Context {
    /// Watches a kind for as long as the runtime has need of it, and resolves when all that exists was seen. One version of
    /// a kind shows the objects of all.
    pub(super) async fn watch(&self, target: ComponentTarget, scope: Scope, kind: &Kind) -> Result<(), WatchFailure> {
        let hold = self.targets.of(target).watch_cache.watch(&scope, kind).await?;
        let group_kind = (kind.resource.group.as_str().into(), kind.resource.kind.as_str().into());
        self.watched.0.lock().insert((target, scope, group_kind), hold);
        Ok(())
    }

    /// Gives up what is watched for nothing: neither for an object that Git wants, as it is applied now, nor for one that
    /// left Git and is there still.
    pub(super) fn release_watches(&self) {
        let wanted = self.wanted.0.lock();
        let of_wanted = wanted.iter().map(|(key, wanted)| {
            let account = self.account_of(wanted.target, wanted.account.as_ref());
            (wanted.target, self.scope(&account, wanted.target, key), (key.group.clone(), key.kind.clone()))
        });
        let of_wanted: HashSet<_> = of_wanted.collect();
        let of_left: HashSet<(ComponentTarget, GroupKind)> = self.inventory.read(|inventory| {
            let left = inventory.iter().filter(|(key, _)| !wanted.contains_key(key));
            left.map(|(key, entry)| (entry.target, (key.group.clone(), key.kind.clone()))).collect()
        });
        self.watched
            .0
            .lock()
            .retain(|watched, _| of_wanted.contains(watched) || of_left.contains(&(watched.0, watched.2.clone())));
    }
}
