//! Writes the statuses of a runtime and of its components: what matters at once, what is only under way a little later,
//! and nothing that the cluster has already.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DeleteParams;
use kube::{Api, Client};
use reeve_crds::runtime_component::{RuntimeComponent, RuntimeComponentSpec, RuntimeComponentStatus};
use reeve_crds::{GROUP, Runtime, RuntimeStatus, VERSION};
use reeve_renderer::bundle::{COMPONENT_LABEL, RUNTIME_LABEL};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::clock::{Clock, after};
use crate::event::{self, Happening};
use crate::refusal::Refusal;

mod pace;
mod written;

pub(super) use pace::Haste;
use written::Written;
pub(crate) use written::{as_json, put_status, unflipped};

const RETRY: Duration = Duration::from_secs(5);
const WRITES_AT_ONCE: usize = 2;
const EVENTS_AT_MOST: usize = 256;

/// Where statuses and events go. Clones are the same.
#[derive(Clone)]
pub struct Outlet(Arc<Inner>);

struct Inner {
    client: Client,
    namespace: Arc<str>,
    runtime: Arc<str>,
    owner: OwnerReference,
    clock: Clock,
    queue: Mutex<Queue>,
    wake: Notify,
    idle: Notify,
}

#[derive(Default)]
struct Queue {
    pending: BTreeMap<Subject, (Content, Timestamp)>,
    written: BTreeMap<Subject, Written>,
    events: VecDeque<(Subject, Happening)>,
    writing: usize,
    /// When something was last written about the runtime.
    told: Timestamp,
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

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Outlet").field(&self.0.runtime).finish()
    }
}

