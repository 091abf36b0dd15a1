//! What owns pods, and how each is restarted.

use std::path::PathBuf;

use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::runtime::conditions;
use kube::{Api, ResourceExt};
use reeve_crds::DaprWorkload;
use reeve_tests::{Cluster, ControlPlane, assets, eventually, until};
use serde_json::{Value, json};

use crate::place::{Place, blocked, restarts, template};

const TOKEN: &str = "reeve.dev/dapr-restart";

fn token(record: &DaprWorkload) -> Option<String> {
    record.status.as_ref()?.change.as_ref()?.token.clone()
}

/// Waits until every pod of an app has this token and is ready.
async fn pods_have(place: &Place, app: &str, count: usize, token: &str) {
    eventually("every pod has the token", || async {
        let pods = place.pods(app).await;
        let current = |pod: &&Pod| pod.annotations().get(TOKEN).is_some_and(|of| of == token);
        let ready = pods.iter().filter(current).filter(|pod| crate::kubelet::is_ready(pod)).count();
        if ready == count && pods.len() == count { Ok(()) } else { Err(format!("{ready} of {}", pods.len())) }
    })
    .await;
}

#[tokio::test]
async fn a_stateful_set_restarts_once_and_one_that_waits_for_deletion_is_told_of() {
    let place = Place::new("set").await;
    place.policy(json!({ "settleTime": "0s" })).await;
    place.store("one", &[]).await;
    place.workload("StatefulSet", "db", "1.17.0", json!({ "replicas": 2 })).await;
    place
        .workload("StatefulSet", "old", "1.17.0", json!({ "replicas": 1, "updateStrategy": { "type": "OnDelete" } }))
        .await;
    place.pods_are_ready("db", 2).await;
    place.pods_are_ready("old", 1).await;
    let _agent = place.agent();
    place.is_current("statefulset-db").await;
    let sets: Api<StatefulSet> = Api::namespaced(place.client(), &place.namespace);
    let generation = sets.get("db").await.unwrap().metadata.generation.unwrap();

    place.store("two", &[]).await;

    let record = place.record("statefulset-db", "it restarts", |record| restarts(record) == 1).await;
    pods_have(&place, "db", 2, &token(&record).unwrap()).await;
    place.is_blocked("statefulset-old", "OnDelete").await;
    let record = place.is_current("statefulset-db").await;
    assert_eq!(restarts(&record), 1);
    assert_eq!(sets.get("db").await.unwrap().metadata.generation.unwrap(), generation + 1, "one change of its spec");
}

#[tokio::test]
async fn a_bare_replica_set_loses_one_pod_at_a_time_by_eviction() {
    let place = Place::new("bare").await;
    place.policy(json!({ "settleTime": "0s" })).await;
    place.store("one", &[]).await;
    place.workload("ReplicaSet", "bare", "1.17.0", json!({ "replicas": 3 })).await;
    let before = place.pods_are_ready("bare", 3).await;
    let _agent = place.agent();
    place.is_current("replicaset-bare").await;

    place.store("two", &[]).await;

    let record = place.record("replicaset-bare", "it restarts", |record| restarts(record) == 1).await;
    pods_have(&place, "bare", 3, &token(&record).unwrap()).await;
    let record = place.is_current("replicaset-bare").await;
    assert_eq!(restarts(&record), 1);
    let sets: Api<ReplicaSet> = Api::namespaced(place.client(), &place.namespace);
    assert_eq!(sets.get("bare").await.unwrap().spec.unwrap().replicas, Some(3));
    let prefix = format!("/api/v1/namespaces/{}/pods/", place.namespace);
    let evictions =
        place.cluster().audit().matching(|event| event.uri.starts_with(&prefix) && event.subresource == "eviction");
    assert_eq!(evictions.len(), before.len(), "one eviction for each pod: {evictions:#?}");
}

#[tokio::test]
async fn a_pod_that_nothing_owns_is_reported_and_left_alone() {
    let place = Place::new("pod").await;
    place.policy(json!({ "settleTime": "0s" })).await;
    place.store("one", &[]).await;
    let template = template("lone", "1.17.0");
    let mut metadata = template["metadata"].clone();
    metadata["name"] = json!("lone");
    place.apply(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })).await;
    let before = place.pods_are_ready("lone", 1).await;
    let _agent = place.agent();
    place.is_current("pod-lone").await;

    place.store("two", &[]).await;

    let record = place.is_blocked("pod-lone", "NoOwner").await;
    let message = record.status.unwrap().blocked.unwrap().message;
    assert!(message.contains("nothing would bring Pod") && message.contains("replace it by hand"), "{message}");
    assert_eq!(place.pods_are_ready("lone", 1).await, before);
}

