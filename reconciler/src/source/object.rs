//! The Runtime that a file of the repository stands for.

use std::sync::Arc;

use reeve_crds::{GROUP, Runtime, RuntimeSpec, VERSION};
use reeve_reconciler_engine::patch::to_json;
use reeve_reconciler_engine::payload;
use reeve_reconciler_engine::runtime::FINALIZER;
use reeve_renderer::resolve::Resolved;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// The object of a runtime as it is applied. Kept as text, since a fleet has thousands, and a tree of values takes ten
/// times as much.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Manifest(Arc<str>);

impl Manifest {
    pub(super) fn new(object: &Value) -> Self {
        Self(object.to_string().into())
    }

    pub(super) fn read(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// The object of a runtime: everything but what belongs to people.
pub(super) fn runtime(resolved: &Resolved, source: &str) -> Value {
    let file = &resolved.runtime;
    let mut spec = match Value::from(&resolved.policy.to_value()) {
        Value::Object(policy) => policy,
        _ => Map::new(),
    };
    let mut target = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            target.insert(key.to_owned(), value);
        }
    };
    put("type", file.target.kind.as_deref().map(Value::from));
    put(
        "kubeConfigSecretRef",
        file.target.kube_config_secret.as_ref().map(|(name, key)| pair(name, "key", key.as_deref())),
    );
    put(
        "serviceAccount",
        file.target.service_account.as_ref().map(|(name, ns)| pair(name, "namespace", ns.as_deref())),
    );
    put("namespace", Some(Value::from(&*resolved.namespace)));
    let namespaces = &file.target.namespaces;
    put("namespaces", (!namespaces.is_empty()).then(|| namespaces.iter().map(|name| &**name).collect()));
    let capabilities = json!({
        "kubernetesVersion": file.capabilities.kubernetes_version.as_deref(),
        "apiVersions": file.capabilities.api_versions.iter().map(|version| &**version).collect::<Vec<_>>(),
    });
    spec.insert("sourceRef".to_owned(), json!({ "name": source }));
    spec.insert("file".to_owned(), Value::from(&*file.file));
    spec.insert("target".to_owned(), Value::Object(target));
    spec.insert("channel".to_owned(), resolved.channel.as_deref().map_or(Value::Null, Value::from));
    spec.insert("wave".to_owned(), resolved.wave.as_deref().map_or(Value::Null, Value::from));
    spec.insert("capabilities".to_owned(), capabilities);
    let labels: Map<String, Value> =
        file.labels.iter().map(|(key, value)| (key.to_string(), Value::from(&**value))).collect();
    let mut object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "Runtime",
        // An empty map would be written anew each time.
        "metadata": { "name": &*file.name, "labels": (!labels.is_empty()).then_some(labels), "finalizers": [FINALIZER] },
        "spec": spec,
    });
    without_nulls(&mut object);
    // Tells that a field left Git, which the fields that are there cannot.
    payload::with_content(&object)
}

/// By which rules a runtime is kept to Git, with all that its file leaves to defaults.
pub fn spec(resolved: &Resolved) -> Result<RuntimeSpec, serde_json::Error> {
    Runtime::deserialize(runtime(resolved, &resolved.runtime.name)).map(|runtime| runtime.spec)
}

fn pair(name: &str, key: &str, value: Option<&str>) -> Value {
    json!({ "name": name, key: value })
}

/// An absent field and a null mean the same here, but not to the API server.
fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}

/// Whether a Runtime is as its file says, so that applying it would change nothing.
pub(super) fn is_as(live: &Runtime, wanted: &Value) -> bool {
    // Read as the kind, since the same duration can be written in many ways.
    let Ok(typed) = Runtime::deserialize(wanted) else { return false };
    has_all(&to_json(&live.metadata), &wanted["metadata"]) && has_all(&to_json(&live.spec), &to_json(&typed.spec))
}

fn has_all(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| live.get(key).is_some_and(|live| has_all(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| has_all(live, wanted))
        }
        _ => live == wanted,
    }
}
