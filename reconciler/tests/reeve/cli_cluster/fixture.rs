//! A namespace with Reeve's kinds in it, their statuses written by hand, and `reeve` run on it.

use std::process::Stdio;

use kube::api::{Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use reeve_crds::{GitSource, Inventory, Runtime, RuntimeComponent};
use reeve_tests::Cluster;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::repository::{Ended, ended};

/// A namespace of one test.
pub(crate) struct CliFixture {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) client: Client,
}

impl CliFixture {
    pub(crate) async fn new(prefix: &str) -> Self {
        let cluster = Cluster::shared().await;
        cluster.crds().await;
        Self { cluster, namespace: cluster.namespace(prefix).await, client: cluster.client() }
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates an object and writes its status, if it is given one.
    pub(crate) async fn make<K>(&self, mut object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Serialize
            + std::fmt::Debug,
    {
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        let status = object.as_object_mut().unwrap().remove("status");
        let made: K = serde_json::from_value(object).unwrap();
        let made = self.api::<K>().create(&PostParams::default(), &made).await.unwrap();
        match status {
            Some(status) => self.report(&made.name_any(), status).await,
            None => made,
        }
    }

    /// Writes a status, as the controller would.
    pub(crate) async fn report<K>(&self, name: &str, status: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api::<K>().patch_status(name, &PatchParams::default(), &patch).await.unwrap()
    }

    pub(crate) async fn source(&self, name: &str, status: Value) -> GitSource {
        let spec = json!({ "url": "https://git.example.com/acme/fleet.git", "ref": { "branch": "main" } });
        self.make(json!({ "metadata": { "name": name }, "spec": spec, "status": status })).await
    }

    pub(crate) async fn runtime(&self, name: &str, source: &str, status: Value) -> Runtime {
        let spec = json!({
            "sourceRef": { "name": source }, "channel": "regular", "file": format!("runtimes/{name}.yaml"),
        });
        self.make(json!({ "metadata": { "name": name }, "spec": spec, "status": status })).await
    }

    /// A component `web` of a runtime, called after both.
    pub(crate) async fn component(&self, runtime: &str, component: &str, status: Value) -> RuntimeComponent {
        let spec = json!({
            "runtime": runtime, "component": component, "chart": "web", "version": "1.2.0", "channel": "regular",
            "origin": format!("runtimes/{runtime}.yaml:14"),
        });
        let name = format!("{runtime}-{component}");
        self.make(json!({ "metadata": { "name": name }, "spec": spec, "status": status })).await
    }

    /// A page of objects, each as (component, group, kind, name, state).
    pub(crate) async fn inventory(&self, runtime: &str, entries: &[[&str; 5]]) -> Inventory {
        let entries: Vec<Value> = entries
            .iter()
            .map(|[component, group, kind, name, state]| {
                json!({
                    "component": component, "group": group, "version": "v1", "kind": kind,
                    "namespace": self.namespace, "name": name, "state": state, "uid": "1",
                })
            })
            .collect();
        let counts = json!({ "applied": entries.len() });
        let spec = json!({ "runtime": runtime, "counts": counts, "entries": entries });
        self.make(json!({ "metadata": { "name": format!("{runtime}-0") }, "spec": spec })).await
    }

    /// `reeve` with the way to the cluster and the namespace.
    pub(crate) fn command(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_reeve"));
        command.args(args).arg("--namespace").arg(&self.namespace).arg("--kubeconfig").arg(self.cluster.kubeconfig());
        command.env_remove("NO_COLOR").stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    pub(crate) async fn reeve(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().await.unwrap())
    }
}

/// A status in this state, for this reason.
pub(crate) fn state(state: &str, reason: &str, message: &str) -> Value {
    let ready = if state == "Ready" { "True" } else { "False" };
    json!({
        "state": state,
        "observedGeneration": 1,
        "conditions": [{
            "type": "Ready", "status": ready, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }],
    })
}

/// A status with more in it.
pub(crate) fn with(mut status: Value, more: Value) -> Value {
    let (Value::Object(to), Value::Object(from)) = (&mut status, more) else { panic!("a status is a map") };
    to.extend(from);
    status
}
