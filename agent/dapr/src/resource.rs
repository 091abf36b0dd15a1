//! A Dapr resource, read from an object as the API server or a chart has it.
//!
//! Owns what of an object counts for a sidecar. What does not count (labels, most annotations) is not kept.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::kind::Kind;

/// Annotation of a Component with the container of a pluggable component.
const CONTAINER: &str = "dapr.io/component-container";
/// The secret store that Dapr uses where a resource names none.
const KUBERNETES: &str = "kubernetes";

/// An object that is no Dapr resource although it says so.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{object}: {field} {problem}; {advice}")]
pub struct ReadError {
    /// Kind, namespace and name, as far as they are known.
    pub object: String,
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub problem: &'static str,
    /// What to write instead.
    pub advice: &'static str,
}

/// What names a resource within a cluster.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ResourceId {
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for ResourceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// A key of a Kubernetes Secret in the namespace of a resource.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct SecretKey {
    /// Name of the Secret.
    pub name: String,
    /// The key.
    pub key: String,
}

/// What sort of component a resource is, where rules tell them apart.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Class {
    /// No rule of its own.
    #[default]
    Plain,
    /// A state store that names `actorStateStore`.
    ActorStateStore,
    /// A workflow backend.
    WorkflowBackend,
    /// A secret store.
    SecretStore,
}

/// A Dapr resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// What names it.
    pub id: ResourceId,
    /// Its spec. A Subscription is always in the shape of v2alpha1.
    pub spec: Map<String, Value>,
    /// `auth.secretStore`; `None` where it is Kubernetes.
    pub secret_store: Option<String>,
    /// App-ids that may see it; empty means every app of the namespace.
    pub scopes: BTreeSet<String>,
    /// The container of a pluggable component.
    pub container: Option<String>,
    /// What the annotation `reeve.dev/secret-revision` says, by which a person tells of a change in another secret store.
    pub secret_revision: Option<String>,
}

impl Resource {
    /// Reads an object; `None` if it is of another group or kind.
    pub fn read(object: &Value) -> Result<Option<Self>, ReadError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(kind) = Kind::find(&text("/apiVersion"), &text("/kind")) else { return Ok(None) };
        let id = ResourceId { namespace: text("/metadata/namespace"), kind, name: text("/metadata/name") };
        let refuse = |field: &str, problem, advice| {
            Err(ReadError { object: id.to_string(), field: field.to_owned(), problem, advice })
        };
        if id.name.is_empty() {
            return refuse("metadata.name", "is missing", "give the resource a name");
        }
        let mut spec = match object.get("spec") {
            Some(Value::Object(spec)) => spec.clone(),
            None if kind == Kind::Configuration => Map::new(),
            Some(_) | None => return refuse("spec", "is no map", "write the resource's settings below spec"),
        };
        if kind == Kind::Subscription {
            upgrade_subscription(&mut spec);
        }
        let scopes = match object.get("scopes") {
            None | Some(Value::Null) => BTreeSet::new(),
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return refuse("scopes", "is no list of app-ids", "write a list such as [order-processor]"),
        };
        let store = text("/auth/secretStore");
        if store.is_empty() && object.pointer("/auth/secretstore").is_some() {
            return refuse("auth.secretstore", "is not known to Dapr", "write auth.secretStore");
        }
        let annotation =
            |name: &str| object.get("metadata")?.get("annotations")?.get(name)?.as_str().map(str::to_owned);
        Ok(Some(Self {
            spec,
            secret_store: Some(store).filter(|store| !store.is_empty() && store != KUBERNETES),
            scopes,
            container: annotation(CONTAINER).filter(|_| kind == Kind::Component),
            secret_revision: annotation(reeve_crds::annotation::SECRET_REVISION),
            id,
        }))
    }

    /// Whether an app of the namespace may see it.
    pub fn is_visible_to(&self, app: &str) -> bool {
        self.scopes.is_empty() || self.scopes.contains(app)
    }

    /// The type of a Component, such as `state.redis`.
    pub fn component_type(&self) -> Option<&str> {
        self.spec.get("type").and_then(Value::as_str).filter(|_| self.id.kind == Kind::Component)
    }

    /// Whether it is a Component whose type begins with this category.
    pub fn is_of_category(&self, category: &str) -> bool {
        self.component_type().and_then(|name| name.split('.').next()) == Some(category)
    }

    /// What sort of component it is.
    pub fn class(&self) -> Class {
        if self.is_of_category("state") && self.find_metadata("actorStateStore").is_some() {
            // Whatever its value: daprd looks for the name alone before it refuses to reload.
            Class::ActorStateStore
        } else if self.is_of_category("workflowbackend") {
            Class::WorkflowBackend
        } else if self.is_of_category("secretstores") {
            Class::SecretStore
        } else {
            Class::Plain
        }
    }

    /// An entry of `spec.metadata` by its name, in whichever case; the last one where several have it, as in Dapr.
    pub fn find_metadata(&self, name: &str) -> Option<&Value> {
        let is_named = |entry: &&Value| {
            entry.get("name").and_then(Value::as_str).is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        self.spec.get("metadata")?.as_array()?.iter().rev().find(is_named)
    }

    /// The keys of Kubernetes Secrets that the resource is resolved with. None where it names another secret store.
    pub fn secret_keys(&self) -> BTreeSet<SecretKey> {
        let mut keys = BTreeSet::new();
        if self.secret_store.is_none() {
            for value in self.spec.values() {
                collect_secret_keys(value, &mut keys);
            }
        }
        keys
    }

    /// Whether secrets of another store than Kubernetes are part of it.
    pub fn reads_foreign_secrets(&self) -> bool {
        let mut keys = BTreeSet::new();
        self.spec.values().for_each(|value| collect_secret_keys(value, &mut keys));
        self.secret_store.is_some() && !keys.is_empty()
    }

    /// What a Configuration says of a feature.
    pub fn feature(&self, name: &str) -> Option<bool> {
        let features = self.spec.get("features")?.as_array()?;
        let feature =
            features.iter().rev().find(|feature| feature.get("name").and_then(Value::as_str) == Some(name))?;
        feature.get("enabled")?.as_bool()
    }
}

/// Makes a spec of v1alpha1 one of v2alpha1, where the one route is the default.
fn upgrade_subscription(spec: &mut Map<String, Value>) {
    if let Some(route) = spec.remove("route") {
        spec.entry("routes").or_insert_with(|| serde_json::json!({ "default": route }));
    }
}

fn collect_secret_keys(value: &Value, keys: &mut BTreeSet<SecretKey>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_secret_keys(value, keys)),
        Value::Object(map) => {
            for (field, value) in map {
                match value.get("name").and_then(Value::as_str) {
                    Some(name) if field == "secretKeyRef" => {
                        let key = value.get("key").and_then(Value::as_str).filter(|key| !key.is_empty());
                        keys.insert(SecretKey { name: name.to_owned(), key: key.unwrap_or(name).to_owned() });
                    }
                    Some(_) | None => collect_secret_keys(value, keys),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
