//! Writes the statuses of a runtime and of its components: what matters at once, what is only under way a little later,
//! and nothing that the cluster has already.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DeleteParams;
use kube::{Api, Client};
use parking_lot::{Mutex, MutexGuard};
use reeve_crds::Reason;
use reeve_crds::runtime_component::{RuntimeComponent, RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{GROUP, Runtime, RuntimeStatus, VERSION};
use tokio::sync::Notify;

use crate::api_error::ApiError;
use crate::clock::{Clock, after};
use crate::event::{self, EventDraft};

mod component;
mod last_written;
mod seen;
mod urgency;

pub use component::component_name;
use last_written::LastWritten;
pub use seen::{SeenStatus, SeenStatuses};
pub(super) use urgency::Urgency;

const WRITES_AT_ONCE: usize = 2;
const EVENTS_AT_MOST: usize = 256;

/// Where statuses and events go. Clones are the same.
#[derive(Clone)]
pub struct StatusWriter(Arc<Inner>);

struct Inner {
    client: Client,
    namespace: Arc<str>,
    runtime: Arc<str>,
    owner: OwnerReference,
    clock: Clock,
    queue: Mutex<Queue>,
    wake: Notify,
    idle: Notify,
    seen: SeenStatuses,
    /// Rings when somebody else wrote a status that was ours.
    overwritten: Notify,
}

#[derive(Default)]
struct Queue {
    pending: BTreeMap<Subject, (Content, Timestamp)>,
    written: BTreeMap<Subject, LastWritten>,
    events: VecDeque<(Subject, EventDraft)>,
    /// Components whose objects are to be made before their statuses are due: people look for them, and suspend them.
    to_create: BTreeSet<Arc<str>>,
    writing: usize,
    /// What could not be written: how often in a row, and why.
    refused: BTreeMap<Subject, (u32, Reason)>,
    /// When something was last written about the runtime.
    told: Timestamp,
    /// Whose statuses somebody else wrote, and nothing waits to be written there.
    overwritten: BTreeSet<Option<Arc<str>>>,
}

/// Whom a status is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Runtime,
    Component(Arc<str>),
}

#[derive(Clone)]
enum Content {
    Runtime(Box<RuntimeStatus>),
    Component(Box<(RuntimeComponentSpec, RuntimeComponentStatus)>),
    Gone,
}

impl std::fmt::Debug for StatusWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StatusWriter").field(&self.0.runtime).finish()
    }
}

impl StatusWriter {
    /// For the runtime with this object, whose status is as it says. `seen` is what a watch sees of its statuses.
    pub fn new(client: Client, runtime: &Runtime, clock: Clock, seen: SeenStatuses) -> Self {
        let name: Arc<str> = runtime.metadata.name.as_deref().unwrap_or_default().into();
        let owner = OwnerReference {
            api_version: format!("{GROUP}/{VERSION}"),
            kind: "Runtime".to_owned(),
            name: name.to_string(),
            uid: runtime.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        };
        let mut queue = Queue::default();
        let written = LastWritten::found(&runtime.metadata, &runtime.status);
        queue.written.insert(Subject::Runtime, written);
        Self(Arc::new(Inner {
            client,
            namespace: runtime.metadata.namespace.as_deref().unwrap_or_default().into(),
            runtime: name,
            owner,
            clock,
            queue: Mutex::new(queue),
            wake: Notify::new(),
            idle: Notify::new(),
            seen,
            overwritten: Notify::new(),
        }))
    }

    /// The Runtime, for what goes with it.
    pub fn owner(&self) -> OwnerReference {
        self.0.owner.clone()
    }

    /// A component as the cluster has it. False if it does not go with the Runtime and has to be written again.
    pub(super) fn found(&self, name: &Arc<str>, object: &RuntimeComponent) -> bool {
        let metadata = &object.metadata;
        let is_owned = metadata.owner_references.iter().flatten().any(|owner| owner.uid == self.0.owner.uid);
        let written = LastWritten::found(metadata, &object.status);
        let written = if is_owned { written.with_spec(&object.spec) } else { written };
        self.lock().written.insert(Subject::Component(name.clone()), written);
        is_owned
    }

    /// The generation that a component's object has, whoever wrote it: people suspend components. A spec that by its hash
    /// is not as it was written is written again.
    pub(super) fn observe(&self, name: &Arc<str>, generation: Option<i64>, spec: &str) {
        if let Some(written) = self.lock().written.get_mut(&Subject::Component(name.clone())) {
            written.observe(generation, spec);
        }
    }

    /// The object of a component is gone. True if it was not we who took it away.
    pub(super) fn lost(&self, name: &Arc<str>, uid: &str) -> bool {
        let subject = Subject::Component(name.clone());
        let mut queue = self.lock();
        let is_it = queue.written.get(&subject).is_some_and(|written| written.uid.as_deref() == Some(uid));
        if is_it {
            queue.written.remove(&subject);
        }
        is_it
    }

