//! Two namespaces of a cluster: a shop whose workloads have sidecars, and a control plane of Dapr that is ready.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::runtime::conditions;
use kube::{Api, Client, ResourceExt};
use reeve_agent::sidecars::{RuntimeName, Scope, Settings, run_controller};
use reeve_crds::{DaprWorkload, State};
use reeve_reconciler_engine::clock::{Clock, ManualClock};
use reeve_tests::{Cluster, assets, eventually, until};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::agent::Agent;
use crate::kubelet::Kubelet;

const DAPR: (&str, &str) = ("github.com/dapr/dapr", "v1.18.1");

/// Makes the kinds of Dapr be served, as its own chart has them.
async fn dapr_crds(cluster: &Cluster) {
    static FOLDER: LazyLock<PathBuf> =
        LazyLock::new(|| assets::module_folder(DAPR.0, DAPR.1).unwrap().join("charts/dapr/crds"));
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for file in std::fs::read_dir(&*FOLDER).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let mut crd: CustomResourceDefinition = serde_yaml::from_str(&text).unwrap();
        // The operator of Dapr converts, and is not here; every Subscription of these tests has the stored version.
        crd.spec.conversion = None;
        let params = PatchParams::apply("reeve-tests").force();
        api.patch(&crd.name_any(), &params, &Patch::Apply(&crd)).await.unwrap();
        let established = |crd: &CustomResourceDefinition| {
            kube::runtime::wait::Condition::matches_object(&conditions::is_crd_established(), Some(crd))
        };
        until(&api, &crd.name_any(), "the CRD is established", established).await;
    }
}

pub(crate) struct Place {
    cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) dapr: String,
    pub(crate) kubelet: Kubelet,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tasks: JoinSet<()>,
}

impl Place {
    pub(crate) async fn new(prefix: &str) -> Self {
        Self::on(Cluster::shared().await, prefix).await
    }

    pub(crate) async fn on(cluster: &'static Cluster, prefix: &str) -> Self {
        cluster.crds().await;
        dapr_crds(cluster).await;
        let (namespace, dapr) = (cluster.namespace(prefix).await, cluster.namespace("dapr").await);
        let mut tasks = JoinSet::new();
        let kubelet = Kubelet::start(&cluster.client(), &[&namespace, &dapr], &mut tasks);
        let place = Self { cluster, namespace, dapr, kubelet, folder: tempfile::tempdir().unwrap(), tasks };
        for app in ["dapr-sidecar-injector", "dapr-operator"] {
            place.control_plane(app, "1.17.0").await;
        }
        for app in ["dapr-sidecar-injector", "dapr-operator"] {
            let is_ready =
                |one: &Deployment| one.status.as_ref().is_some_and(|status| status.ready_replicas == Some(1));
            let deployments = Api::<Deployment>::namespaced(place.client(), &place.dapr);
            until(&deployments, app, "it is ready", is_ready).await;
        }
        place
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    pub(crate) fn cluster(&self) -> &'static Cluster {
        self.cluster
    }

