//! Health of real objects, as Kubernetes' own controllers write their status.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use reeve_reconciler_engine::health::{Expressions, Health, HealthState, assess};
use reeve_tests::eventually;
use serde_json::{Value, json};

use super::{Place, deployment, name};

async fn health(place: &Place, object: &Value, rules: &[Expressions]) -> Health {
    let live = serde_json::to_value(place.api(object).get(name(object)).await.unwrap()).unwrap();
    assess(&live, rules, Timestamp::UNIX_EPOCH)
}

/// Waits until it says so.
async fn becomes(place: &Place, object: &Value, state: HealthState, message: &str) {
    let wanted = Health { state, message: message.to_owned(), fails_at: None };
    eventually(message, || async {
        let health = health(place, object, &[]).await;
        if health == wanted { Ok(()) } else { Err(format!("{health:?}")) }
    })
    .await;
}

#[tokio::test]
async fn workloads_without_replicas_become_current() {
    let place = Place::new("health").await;
    let workload = |kind: &str| {
        let mut object = deployment();
        object["kind"] = kind.into();
        object
    };
    let mut stateful = workload("StatefulSet");
    stateful["spec"]["serviceName"] = "web".into();
    let mut everywhere = workload("DaemonSet");
    everywhere["spec"].as_object_mut().unwrap().remove("replicas");
    let cases = [
        (workload("Deployment"), "0 replicas available"),
        (stateful, "0 replicas ready"),
        (everywhere, "0 replicas available"),
        (workload("ReplicaSet"), "0 replicas available"),
    ];
    for (object, message) in cases {
        place.apply(&object).await.unwrap();
        becomes(&place, &object, HealthState::Current, message).await;
    }
}

#[tokio::test]
async fn workloads_whose_pods_find_no_node_say_what_is_missing() {
    let place = Place::new("health").await;
    let mut three = deployment();
    three["spec"]["replicas"] = 3.into();
    place.apply(&three).await.unwrap();
    becomes(&place, &three, HealthState::InProgress, "0 of 3 replicas available").await;

    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "once" },
        "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "a" }] } } },
    });
    place.apply(&job).await.unwrap();
    becomes(&place, &job, HealthState::InProgress, "0 of 1 pods succeeded, 1 active").await;
}

#[tokio::test]
async fn a_pod_without_a_node_fails_after_a_while() {
    let place = Place::new("health").await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "c", "image": "a" }] },
    });
    place.apply(&pod).await.unwrap();

    let live = eventually("the scheduler has looked", || async {
        let live = serde_json::to_value(place.api(&pod).get("web").await.unwrap()).unwrap();
        let is_unschedulable = live.to_string().contains("Unschedulable");
        if is_unschedulable { Ok(live) } else { Err(live["status"].to_string()) }
    })
    .await;

    let since: Timestamp = live["status"]["conditions"][0]["lastTransitionTime"].as_str().unwrap().parse().unwrap();
    let after = |seconds: i64| assess(&live, &[], since + jiff::SignedDuration::from_secs(seconds)).state;
    assert_eq!(after(14), HealthState::InProgress);
    assert_eq!(after(15), HealthState::Failed);
}

#[tokio::test]
async fn an_object_that_cannot_go_says_what_it_waits_for() {
    let place = Place::new("health").await;
    let mut held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held" } });
    held["metadata"]["finalizers"] = json!(["reeve.dev/hold"]);
    place.apply(&held).await.unwrap();
    place.kubectl(&["delete", "configmap/held", "--wait=false"]).await;

    let found = health(&place, &held, &[]).await;
    held["metadata"]["finalizers"] = json!([]);
    place.apply(&held).await.unwrap();

    assert_eq!(found.state, HealthState::Terminating);
    assert_eq!(found.message, "being deleted, waits for reeve.dev/hold");
}

#[tokio::test]
async fn a_definition_becomes_current_and_its_objects_are_judged_by_expressions() {
    let place = Place::new("health").await;
    // The name of a group, different for each run.
    let group = format!("{}.reeve.dev", place.namespace);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    let definitions = place.cluster_api(&definition);
    definitions.create(&PostParams::default(), &serde_json::from_value(definition.clone()).unwrap()).await.unwrap();
    eventually("the definition is current", || async {
        let live = serde_json::to_value(definitions.get(name(&definition)).await.unwrap()).unwrap();
        let health = assess(&live, &[], Timestamp::UNIX_EPOCH);
        if health.is_current() { Ok(()) } else { Err(health.message) }
    })
    .await;
    let thing =
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": { "name": "a" }, "spec": {} });
    eventually("the kind is served", || place.apply(&thing)).await;
    let rules = [Expressions::parse(
        &format!("{group}/v1"),
        "Thing",
        "status.phase == 'Up' && status.seen == metadata.generation",
        None,
        Some("status.phase == 'Down'"),
    )
    .unwrap()];

    let before = health(&place, &thing, &rules).await;
    let mut seen = Vec::new();
    for phase in ["Coming", "Down", "Up"] {
        let status = json!({ "status": { "phase": phase, "seen": 1 } });
        let patch = Patch::Merge(&status);
        place.api(&thing).patch_status("a", &PatchParams::default(), &patch).await.unwrap();
        seen.push(health(&place, &thing, &rules).await.state);
    }
    definitions.delete(name(&definition), &kube::api::DeleteParams::default()).await.unwrap();

    assert_eq!(
        (before.state, before.message.as_str()),
        (HealthState::InProgress, "the expression current waits: there is no status")
    );
    assert_eq!(seen, [HealthState::InProgress, HealthState::Failed, HealthState::Current]);
}
