//! Sources come and go.

use std::sync::Arc;

use kube::runtime::watcher::{self, Event};
use reeve_crds::GitSource;
use reeve_reconciler_engine::runtime::SeenStatuses;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, info_span};

use super::{Controller, Id, id_of};
use crate::source::{Runtimes as _, Source};

/// A source that is followed.
pub(super) struct FollowedSource {
    pub(super) objects: watch::Sender<Arc<GitSource>>,
    statuses: SeenStatuses,
    worker: AbortHandle,
}

impl Controller {
    pub(super) fn on_source_event(
        &mut self,
        event: watcher::Result<Event<GitSource>>,
        listed: bool,
        early: &mut Vec<GitSource>,
        seen: &mut Vec<Id>,
    ) {
        let object = match event {
            Ok(Event::Apply(object)) => object,
            Ok(Event::InitApply(object)) => {
                seen.push(id_of(&object));
                object
            }
            Ok(Event::Delete(object)) => {
                self.on_source_gone(&id_of(&object));
                return self.remove_stale_mirrors(early);
            }
            Ok(Event::Init) => return seen.clear(),
            Ok(Event::InitDone) => {
                let seen = std::mem::take(seen);
                let gone: Vec<Id> = self.sources.keys().filter(|id| !seen.contains(id)).cloned().collect();
                for id in &gone {
                    self.on_source_gone(id);
                }
                return self.remove_stale_mirrors(early);
            }
            Err(_) => return,
        };
        if listed {
            self.on_source(object);
        } else {
            early.push(object);
        }
    }

    pub(super) fn on_source(&mut self, object: GitSource) {
        let id = id_of(&object);
        let object = Arc::new(object);
        if let Some(FollowedSource { objects, statuses, worker }) = self.sources.get(&id)
            && !worker.is_finished()
        {
            statuses.see(None, &object.metadata, &object.status);
            // Our own status comes back as an event; it is no news.
            objects.send_if_modified(|before| {
                let is_news = before.spec != object.spec
                    || before.metadata.annotations != object.metadata.annotations
                    || before.metadata.deletion_timestamp != object.metadata.deletion_timestamp
                    || before.metadata.finalizers != object.metadata.finalizers;
                *before = object.clone();
                is_news
            });
            return;
        }
        let (tx, rx) = watch::channel(object);
        let rollup = self.rollup(&id.0, Some(&id.1));
        let span = info_span!("source", namespace = %id.0, source = %id.1);
        let setup = self.setup.clone();
        let statuses = SeenStatuses::default();
        let source = Source::new(setup, rx, rollup, statuses.clone());
        let worker = self.workers.spawn(source.run().instrument(span));
        self.sources.insert(id, FollowedSource { objects: tx, statuses, worker });
    }

    fn on_source_gone(&mut self, id: &Id) {
        if let Some(FollowedSource { worker, .. }) = self.sources.remove(id) {
            worker.abort();
        }
        // Its runtimes stay as they are and belong to nobody.
        for name in self.registry.of_source(&id.0, &id.1) {
            self.registry
                .update_message(&id.0, &name, &mut |message| !std::mem::replace(&mut message.source_suspended, true));
        }
    }
}
