//! The way to a worker, and what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_crds::runtime_component::RuntimeComponentSpec;
use reeve_crds::{Runtime, RuntimeComponent, annotation};
use tokio::sync::watch;

use super::{End, Role, Rollup, Setup, Worker};
use crate::desired::Desired;
use crate::error::ReconcileError;
use crate::hash;
use crate::patch::to_json;
use crate::runtime::SeenStatuses;

/// What a worker is told. The latest counts.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The Runtime as the cluster has it.
    pub object: Option<Arc<Runtime>>,
    /// Where the state of the runtime is summed up with those of its source.
    pub rollup: Rollup,
    /// What Git wants of it.
    pub desired: DesiredState,
    /// The components as people changed them.
    pub components: BTreeMap<Arc<str>, UserOverrides>,
    /// The uids of components' objects that went.
    pub lost: BTreeMap<Arc<str>, String>,
    /// The uids of inventory pages that went, by the names of their objects.
    pub lost_pages: BTreeMap<Arc<str>, String>,
    /// Whether the source is suspended, and with it everything that comes from it.
    pub source_suspended: bool,
}

impl Message {
    /// Takes in a Runtime, unless a newer spec of it is known: who wrote one and who watches them tell alike.
    pub fn set_object(&mut self, object: Arc<Runtime>) {
        let is_newer = |known: &Arc<Runtime>| {
            known.metadata.uid == object.metadata.uid && known.metadata.generation > object.metadata.generation
        };
        if !self.object.as_ref().is_some_and(is_newer) {
            self.object = Some(object);
        }
    }

    /// What Git wants of a runtime whose former cluster this is, it wants of another one.
    pub(super) fn in_former(mut self, is_former: bool) -> Self {
        if is_former && matches!(self.desired, DesiredState::Present(_)) {
            self.desired = DesiredState::Elsewhere;
        }
        self
    }
}

/// What Git wants of a runtime.
#[derive(Clone, Debug, Default)]
pub enum DesiredState {
    /// Nobody knows: nothing is applied and nothing is removed.
    #[default]
    Unknown,
    /// These components.
    Present(Arc<Desired>),
    /// Something, in another cluster: what it has in this one goes as its policy says.
    Elsewhere,
    /// Nothing: its file left Git. Git may want it again before its objects are gone.
    Absent {
        /// Whether Git said last that its objects stay, whatever its Runtime says by now.
        keeps_objects: bool,
    },
}

impl DesiredState {
    /// Whether its file left Git.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }
}

/// What people ask of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserOverrides {
    /// To leave it alone.
    pub suspend: bool,
    /// To look at it now.
    pub request: Option<String>,
    /// In which generation of the object.
    pub generation: Option<i64>,
    /// Hash of the rest of its spec, which does not belong to people.
    pub spec: String,
}

impl UserOverrides {
    /// What an object says.
    pub fn of(object: &RuntimeComponent) -> Self {
        let annotations = object.metadata.annotations.as_ref();
        let ours = RuntimeComponentSpec { suspend: None, ..object.spec.clone() };
        Self {
            spec: hash::of(&to_json(&ours)),
            suspend: object.spec.suspend == Some(true),
            request: annotations.and_then(|all| all.get(annotation::RECONCILE)).cloned(),
            generation: object.metadata.generation,
        }
    }
}

/// The way to a worker.
#[derive(Clone, Debug)]
pub struct Handle {
    messages: Arc<watch::Sender<Message>>,
    statuses: SeenStatuses,
}

impl Handle {
    /// A handle, and what a worker listens to.
    pub fn new() -> Self {
        Self { messages: Arc::new(watch::Sender::new(Message::default())), statuses: SeenStatuses::default() }
    }

    /// Tells the worker something.
    pub fn send(&self, change: impl FnOnce(&mut Message)) {
        self.messages.send_modify(change);
    }

    /// The statuses of the runtime and of its components as a watch sees them, for whoever wrote them last.
    pub fn statuses(&self) -> &SeenStatuses {
        &self.statuses
    }

    /// Tells the worker something, if that is news.
    pub fn send_if(&self, change: impl FnOnce(&mut Message) -> bool) {
        self.messages.send_if_modified(change);
    }

    /// What the worker is told now.
    pub fn message(&self) -> Message {
        self.messages.borrow().clone()
    }

    /// Resolves when something is told that `is_it` waits for.
    pub async fn until(&self, is_it: impl FnMut(&Message) -> bool) {
        // The sender is ours, so this cannot fail.
        let _ = self.messages.subscribe().wait_for(is_it).await;
    }

    /// Works until the runtime is gone or left its former cluster, is for another role or source, its inventory belongs to
    /// someone else, or the work is stopped.
    pub async fn work(&self, setup: Setup) -> Result<End, ReconcileError> {
        let mut messages = self.messages.subscribe();
        let message = messages.borrow_and_update().clone();
        let (Some(role), Some(object)) = (Role::of(&message), message.object) else { return Ok(End::Moved) };
        messages.mark_changed();
        // Boxed, since a task keeps the memory of whatever it may ever wait for, and there are thousands.
        let worker = Box::pin(Worker::load(setup, message.rollup, role, &object, self.statuses.clone())).await?;
        worker.run(messages).await
    }
}

impl Default for Handle {
    fn default() -> Self {
        Self::new()
    }
}
