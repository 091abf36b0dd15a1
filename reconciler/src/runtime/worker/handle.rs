//! The way to a worker, and what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_crds::runtime_component::RuntimeComponentSpec;
use reeve_crds::{Runtime, RuntimeComponent, annotation};
use tokio::sync::watch;

use super::{End, Rollup, Setup, Worker};
use crate::desired::Desired;
use crate::hash;
use crate::runtime::{Trouble, as_json};

/// What a worker is told. The latest counts.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The Runtime as the cluster has it.
    pub object: Option<Arc<Runtime>>,
    /// What Git wants; nothing is done as long as nobody knows.
    pub desired: Option<Assignment>,
    /// The components as people changed them.
    pub components: BTreeMap<Arc<str>, Wish>,
    /// The uids of components' objects that went.
    pub lost: BTreeMap<Arc<str>, String>,
    /// The uids of inventory pages that went, by the names of their objects.
    pub lost_pages: BTreeMap<Arc<str>, String>,
    /// Whether the source is suspended, and with it everything that comes from it.
    pub source_suspended: bool,
}

/// What Git wants of a runtime.
pub type Assignment = Arc<Desired>;

/// What people ask of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// To leave it alone.
    pub suspend: bool,
    /// To look at it now.
    pub request: Option<String>,
    /// In which generation of the object.
    pub generation: Option<i64>,
    /// Hash of the rest of its spec, which does not belong to people.
    pub spec: String,
}

impl Wish {
    /// What an object says.
    pub fn of(object: &RuntimeComponent) -> Self {
        let annotations = object.metadata.annotations.as_ref();
        let ours = RuntimeComponentSpec { suspend: None, ..object.spec.clone() };
        Self {
            spec: hash::of(&as_json(&ours)),
            suspend: object.spec.suspend == Some(true),
            request: annotations.and_then(|all| all.get(annotation::RECONCILE)).cloned(),
            generation: object.metadata.generation,
        }
    }
}

/// The way to a worker.
#[derive(Clone, Debug)]
pub struct Handle(Arc<watch::Sender<Message>>);

impl Handle {
    /// A handle, and what a worker listens to.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Message::default())))
    }

    /// Tells the worker something.
    pub fn tell(&self, change: impl FnOnce(&mut Message)) {
        self.0.send_modify(change);
    }

    /// Tells the worker something, if that is news.
    pub fn tell_if(&self, change: impl FnOnce(&mut Message) -> bool) {
        self.0.send_if_modified(change);
    }

    /// Works until the runtime is gone, the inventory belongs to someone else, or the work is stopped.
    pub async fn work(&self, setup: Setup, rollup: Rollup) -> Result<End, Trouble> {
        let mut messages = self.0.subscribe();
        messages.mark_changed();
        let object = loop {
            if let Some(object) = messages.borrow_and_update().object.clone() {
                break object;
            }
            if messages.changed().await.is_err() {
                return Ok(End::Stopped);
            }
        };
        messages.mark_changed();
        Worker::load(setup, rollup, &object).await?.run(messages).await
    }
}

impl Default for Handle {
    fn default() -> Self {
        Self::new()
    }
}
