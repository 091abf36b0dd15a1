//! What is below what, from the objects as they are. Pure.

use std::collections::BTreeSet;

use reeve_crds::inventory::EntryState;
use reeve_crds::runtime_component::UnhealthyObject;
use reeve_crds::{GitSource, Inventory, InventoryEntry, Lenient, Runtime, RuntimeComponent, State, condition};
use serde::Serialize;

use super::super::governed::{Governed, standing};

/// All that was found.
pub(super) struct Forest {
    pub(super) sources: Vec<GitSource>,
    pub(super) runtimes: Vec<Runtime>,
    pub(super) components: Vec<RuntimeComponent>,
    pub(super) inventories: Vec<Inventory>,
}

/// One thing and what is below it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Node {
    /// What it is called.
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<State>,
    /// What else to know: a revision, a version, how many are ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<String>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trouble: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) children: Vec<Node>,
}

impl Forest {
    /// Sources, then what belongs to none.
    pub(super) fn roots(&self) -> Vec<Node> {
        let mut roots: Vec<Node> = self.sources.iter().map(|source| self.source(source)).collect();
        let adopted = |runtime: &&Runtime| self.sources.iter().any(|source| comes_from(runtime, source));
        roots.extend(self.runtimes.iter().filter(|runtime| !adopted(runtime)).map(|runtime| self.runtime(runtime)));
        let has_runtime = |component: &&RuntimeComponent| {
            self.runtimes.iter().any(|runtime| is_of(component, runtime.metadata.namespace.as_ref(), name(runtime)))
        };
        let lost = self.components.iter().filter(|component| !has_runtime(component));
        roots.extend(lost.map(|component| {
            let mut node = self.component(component);
            node.trouble.get_or_insert_with(|| format!("its runtime `{}` is not there", component.spec.runtime));
            node
        }));
        roots
    }

    pub(super) fn source(&self, source: &GitSource) -> Node {
        let mut node = governed(source, format!("source/{}", name(source)));
        node.details.extend(source.revision().map(str::to_owned));
        node.details.push(reeve_process::secret::scrub(&source.spec.url).into_owned());
        let runtimes = self.runtimes.iter().filter(|runtime| comes_from(runtime, source));
        node.children = runtimes.map(|runtime| self.runtime(runtime)).collect();
        node
    }

    pub(super) fn runtime(&self, runtime: &Runtime) -> Node {
        let mut node = governed(runtime, format!("runtime/{}", name(runtime)));
        node.details.extend(runtime.revision().map(str::to_owned));
        let namespace = runtime.metadata.namespace.as_ref();
        let components: Vec<_> =
            self.components.iter().filter(|component| is_of(component, namespace, name(runtime))).collect();
        node.children = components.iter().map(|component| self.component(component)).collect();
        // Objects of components that are gone, or that are too new to have a RuntimeComponent.
        let known: BTreeSet<&str> = components.iter().map(|component| &*component.spec.component).collect();
        let entries: Vec<_> = self.entries(namespace, name(runtime)).collect();
        let all: BTreeSet<&str> = entries.iter().map(|entry| &*entry.component).collect();
        node.children.extend(all.difference(&known).map(|component| {
            let own: Vec<_> = entries.iter().copied().filter(|entry| entry.component == *component).collect();
            let trouble =
                if has_left(runtime, component, &own) { "it left the repository" } else { "no RuntimeComponent yet" };
            Node {
                name: format!("component/{component}"),
                trouble: Some(trouble.to_owned()),
                children: own.into_iter().map(|entry| object(entry, &[], false)).collect(),
                ..Node::default()
            }
        }));
        node
    }

    fn component(&self, component: &RuntimeComponent) -> Node {
        let spec = &component.spec;
        let mut node = governed(component, format!("component/{}", name(component)));
        node.details.push(format!("{} {}", spec.chart, spec.version));
        node.details.extend(component.ready().map(|ready| format!("{ready} healthy")));
        let status = component.status.as_ref();
        let unhealthy = status.map_or(&[][..], |status| &status.unhealthy);
        if let (None, Some(waits)) = (&node.trouble, status.map(|status| &status.waits_for).filter(|w| !w.is_empty())) {
            node.trouble = Some(format!("waits for {}", waits.join(", ")));
        }
        let entries = self.entries(component.metadata.namespace.as_ref(), &spec.runtime);
        let own = entries.filter(|entry| entry.component == spec.component);
        let applied = is_applied(component);
        node.children = own.map(|entry| object(entry, unhealthy, applied)).collect();
        // What is missing is in no inventory yet.
        let listed: Vec<String> = node.children.iter().map(|child| child.name.clone()).collect();
        let rest = unhealthy.iter().filter(|sick| !listed.contains(&sick_name(sick)));
        node.children.extend(rest.map(|sick| Node {
            name: sick_name(sick),
            trouble: Some(ailment(sick)),
            ..Node::default()
        }));
        node
    }

