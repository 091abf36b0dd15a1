//! Which runtime an object belongs to. The manager that applied it says so, which nobody changes by accident; its labels
//! say it too, for people, and for objects of which nobody wrote down who applied them. An owner is a name and the
//! namespace that the Runtime lives in, since two namespaces may have runtimes of one name.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use reeve_crds::annotation::CONTENT;
use reeve_renderer_objects::bundle::RUNTIME_LABEL;
use serde_json::Value;

use crate::fields::{LEGACY_MANAGER, Manager, is_applied_by};

mod release;
mod settlement;

pub use release::Release;
pub use settlement::{Claimant, Settlement};

/// The namespace of the Runtime that an object belongs to.
pub const NAMESPACE_LABEL: &str = "reeve.dev/runtime-namespace";

/// A runtime among those of all namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The runtime of this name in this namespace.
    pub fn new(namespace: &str, runtime: &str) -> Self {
        Self(format!("{namespace}/{runtime}").into())
    }

    /// The namespace that its Runtime lives in; empty if only a hash of it is known.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Its name there.
    pub fn runtime(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, runtime)| runtime)
    }

    /// The field manager under which it applies.
    pub fn manager(&self) -> Manager {
        Manager::of_runtime(&self.0)
    }

    /// The one that labels name, if they name one completely.
    pub fn labelled(metadata: &ObjectMeta) -> Option<Self> {
        let label = |name: &str| metadata.labels.as_ref()?.get(name);
        Some(Self::new(label(NAMESPACE_LABEL)?, label(RUNTIME_LABEL)?))
    }

    /// The one that applies under this name. A hash is known again by the labels, or names itself.
    fn applying_as(manager: &str, labelled: Option<&Self>) -> Self {
        let by_label = || labelled.filter(|owner| owner.manager().as_str() == manager).cloned();
        let by_name = Manager::runtime(manager).map(|runtime| Self(runtime.into()));
        by_name.or_else(by_label).unwrap_or_else(|| Self(manager.into()))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who has an object.
#[derive(Debug)]
pub struct Hold<'a> {
    /// The runtime.
    pub owner: Option<Owner>,
    /// What it applied; `None` if only labels name it.
    pub applied: Option<&'a ManagedFieldsEntry>,
    /// Whether fields of the manager of an earlier version are left.
    pub legacy: bool,
}

/// Who has an object: the runtime that applied its content, or, where nobody wrote that down, the one that its labels name.
pub fn hold(metadata: &ObjectMeta) -> Hold<'_> {
    let managed = metadata.managed_fields.as_deref().unwrap_or_default();
    let labelled = Owner::labelled(metadata);
    let is_runtime = |entry: &&ManagedFieldsEntry| {
        entry.manager.as_deref().is_some_and(|name| Manager::is_runtime(name) && is_applied_by(entry, name))
    };
    let legacy = managed.iter().find(|entry| is_applied_by(entry, LEGACY_MANAGER));
    let runtimes = || managed.iter().filter(is_runtime);
    match runtimes().find(|entry| has_content(entry)).or_else(|| runtimes().next()) {
        Some(entry) => {
            let name = entry.manager.as_deref().unwrap_or_default();
            let owner = Owner::applying_as(name, labelled.as_ref());
            Hold { owner: Some(owner), applied: Some(entry), legacy: legacy.is_some() }
        }
        None => Hold { owner: labelled, applied: legacy, legacy: legacy.is_some() },
    }
}

/// Whether it was this manager that said last what the object is. Two runtimes never say the same.
fn has_content(entry: &ManagedFieldsEntry) -> bool {
    let annotations = entry.fields_v1.as_ref().and_then(|fields| fields.0.pointer("/f:metadata/f:annotations"));
    annotations
        .is_some_and(|all| all.as_object().is_some_and(|all| all.keys().any(|key| key.get(2..) == Some(CONTENT))))
}

/// Has an object say in which namespace its Runtime lives.
pub fn mark(object: &mut Value, namespace: &str) {
    if let Some(Value::Object(labels)) = object.pointer_mut("/metadata/labels") {
        labels.insert(NAMESPACE_LABEL.to_owned(), namespace.into());
    }
}

#[cfg(test)]
mod tests;
