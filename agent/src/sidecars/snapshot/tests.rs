use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use reeve_agent_dapr::world::{OwnerKind, Role, StartValue, Strategy, Workload};
use serde_json::{Value, json};

use super::*;

fn object(kind: &str, name: &str, more: &Value) -> Arc<DynamicObject> {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": "7" },
        "spec": { "template": { "metadata": { "annotations": { "dapr.io/enabled": "true", "dapr.io/app-id": "web" } } } },
    });
    merge(&mut object, more);
    Arc::new(serde_json::from_value(object).unwrap())
}

fn merge(value: &mut Value, more: &Value) {
    match (value, more) {
        (Value::Object(fields), Value::Object(more)) => {
            more.iter().for_each(|(name, more)| merge(fields.entry(name).or_insert(Value::Null), more));
        }
        (value, more) => *value = more.clone(),
    }
}

fn pod(name: &str, owner: Option<(&str, &str, &str)>, more: &Value) -> Arc<Pod> {
    let owners: Vec<Value> = owner
        .into_iter()
        .map(|(api_version, kind, name)| {
            json!({ "apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": true })
        })
        .collect();
    let mut pod = json!({
        "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "ownerReferences": owners,
            "annotations": { "dapr.io/enabled": "true", "dapr.io/app-id": "web" } },
        "spec": { "containers": [{ "name": "daprd", "image": "daprd:1.17.0" }] },
    });
    merge(&mut pod, more);
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn snapshot(objects: &Objects) -> Snapshot {
    let owners = Owners::new(objects, "dapr-system");
    let resources = resources(objects);
    let pods = pods(objects, &owners, &resources);
    let written = BTreeMap::new();
    let known = Known { hash_key: Hash::NONE, sources: BTreeMap::new(), written: &written };
    build(objects, &owners, resources, pods, known)
}

fn id(kind: OwnerKind, name: &str) -> WorkloadId {
    WorkloadId { namespace: "shop".to_owned(), kind, name: name.to_owned() }
}

fn owners(all: &[(OwnerKind, Arc<DynamicObject>)]) -> BTreeMap<OwnerKind, Vec<Arc<DynamicObject>>> {
    let mut owners: BTreeMap<OwnerKind, Vec<Arc<DynamicObject>>> = BTreeMap::new();
    for (kind, object) in all {
        owners.entry(*kind).or_default().push(Arc::clone(object));
    }
    owners
}

fn only(kind: OwnerKind, more: &Value) -> Workload {
    let objects = Objects { owners: owners(&[(kind, object(kind.as_str(), "web", more))]), ..Objects::default() };
    snapshot(&objects).world.workloads.remove(&id(kind, "web")).unwrap()
}

#[test]
fn a_pod_belongs_to_what_is_above_its_replica_set() {
    let above = json!({ "metadata": { "ownerReferences": [
        { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true }
    ] } });
    let objects = Objects {
        owners: owners(&[
            (OwnerKind::Deployment, object("Deployment", "web", &json!({}))),
            (OwnerKind::ReplicaSet, object("ReplicaSet", "web-1", &above)),
            (OwnerKind::ReplicaSet, object("ReplicaSet", "bare", &json!({}))),
        ]),
        pods: vec![
            pod("a", Some(("apps/v1", "ReplicaSet", "web-1")), &json!({})),
            pod("b", Some(("apps/v1", "ReplicaSet", "bare")), &json!({})),
            pod("c", Some(("apps/v1", "ReplicaSet", "unknown")), &json!({})),
            pod("d", Some(("batch/v1", "Job", "nightly")), &json!({})),
            pod("e", None, &json!({})),
            pod("f", Some(("apps.kruise.io/v1alpha1", "CloneSet", "x")), &json!({})),
            pod("g", None, &json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })),
            pod("h", None, &json!({ "status": { "phase": "Succeeded" } })),
        ],
        ..Objects::default()
    };
    let all = snapshot(&objects).world.workloads;
    let found: Vec<(String, usize)> = all.iter().map(|(id, workload)| (id.to_string(), workload.pods.len())).collect();
    let expected = [
        ("Deployment shop/web", 1),
        ("ReplicaSet shop/bare", 1),
        ("Job shop/nightly", 1),
        ("Pod shop/e", 1),
        ("Pod shop/f", 1),
    ];
    assert_eq!(found, expected.map(|(name, pods)| (name.to_owned(), pods)));
}

#[test]
fn a_strategy_is_what_its_controller_makes_of_it() {
    let rolling = |max_unavailable| Strategy::Rolling { max_unavailable };
    let deployment = |strategy: Value| {
        only(OwnerKind::Deployment, &json!({ "spec": { "replicas": 10, "strategy": strategy } })).strategy
    };
    assert_eq!(deployment(json!({})), rolling(2), "a quarter of ten, rounded down");
    assert_eq!(deployment(json!({ "rollingUpdate": { "maxUnavailable": 0, "maxSurge": 1 } })), rolling(0));
    assert_eq!(deployment(json!({ "rollingUpdate": { "maxUnavailable": "5%", "maxSurge": "0%" } })), rolling(1));
    assert_eq!(deployment(json!({ "type": "Recreate" })), Strategy::Recreate);
    let set =
        |strategy: Value| only(OwnerKind::StatefulSet, &json!({ "spec": { "updateStrategy": strategy } })).strategy;
    assert_eq!(set(json!({})), rolling(1));
    assert_eq!(set(json!({ "type": "OnDelete" })), Strategy::OnDelete);
    assert_eq!(set(json!({ "rollingUpdate": { "partition": 2 } })), Strategy::Partitioned);
    let daemons = |strategy: Value| {
        let more = json!({ "spec": { "updateStrategy": strategy }, "status": { "desiredNumberScheduled": 30 } });
        only(OwnerKind::DaemonSet, &more)
    };
    assert_eq!(daemons(json!({ "rollingUpdate": { "maxUnavailable": "15%" } })).strategy, rolling(5), "rounded up");
    assert_eq!(daemons(json!({})).replicas, 30);
}