    fn entries<'a>(
        &'a self,
        namespace: Option<&'a String>,
        runtime: &'a str,
    ) -> impl Iterator<Item = &'a InventoryEntry> {
        let pages = self.inventories.iter();
        let own =
            pages.filter(move |page| page.metadata.namespace.as_ref() == namespace && page.spec.runtime == runtime);
        own.flat_map(|page| &page.spec.entries)
    }
}

fn name<K: kube::Resource>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}

fn comes_from(runtime: &Runtime, source: &GitSource) -> bool {
    let reference = runtime.spec.source_ref.as_ref();
    runtime.metadata.namespace == source.metadata.namespace
        && reference.is_some_and(|reference| Some(&reference.name) == source.metadata.name.as_ref())
}

fn is_of(component: &RuntimeComponent, namespace: Option<&String>, runtime: &str) -> bool {
    component.metadata.namespace.as_ref() == namespace && component.spec.runtime == runtime
}

/// Whether a component without a `RuntimeComponent` is no longer wanted. What is planned is wanted: its `RuntimeComponent`
/// and the status of its runtime are written a moment later.
fn has_left(runtime: &Runtime, component: &str, entries: &[&InventoryEntry]) -> bool {
    let has = |state| entries.iter().any(|entry| entry.state == Lenient::Known(state));
    let status = runtime.status.as_ref().filter(|status| status.desired.is_some());
    let is_listed = status.is_none_or(|status| {
        let mut listed = status.components.iter();
        listed.any(|summary| summary.name == component && summary.state != State::Deleting)
    });
    has(EntryState::Deleting) || !is_listed && !has(EntryState::Planned)
}

fn governed<K: Governed>(object: &K, name: String) -> Node {
    let state = standing(object);
    let trouble = object.message().filter(|_| state != State::Ready).map(str::to_owned);
    Node { name, state: Some(state), trouble, ..Node::default() }
}

/// Whether everything that Git wants of a component is there. The inventory says so seconds later.
fn is_applied(component: &RuntimeComponent) -> bool {
    component.status.as_ref().is_some_and(|status| {
        let applied = status.conditions.iter().find(|condition| condition.type_ == condition::types::APPLIED);
        applied.is_some_and(|applied| applied.status == "True")
            && status.observed_generation >= component.metadata.generation
    })
}

fn object(entry: &InventoryEntry, unhealthy: &[UnhealthyObject], applied: bool) -> Node {
    let name = object_name(&entry.group, &entry.kind, &entry.namespace, &entry.name);
    let sick = unhealthy.iter().find(|sick| {
        let object = &sick.object;
        (&object.group, &object.kind, &object.namespace, &object.name)
            == (&entry.group, &entry.kind, &entry.namespace, &entry.name)
    });
    let details = match &entry.state {
        Lenient::Known(EntryState::Applied) => Vec::new(),
        Lenient::Known(EntryState::Planned) if applied => Vec::new(),
        Lenient::Known(EntryState::Planned) => vec!["planned".to_owned()],
        Lenient::Known(EntryState::Deleting) => vec!["deleting".to_owned()],
        Lenient::Other(word) => vec![word.clone()],
    };
    Node { name, details, trouble: sick.map(ailment), ..Node::default() }
}

fn sick_name(sick: &UnhealthyObject) -> String {
    let object = &sick.object;
    object_name(&object.group, &object.kind, &object.namespace, &object.name)
}

/// As `Deployment.apps shop/web`.
pub(super) fn object_name(group: &str, kind: &str, namespace: &str, name: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{kind}{dot}{group} {namespace}{slash}{name}")
}

fn ailment(sick: &UnhealthyObject) -> String {
    let health = match &sick.health {
        Lenient::Known(health) => format!("{health:?}"),
        Lenient::Other(word) => word.clone(),
    };
    match &sick.message {
        Some(message) => format!("{health}, {message}"),
        None => health,
    }
}
