//! One kind under test: an object of it that fills every field, and the cases of its rules.

use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client, CustomResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::case::Case;
use super::{
    dapr_workload, git_source, inventory, node_hook, node_hook_status, runtime, runtime_component, scaling_rule,
};

/// One kind under test.
pub(super) struct Subject {
    pub(super) resource: ApiResource,
    pub(super) short_name: &'static str,
    pub(super) namespaced: bool,
    /// As little as a spec may say.
    pub(super) least: Value,
    /// Fills every field of the spec.
    pub(super) spec: Value,
    /// Fills every field of the status; null for kinds without one.
    pub(super) status: Value,
    pub(super) cases: Vec<Case>,
    /// Reads an object into its type and writes it again.
    pub(super) round_trip: fn(Value) -> serde_json::Result<Value>,
}

impl Subject {
    pub(super) fn new<K: CustomResourceExt + DeserializeOwned + Serialize>(
        namespaced: bool,
        least: Value,
        spec: Value,
        status: Value,
        cases: Vec<Case>,
    ) -> Self {
        let round_trip = |object| serde_json::to_value(serde_json::from_value::<K>(object)?);
        let short_name = K::shortnames()[0];
        Self { resource: K::api_resource(), short_name, namespaced, least, spec, status, cases, round_trip }
    }

    /// A whole object with this spec and no status.
    pub(super) fn object(&self, name: &str, spec: &Value) -> Value {
        let (version, kind) = (&self.resource.api_version, &self.resource.kind);
        json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": spec })
    }

    pub(super) fn api(&self, client: Client, ns: &str) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client, ns, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }
}

/// Every kind.
pub(super) fn all() -> Vec<Subject> {
    vec![
        git_source::subject(),
        runtime::subject(),
        runtime_component::subject(),
        inventory::subject(),
        scaling_rule::subject(),
        node_hook::subject(),
        node_hook_status::subject(),
        dapr_workload::subject(),
    ]
}

/// Conditions as every status has them.
pub(super) fn conditions() -> Value {
    json!([{
        "type": "Ready",
        "status": "True",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-16T12:00:00Z",
        "reason": "Succeeded",
        "message": "all is well"
    }])
}
