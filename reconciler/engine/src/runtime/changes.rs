//! What changes of a runtime's objects, in each of its clusters.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::select_all;
use reeve_renderer_objects::key::ObjectKey;

use super::Wanted;
use crate::live::ChangedKeys;
use crate::owner::Owner;
use crate::target::Targets;

/// What changed of a runtime's objects. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Changes(Vec<ChangedKeys>);

impl Changes {
    /// Of those that it has, and of those that Git wants whatever they say.
    pub(super) fn of(targets: &Targets, owner: &Owner, wanted: &Wanted) -> Self {
        let subscribe = |(target, of): (&crate::target::Target, &'static [_])| {
            let wanted = wanted.clone();
            let interest = move |key: &ObjectKey| {
                wanted.get(key).filter(|wanted| of.contains(&wanted.target)).map(|wanted| wanted.want)
            };
            target.watch_cache.subscribe(owner.clone(), Some(Arc::new(interest)))
        };
        Self(targets.each().map(subscribe).collect())
    }

    /// Resolves when something changed that was not taken.
    pub(super) async fn changed(&self) {
        select_all(self.0.iter().map(|keys| Box::pin(keys.changed()))).await;
    }

    /// What changed since it was taken last.
    pub(super) fn take_changed(&self) -> BTreeSet<ObjectKey> {
        self.0.iter().flat_map(ChangedKeys::take_changed).collect()
    }
}