impl Outlet {
    /// For the runtime with this object, whose status is as it says.
    pub fn new(client: Client, runtime: &Runtime, clock: Clock) -> Self {
        let name: Arc<str> = runtime.metadata.name.as_deref().unwrap_or_default().into();
        let owner = OwnerReference {
            api_version: format!("{GROUP}/{VERSION}"),
            kind: "Runtime".to_owned(),
            name: name.to_string(),
            uid: runtime.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        };
        let mut queue = Queue::default();
        let written = Written::found(runtime.metadata.uid.clone(), None, &runtime.status);
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
        }))
    }

    /// The Runtime, for what goes with it.
    pub fn owner(&self) -> OwnerReference {
        self.0.owner.clone()
    }

    /// A component as the cluster has it.
    pub(super) fn found(&self, name: &Arc<str>, object: &RuntimeComponent) {
        let metadata = &object.metadata;
        let written = Written::found(metadata.uid.clone(), metadata.generation, &object.status).with_spec(&object.spec);
        self.lock().written.insert(Subject::Component(name.clone()), written);
    }

    /// The generation that a component's object has, whoever wrote it: people suspend components.
    pub(super) fn observe(&self, name: &Arc<str>, generation: Option<i64>) {
        if let Some(written) = self.lock().written.get_mut(&Subject::Component(name.clone())) {
            written.generation = written.generation.max(generation);
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

    pub(super) fn runtime(&self, status: RuntimeStatus, haste: Haste) {
        self.queue(Subject::Runtime, Content::Runtime(Box::new(status)), haste);
    }

    pub(super) fn component(&self, spec: RuntimeComponentSpec, status: RuntimeComponentStatus, haste: Haste) {
        let subject = Subject::Component(spec.component.as_str().into());
        self.queue(subject, Content::Component(Box::new((spec, status))), haste);
    }

    pub(super) fn gone(&self, component: &Arc<str>) {
        self.queue(Subject::Component(component.clone()), Content::Gone, Haste::Now);
    }

    /// Tells an event about the runtime or one of its components. If nobody can take them the oldest are dropped.
    pub(super) fn event(&self, component: Option<&Arc<str>>, warning: bool, reason: &str, note: &str) {
        let subject = component.map_or(Subject::Runtime, |name| Subject::Component(name.clone()));
        let event = Happening { warning, reason: reason.to_owned(), note: note.to_owned(), at: self.0.clock.now() };
        let mut queue = self.lock();
        if queue.events.len() >= EVENTS_AT_MOST {
            queue.events.pop_front();
        }
        queue.events.push_back((subject, event));
        drop(queue);
        self.0.wake.notify_one();
    }

    fn queue(&self, subject: Subject, content: Content, haste: Haste) {
        let now = self.0.clock.now();
        let mut queue = self.lock();
        let waits = queue.pending.get(&subject).map(|(_, due)| *due);
        let due = match &subject {
            Subject::Runtime => pace::of_runtime(haste, queue.told, now),
            Subject::Component(_) => pace::of_component(haste, queue.pending.len(), now),
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
                () = pause => {}
            }
            self.write_due(false).await;
        }
    }

    /// Writes everything now.
    pub(super) async fn flush(&self) {
        self.write_due(true).await;
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
                let mut queue = self.lock();
                queue.writing -= 1;
                if let Err(refusal) = result {
                    tracing::debug!(runtime = %self.0.runtime, reason = refusal.reason.as_str(), "cannot write a status: {}", refusal.message);
                    // A status that the server will never take is dropped; the next one is another.
                    if refusal.transient {
                        let due = after(self.0.clock.now(), refusal.retry_after.unwrap_or(RETRY));
                        queue.pending.entry(subject).or_insert((content, due));
                    }
                }
                drop(queue);
                self.0.idle.notify_waiters();
            })
            .await;
        let events: Vec<(Subject, Happening)> = self.lock().events.drain(..).collect();
        for (subject, event) in events {
            event::publish(self.0.client.clone(), self.reference(&subject), &event).await;
        }
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

    async fn write(&self, subject: &Subject, content: &Content) -> Result<(), Refusal> {
        let mut written = self.lock().written.get(subject).cloned().unwrap_or_default();
        let result = match content {
            Content::Runtime(status) => {
                let api: Api<Runtime> = Api::namespaced(self.0.client.clone(), &self.0.namespace);
                let said = written.say(&api, &self.0.runtime, status).await;
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
                    Err(error) => return Err(Refusal::of(&error)),
                }
                self.lock().written.remove(subject);
                return Ok(());
            }
        };
        let mut queue = self.lock();
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
        written: &mut Written,
    ) -> Result<(), Refusal> {
        let (name, api) = (component_name(&self.0.runtime, &spec.component), self.components());
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "RuntimeComponent",
            "metadata": {
                "name": name,
                "labels": { RUNTIME_LABEL: *self.0.runtime, COMPONENT_LABEL: spec.component },
                "ownerReferences": [self.0.owner],
            },
            "spec": spec,
        });
        if written.keep(&api, &name, &object, change).await? {
            self.lock().written.insert(Subject::Component(spec.component.as_str().into()), written.clone());
        }
        let mut status = status.clone();
        status.observed_generation = written.generation;
        for condition in &mut status.conditions {
            condition.observed_generation = written.generation;
        }
        written.say(&api, &name, &status).await
    }

    fn components(&self) -> Api<RuntimeComponent> {
        Api::namespaced(self.0.client.clone(), &self.0.namespace)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a spec may be without. `suspend` is not among it: it belongs to people.
const OPTIONAL: [&str; 6] = ["channel", "dependsOn", "namespace", "origin", "serviceAccountName", "timeout"];

/// What makes the object of a component this one: what its spec is without goes.
fn change(object: &Value) -> Value {
    let mut change = object.clone();
    if let Some(spec) = change["spec"].as_object_mut() {
        for field in OPTIONAL {
            spec.entry(field).or_insert(Value::Null);
        }
    }
    change
}

/// The name of a component's object. A component's name has no dot, so no two share one.
pub fn component_name(runtime: &str, component: &str) -> String {
    format!("{runtime}.{component}")
}

#[cfg(test)]
mod tests {
    use reeve_crds::runtime_component::ComponentTarget;

    use super::*;

    #[test]
    fn a_change_takes_away_whatever_a_spec_is_without_but_what_belongs_to_people() {
        let full = RuntimeComponentSpec {
            runtime: "eu".to_owned(),
            component: "web".to_owned(),
            target: ComponentTarget::Runtime,
            chart: "web".to_owned(),
            version: "1.0.0".to_owned(),
            channel: Some("stable".to_owned()),
            namespace: Some("shop".to_owned()),
            origin: Some("runtimes/eu.yaml:3".to_owned()),
            depends_on: vec!["db".to_owned()],
            service_account_name: Some("web".to_owned()),
            timeout: Some(Duration::from_secs(1).into()),
            suspend: Some(true),
        };
        let bare = json!({ "spec": { "runtime": "eu", "component": "web", "target": "Runtime", "chart": "web", "version": "1.0.0" } });
        let changed = change(&bare);
        let gone = |field: &str| changed["spec"].get(field) == Some(&Value::Null);
        for (field, _) in as_json(&full).as_object().unwrap() {
            let is_theirs = field == "suspend";
            assert_eq!(gone(field), bare["spec"].get(field).is_none() && !is_theirs, "{field}");
        }
        let whole = json!({ "spec": as_json(&full) });
        assert_eq!(change(&whole), whole, "what is there stays");
    }
}