    /// The injector or the operator, as far as the agent looks at it.
    pub(crate) async fn control_plane(&self, app: &str, version: &str) {
        let labels = json!({ "app": app });
        let env = json!([{ "name": "SIDECAR_IMAGE", "value": image(version) }]);
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": app, "labels": labels },
            "spec": { "selector": { "matchLabels": labels }, "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": app, "image": app, "env": env }] },
            } },
        });
        self.apply_in(&self.dapr, object).await;
    }

    /// A workload whose pods are as the injector leaves them.
    pub(crate) async fn workload(&self, kind: &str, app: &str, version: &str, spec: Value) {
        let labels = json!({ "app": app });
        let mut all = json!({ "selector": { "matchLabels": labels }, "template": template(app, version) });
        if kind == "StatefulSet" {
            all["serviceName"] = json!(app);
        }
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let object = json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": app }, "spec": all });
        self.apply(object).await;
    }

    pub(crate) async fn deployment(&self, app: &str, version: &str, replicas: usize) {
        self.workload("Deployment", app, version, json!({ "replicas": replicas })).await;
    }

    /// A state store on this host, for these apps.
    pub(crate) async fn store(&self, host: &str, scopes: &[&str]) {
        self.apply(store(host, scopes)).await;
    }

    pub(crate) async fn apply(&self, object: Value) {
        self.apply_in(&self.namespace, object).await;
    }

    async fn apply_in(&self, namespace: &str, object: Value) {
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let (api_version, kind, name) =
            (text("apiVersion"), text("kind"), object["metadata"]["name"].as_str().unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client(), namespace, &resource);
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(&object)).await.unwrap();
    }

    /// Starts the real agent.
    pub(crate) fn agent(&self) -> Agent {
        Agent::start(self.cluster.kubeconfig(), self.folder.path(), &self.args())
    }

    pub(crate) fn args(&self) -> Vec<String> {
        vec![
            format!("--watch-namespace={}", self.namespace),
            format!("--dapr-namespace={}", self.dapr),
            format!("--lease-namespace={}", self.dapr),
            format!("--runtime={}/here", self.namespace),
            "--no-lease".to_owned(),
        ]
    }

    /// The policy by which everything here is decided.
    pub(crate) async fn policy(&self, dapr: Value) {
        let spec = json!({ "dapr": dapr });
        let object = json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "Runtime", "metadata": { "name": "here" }, "spec": spec });
        self.apply(object).await;
    }

    /// Runs an agent within this process whose clock a test turns. What it asks bears the name of its namespace.
    pub(crate) fn agent_by(&mut self, clock: &ManualClock) {
        let mut config = self.cluster.config().unwrap();
        config.headers.push((http::header::USER_AGENT, self.namespace.parse().unwrap()));
        let client = Client::try_from(config).unwrap();
        let settings = Settings {
            scope: Scope::Namespaces(BTreeSet::from([self.namespace.clone()])),
            dapr_namespace: self.dapr.clone(),
            runtime: Some(RuntimeName { namespace: self.namespace.clone(), name: "here".to_owned() }),
            own_namespace: self.dapr.clone(),
        };
        self.tasks.spawn(run_controller(client, settings, Clock::new(clock.clone())));
    }

    pub(crate) fn records(&self) -> Api<DaprWorkload> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Waits until a record says this.
    pub(crate) async fn record(
        &self,
        name: &str,
        what: &str,
        is_met: impl FnMut(&DaprWorkload) -> bool,
    ) -> DaprWorkload {
        until(&self.records(), name, what, is_met).await
    }

    /// Waits until something keeps a workload.
    pub(crate) async fn is_blocked(&self, name: &str, by: &str) -> DaprWorkload {
        self.record(name, &format!("it is blocked by {by}"), |record| blocked(record) == by).await
    }

    /// Makes Deployments that run what is applied and whose agent a test's clock drives.
    pub(crate) async fn governed(prefix: &str, policy: Value, apps: &[(&str, &str)]) -> (Self, ManualClock) {
        let mut place = Self::new(prefix).await;
        place.policy(policy).await;
        place.store("one", &[]).await;
        for (app, version) in apps {
            place.deployment(app, version, 2).await;
            place.pods_are_ready(app, 2).await;
        }
        let clock = ManualClock::new(Timestamp::from_second(Timestamp::now().as_second()).unwrap());
        place.agent_by(&clock);
        for (app, _) in apps {
            place.is_current(&format!("deployment-{app}")).await;
        }
        (place, clock)
    }

    /// Waits until a workload is known to run what is applied.
    pub(crate) async fn is_current(&self, name: &str) -> DaprWorkload {
        self.record(name, "it is current", is_current).await
    }

    /// How many templates a Deployment has had.
    pub(crate) async fn revisions(&self, app: &str) -> usize {
        let sets: Api<ReplicaSet> = Api::namespaced(self.client(), &self.namespace);
        sets.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap().items.len()
    }

    pub(crate) async fn pods(&self, app: &str) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client(), &self.namespace);
        let mut found = pods.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap().items;
        found.sort_by_key(ResourceExt::name_any);
        found
    }

    /// Waits until there are that many pods, and all are ready.
    pub(crate) async fn pods_are_ready(&self, app: &str, count: usize) -> Vec<String> {
        eventually("the pods are ready", || async {
            let pods = self.pods(app).await;
            let uids: Vec<String> = pods.iter().filter_map(ResourceExt::uid).collect();
            let ready = pods.iter().filter(|pod| crate::kubelet::is_ready(pod)).count();
            if pods.len() == count && ready == count { Ok(uids) } else { Err(format!("{ready} of {uids:?}")) }
        })
        .await
    }
}

pub(crate) fn is_current(record: &DaprWorkload) -> bool {
    record.status.as_ref().is_some_and(|status| status.state == Some(State::Ready))
}

/// The word of what keeps a workload.
pub(crate) fn blocked(record: &DaprWorkload) -> String {
    let blocked = record.status.as_ref().and_then(|status| status.blocked.as_ref());
    blocked.map(|blocked| format!("{:?}", blocked.reason.known().unwrap())).unwrap_or_default()
}

pub(crate) fn restarts(record: &DaprWorkload) -> usize {
    record.status.as_ref().map_or(0, |status| status.restarts.len())
}

fn image(version: &str) -> String {
    format!("daprio/daprd:{version}")
}

pub(crate) fn template(app: &str, version: &str) -> Value {
    json!({
        "metadata": {
            "labels": { "app": app, "dapr.io/app-id": app, "dapr.io/sidecar-injected": "true" },
            "annotations": { "dapr.io/enabled": "true", "dapr.io/app-id": app },
        },
        "spec": { "terminationGracePeriodSeconds": 0, "containers": [
            { "name": "app", "image": "app" }, { "name": "daprd", "image": image(version) },
        ] },
    })
}

pub(crate) fn store(host: &str, scopes: &[&str]) -> Value {
    json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": { "name": "statestore" }, "scopes": scopes,
        "spec": { "type": "state.redis", "version": "v1", "metadata": [{ "name": "redisHost", "value": host }] },
    })
}