/// Makes Rollouts be served, as Argo has them. Its controller is not here: the test says that a restart is over.
async fn rollout_crd(cluster: &Cluster) {
    let folder: PathBuf = assets::module_folder("github.com/argoproj/argo-rollouts", "v1.10.1").unwrap();
    let text = std::fs::read_to_string(folder.join("manifests/crds/rollout-crd.yaml")).unwrap();
    let crd: CustomResourceDefinition = serde_yaml::from_str(&text).unwrap();
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    api.patch(&crd.name_any(), &PatchParams::apply("reeve-tests").force(), &Patch::Apply(&crd)).await.unwrap();
    let established = |crd: &CustomResourceDefinition| {
        kube::runtime::wait::Condition::matches_object(&conditions::is_crd_established(), Some(crd))
    };
    until(&api, &crd.name_any(), "the CRD is established", established).await;
}

#[tokio::test]
async fn a_rollout_is_asked_once_for_a_restart_and_says_itself_when_it_is_over() {
    let place = Place::new("rollout").await;
    rollout_crd(place.cluster()).await;
    place.policy(json!({ "settleTime": "0s" })).await;
    place.store("one", &[]).await;
    let labels = json!({ "app": "canary" });
    let spec = json!({ "replicas": 1, "selector": { "matchLabels": labels }, "template": template("canary", "1.17.0"), "strategy": { "canary": {} } });
    place.apply(json!({ "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": { "name": "canary" }, "spec": spec })).await;
    let kind = GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Rollout");
    let rollouts: Api<DynamicObject> =
        Api::namespaced_with(place.client(), &place.namespace, &ApiResource::from_gvk(&kind));
    let rollout = rollouts.get("canary").await.unwrap();
    let owner = json!([{ "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "canary", "uid": rollout.uid(), "controller": true }]);
    let set = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "canary-1", "ownerReferences": owner },
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": template("canary", "1.17.0") } });
    place.apply(set).await;
    place.pods_are_ready("canary", 1).await;
    let _agent = place.agent();
    place.is_current("rollout-canary").await;

    place.store("two", &[]).await;

    let asked =
        |rollout: &DynamicObject| rollout.data.pointer("/spec/restartAt").and_then(Value::as_str).map(str::to_owned);
    let restarting = until(&rollouts, "canary", "it is asked to restart", |rollout| asked(rollout).is_some()).await;
    let done = json!({ "status": { "restartedAt": asked(&restarting) } });
    // As its CRD has it, the status is no subresource.
    rollouts.patch("canary", &PatchParams::default(), &Patch::Merge(&done)).await.unwrap();
    rollouts.patch_status("canary", &PatchParams::default(), &Patch::Merge(&done)).await.ok();
    let record = place.is_current("rollout-canary").await;
    assert_eq!(restarts(&record), 1);
    assert_eq!(asked(&rollouts.get("canary").await.unwrap()), asked(&restarting));
}

/// A node of its own, with nobody behind it: in the shared cluster it would attract the pods of other tests.
#[tokio::test]
async fn a_daemon_set_restarts_once() {
    let control_plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let place = Place::on(Box::leak(Box::new(control_plane)), "daemon").await;
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": "node" } })).unwrap();
    Api::<Node>::all(place.client()).create(&PostParams::default(), &node).await.unwrap();
    place.policy(json!({ "settleTime": "0s" })).await;
    place.store("one", &[]).await;
    place.workload("DaemonSet", "log", "1.17.0", json!({})).await;
    place.pods_are_ready("log", 1).await;
    let _agent = place.agent();
    let sets: Api<DaemonSet> = Api::namespaced(place.client(), &place.namespace);
    until(&sets, "log", "its controller has counted", |set| {
        set.status.as_ref().is_some_and(|status| status.desired_number_scheduled == 1)
    })
    .await;
    place.is_current("daemonset-log").await;

    place.store("two", &[]).await;

    let record = place.record("daemonset-log", "it restarts", |record| restarts(record) == 1).await;
    pods_have(&place, "log", 1, &token(&record).unwrap()).await;
    let record = place.is_current("daemonset-log").await;
    assert_eq!((restarts(&record), blocked(&record)), (1, String::new()));
}