    pub(super) fn runtime(&self, status: RuntimeStatus, urgency: Urgency) {
        self.queue(Subject::Runtime, Content::Runtime(Box::new(status)), urgency);
    }

    pub(super) fn component(&self, spec: RuntimeComponentSpec, status: RuntimeComponentStatus, urgency: Urgency) {
        let name: Arc<str> = spec.component.as_str().into();
        if urgency == Urgency::Begun {
            self.lock().to_create.insert(name.clone());
        }
        self.queue(Subject::Component(name), Content::Component(Box::new((spec, status))), urgency);
    }

    pub(super) fn gone(&self, component: &Arc<str>) {
        self.queue(Subject::Component(component.clone()), Content::Gone, Urgency::Now);
    }

    /// Tells an event about the runtime or one of its components. If nobody can take them the oldest are dropped.
    pub(super) fn event(&self, component: Option<&Arc<str>>, warning: bool, reason: Reason, note: &str) {
        let subject = component.map_or(Subject::Runtime, |name| Subject::Component(name.clone()));
        let event = EventDraft { warning, reason, note: note.to_owned(), at: self.0.clock.now() };
        let mut queue = self.lock();
        if queue.events.len() >= EVENTS_AT_MOST {
            queue.events.pop_front();
        }
        queue.events.push_back((subject, event));
        drop(queue);
        self.0.wake.notify_one();
    }

    fn queue(&self, subject: Subject, content: Content, urgency: Urgency) {
        let now = self.0.clock.now();
        let mut queue = self.lock();
        let waits = queue.pending.get(&subject).map(|(_, due)| *due);
        let due = match &subject {
            Subject::Runtime => urgency::of_runtime(urgency, queue.told, now),
            Subject::Component(_) => urgency::of_component(urgency, queue.pending.len(), now),
        };
        // News must not push what waits further back.
        let due = waits.map_or(due, |waits| waits.min(due));
        queue.pending.insert(subject, (content, due));
        drop(queue);
        self.0.wake.notify_one();
    }

    /// Writes, until it is dropped.
    pub(super) async fn run(&self) {
        loop {
            let next = self.lock().pending.values().map(|(_, due)| *due).min();
            let pause = async {
                match next {
                    Some(due) => self.0.clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.0.wake.notified() => {}
                () = self.0.seen.changed() => self.compare_seen(),
                () = pause => {}
            }
            Box::pin(self.write_due(false)).await;
        }
    }

    /// Writes everything now.
    pub(super) async fn flush(&self) {
        Box::pin(self.write_due(true)).await;
        loop {
            let idle = self.0.idle.notified();
            if self.lock().writing == 0 {
                return;
            }
            idle.await;
        }
    }

    async fn write_due(&self, all: bool) {
        let now = self.0.clock.now();
        let due: Vec<(Subject, Content)> = {
            let mut queue = self.lock();
            let due = queue.pending.extract_if(.., |_, (_, due)| all || *due <= now);
            let due: Vec<_> = due.map(|(subject, (content, _))| (subject, content)).collect();
            queue.writing += due.len();
            due
        };
        stream::iter(due)
            .for_each_concurrent(WRITES_AT_ONCE, |(subject, content)| async move {
                let result = self.write(&subject, &content).await;
                self.ended(&subject, content, result);
                self.0.idle.notify_waiters();
            })
            .await;
        self.create_objects().await;
        let events: Vec<(Subject, EventDraft)> = self.lock().events.drain(..).collect();
        for (subject, event) in events {
            event::publish(self.0.client.clone(), self.reference(&subject), &event).await;
        }
    }

    /// A write ended. What was refused is tried again, whatever the reason: somebody may put it right.
    fn ended(&self, subject: &Subject, content: Content, result: Result<(), ApiError>) {
        let mut queue = self.lock();
        queue.writing -= 1;
        let Err(api_error) = result else {
            queue.refused.remove(subject);
            return;
        };
        let reason = api_error.reason;
        // What one policy does to a thousand components is told once.
        let is_told = queue.refused.values().any(|(_, told)| *told == reason);
        let failures = queue.refused.get(subject).map_or(1, |(failures, _)| failures.saturating_add(1));
        queue.refused.insert(subject.clone(), (failures, reason));
        let due = after(self.0.clock.now(), api_error.retry_after.unwrap_or_else(|| urgency::retry(failures)));
        queue.pending.entry(subject.clone()).or_insert((content, due));
        if api_error.transient || is_told {
            tracing::debug!(%reason, "cannot write a status: {}", api_error.message);
            return;
        }
        drop(queue);
        let about = self.reference(subject);
        let (kind, name) = (about.kind.unwrap_or_default(), about.name.unwrap_or_default());
        let note =
            format!("what is told of {kind} {name} is out of date, since it cannot be written: {}", api_error.message);
        tracing::warn!(%reason, "{note}");
        self.event(None, true, reason, &note);
    }

    /// Makes the objects of components that are under way and have none.
    async fn create_objects(&self) {
        let to_create: Vec<RuntimeComponentSpec> = {
            let mut queue = self.lock();
            let to_create = std::mem::take(&mut queue.to_create).into_iter().map(Subject::Component);
            let waiting = to_create.filter_map(|subject| queue.pending.get(&subject));
            let spec = |(content, _): &(Content, Timestamp)| match content {
                Content::Component(content) => Some(content.0.clone()),
                Content::Runtime(_) | Content::Gone => None,
            };
            waiting.filter_map(spec).collect()
        };
        stream::iter(to_create)
            .for_each_concurrent(WRITES_AT_ONCE, |spec| async move {
                let subject = Subject::Component(spec.component.as_str().into());
                let mut written = self.lock().written.get(&subject).cloned().unwrap_or_default();
                // Why it failed is told when its status fails as well.
                let _ = self.ensure_object(&spec, &mut written).await;
            })
            .await;
    }

    fn reference(&self, subject: &Subject) -> ObjectReference {
        let (kind, name) = match subject {
            Subject::Runtime => ("Runtime", self.0.runtime.to_string()),
            Subject::Component(name) => ("RuntimeComponent", component_name(&self.0.runtime, name)),
        };
        ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some(kind.to_owned()),
            name: Some(name),
            namespace: Some(self.0.namespace.to_string()),
            uid: self.lock().written.get(subject).and_then(|written| written.uid.clone()),
            ..ObjectReference::default()
        }
    }