#[test]
fn a_deployment_is_stuck_when_it_says_so_of_the_template_that_it_has() {
    let said = |generation: i64| {
        let conditions = json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" }]);
        let status = json!({ "observedGeneration": 4, "conditions": conditions });
        only(OwnerKind::Deployment, &json!({ "metadata": { "generation": generation }, "status": status })).stuck
    };
    assert!(said(4));
    assert!(!said(5), "it has not looked at the newest template");
}

#[test]
fn a_sidecar_that_nobody_injects_is_told_by_its_arguments() {
    let template = json!({ "spec": { "template": {
        "metadata": { "annotations": null },
        "spec": { "containers": [{ "name": "daprd", "args": ["--mode", "kubernetes", "--app-id", "orders", "--config=tracing"] }] },
    } } });
    let workload = only(OwnerKind::Deployment, &template);
    assert_eq!((workload.role, workload.app_id.as_str()), (Role::Shared, "orders"));
    assert_eq!(workload.configuration.as_deref(), Some("tracing"));
}

#[test]
fn what_a_sidecar_reads_at_its_start_is_in_its_container_and_its_volumes() {
    let spec = json!({ "spec": {
        "containers": [{ "name": "daprd", "image": "daprd:1.17.0",
            "env": [{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "api", "key": "token" } } }],
            "envFrom": [{ "configMapRef": { "name": "settings" } }],
            "volumeMounts": [{ "name": "tls", "mountPath": "/tls" }],
        }],
        "volumes": [{ "name": "tls", "secret": { "secretName": "tls" } }, { "name": "app", "secret": { "secretName": "app" } }],
    } });
    let objects = Objects { pods: vec![pod("a", None, &spec)], ..Objects::default() };
    let found = snapshot(&objects).world.workloads.remove(&id(OwnerKind::Pod, "a")).unwrap().start_values;
    let value =
        |kind, name: &str, key: Option<&str>| StartValue { kind, name: name.to_owned(), key: key.map(str::to_owned) };
    let expected = [
        value(SourceKind::Secret, "api", Some("token")),
        value(SourceKind::Secret, "tls", None),
        value(SourceKind::ConfigMap, "settings", None),
    ];
    assert_eq!(found, expected.into(), "and not what the app mounts");
}

#[test]
fn the_tightest_budget_over_any_pod_counts() {
    let budget =
        |name: &str, app: &str, allowed: i32, generation: i64| {
            Arc::new(serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "shop", "generation": generation },
            "spec": { "selector": { "matchExpressions": [{ "key": "app", "operator": "In", "values": [app] }] } },
            "status": { "disruptionsAllowed": allowed, "observedGeneration": 1,
                "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1 },
        })).unwrap())
        };
    let labelled = json!({ "metadata": { "labels": { "app": "web" } } });
    let of = |budgets| {
        let objects = Objects { pods: vec![pod("a", None, &labelled)], budgets, ..Objects::default() };
        snapshot(&objects)
            .world
            .workloads
            .remove(&id(OwnerKind::Pod, "a"))
            .unwrap()
            .budget
            .map(|budget| (budget.name, budget.allowed))
    };
    assert_eq!(of(vec![budget("other", "other", 0, 1)]), None);
    assert_eq!(of(vec![budget("wide", "web", 3, 1), budget("tight", "web", 1, 1)]), Some(("tight".to_owned(), 1)));
    assert_eq!(of(vec![budget("new", "web", 3, 2)]), Some(("new".to_owned(), 0)), "nobody has counted yet");
}

#[test]
fn the_control_plane_is_told_by_its_deployments() {
    let labelled = |app: &str, ready: u32| {
        json!({ "metadata": { "namespace": "dapr-system", "labels": { "app": app } },
            "spec": { "template": { "metadata": { "annotations": null }, "spec": { "containers": [
                { "name": app, "env": [{ "name": "SIDECAR_IMAGE", "value": "daprd:1.18.3" }] }
            ] } } }, "status": { "readyReplicas": ready } })
    };
    let objects = Objects {
        owners: owners(&[
            (OwnerKind::Deployment, object("Deployment", "injector", &labelled("dapr-sidecar-injector", 1))),
            (OwnerKind::Deployment, object("Deployment", "operator", &labelled("dapr-operator", 0))),
        ]),
        ..Objects::default()
    };
    let world = snapshot(&objects).world;
    assert!(world.control_plane.injector_ready && !world.control_plane.operator_ready);
    assert_eq!(world.control_plane.sidecar_image.as_deref(), Some("daprd:1.18.3"));
    assert!(world.workloads.values().all(|workload| workload.role == Role::ControlPlane));
}
