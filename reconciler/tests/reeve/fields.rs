//! Who owns which field on a real API server, and what it says when it refuses.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client};
use reeve_reconciler_engine::fields::{Manager, is_applied_by, owned_hash};
use reeve_tests::Cluster;
use serde_json::{Value, json};

mod conflicts;
mod connections;
mod drift;
mod health;
mod payload;
mod refusals;
mod takeover;

/// The field manager of a runtime.
const MANAGER: &str = "reeve:fleet/eu";

fn manager() -> Manager {
    Manager::of_runtime("fleet/eu")
}

/// Hash of what the runtime applied.
fn owned(managed: &[ManagedFieldsEntry]) -> Option<String> {
    managed.iter().find(|entry| is_applied_by(entry, MANAGER)).and_then(owned_hash)
}

/// A namespace of the shared cluster, to write objects of any kind into.
struct Place {
    cluster: &'static Cluster,
    client: Client,
    namespace: String,
}

impl Place {
    async fn new(prefix: &str) -> Self {
        let cluster = Cluster::shared().await;
        Self { cluster, client: cluster.client(), namespace: cluster.namespace(prefix).await }
    }

    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let (group, version) = api_version(object);
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::from_gvk(&kind))
    }

    fn cluster_api(&self, object: &Value) -> Api<DynamicObject> {
        let (group, version) = api_version(object);
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    async fn apply_to_cluster(&self, object: &Value) -> kube::Result<DynamicObject> {
        self.cluster_api(object).patch(name(object), &PatchParams::apply(MANAGER), &Patch::Apply(object)).await
    }

    /// Applies as Reeve does, without force.
    async fn apply(&self, object: &Value) -> kube::Result<DynamicObject> {
        self.apply_as(object, &PatchParams::apply(MANAGER)).await
    }

    async fn apply_as(&self, object: &Value, params: &PatchParams) -> kube::Result<DynamicObject> {
        self.api(object).patch(name(object), params, &Patch::Apply(object)).await
    }

    /// Writes as a program that does not apply, under a name of its own.
    async fn write_as(&self, manager: &str, object: &Value, patch: &Value) -> DynamicObject {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.api(object).patch(name(object), &params, &Patch::<Value>::Merge(patch.clone())).await.unwrap()
    }

    async fn managed(&self, object: &Value) -> Vec<ManagedFieldsEntry> {
        let found = self.api(object).get(name(object)).await.unwrap();
        found.metadata.managed_fields.unwrap_or_default()
    }

    async fn kubectl(&self, args: &[&str]) -> String {
        let args: Vec<&str> = ["-n", &self.namespace].into_iter().chain(args.iter().copied()).collect();
        self.cluster.kubectl(&args).await
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn api_version(object: &Value) -> (&str, &str) {
    let text = object["apiVersion"].as_str().unwrap();
    text.split_once('/').unwrap_or(("", text))
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{
                    "name": "web",
                    "image": "web:1",
                    "args": ["a", "b"],
                    "env": [{ "name": "MODE", "value": "fast" }],
                    "ports": [{ "containerPort": 80 }, { "containerPort": 53, "protocol": "UDP" }],
                }] },
            },
        },
    })
}