    async fn write(&self, subject: &Subject, content: &Content) -> Result<(), ApiError> {
        let mut written = self.lock().written.get(subject).cloned().unwrap_or_default();
        let before = written.uid.clone();
        let result = match content {
            Content::Runtime(status) => {
                let api: Api<Runtime> = Api::namespaced(self.0.client.clone(), &self.0.namespace);
                let said = written.patch_status(&api, &self.0.runtime, status).await;
                self.lock().told = self.0.clock.now();
                said
            }
            Content::Component(content) => self.write_component(&content.0, &content.1, &mut written).await,
            Content::Gone => {
                let Subject::Component(name) = subject else { return Ok(()) };
                let deleted =
                    self.components().delete(&component_name(&self.0.runtime, name), &DeleteParams::default()).await;
                match deleted {
                    Ok(_) => {}
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    Err(error) => return Err(ApiError::of(&error)),
                }
                self.lock().written.remove(subject);
                return Ok(());
            }
        };
        let mut queue = self.lock();
        if before.is_some() && before == written.uid && !queue.written.contains_key(subject) {
            // Somebody deleted it meanwhile; whoever hears of that has it made anew.
            return result;
        }
        // What was learnt of the same object meanwhile counts.
        let learnt = queue.written.get(subject).filter(|learnt| learnt.uid == written.uid);
        let learnt = learnt.and_then(|learnt| learnt.generation);
        written.generation = written.generation.max(learnt);
        queue.written.insert(subject.clone(), written);
        result
    }

    async fn write_component(
        &self,
        spec: &RuntimeComponentSpec,
        status: &RuntimeComponentStatus,
        written: &mut LastWritten,
    ) -> Result<(), ApiError> {
        let kept = self.ensure_object(spec, written).await;
        if written.uid.is_none() {
            return kept;
        }
        let mut status = status.clone();
        status.observed_generation = written.generation;
        for condition in &mut status.conditions {
            condition.observed_generation = written.generation;
        }
        // How it is doing is told also where the spec is refused, such as that of a component with another target.
        let said =
            written.patch_status(&self.components(), &component_name(&self.0.runtime, &spec.component), &status).await;
        kept.and(said)
    }

    /// Has the cluster have the object of a component, with this spec.
    async fn ensure_object(&self, spec: &RuntimeComponentSpec, written: &mut LastWritten) -> Result<(), ApiError> {
        let name = component_name(&self.0.runtime, &spec.component);
        let object = component::object(&self.0.runtime, &self.0.owner, spec);
        if written.ensure_object(&self.components(), &name, &object, component::change).await? {
            self.lock().written.insert(Subject::Component(spec.component.as_str().into()), written.clone());
        }
        Ok(())
    }

    fn components(&self) -> Api<RuntimeComponent> {
        Api::namespaced(self.0.client.clone(), &self.0.namespace)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock()
    }
}

#[cfg(test)]
mod tests;
