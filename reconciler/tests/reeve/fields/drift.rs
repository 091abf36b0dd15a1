//! Drift as the API server records it: what others did to what we applied.

use kube::api::{Patch, PatchParams};
use reeve_reconciler_engine::fields::{Operation, drifted};
use reeve_tests::eventually;
use serde_json::{Value, json};

use super::{Place, deployment, manager, owned};

async fn told(place: &Place, desired: &Value) -> Vec<String> {
    let found = drifted(desired, &place.managed(desired).await, &manager());
    let line = |field: &reeve_reconciler_engine::fields::DriftedField| {
        let verb = if field.removed { "removed" } else { "taken" };
        format!("{} {verb} by {}", field.path, field.manager.as_deref().unwrap_or("nobody"))
    };
    found.iter().map(line).collect()
}

#[tokio::test]
async fn what_was_just_applied_has_not_drifted() {
    let place = Place::new("drift").await;
    let objects = [
        deployment(),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
            "spec": {
                "selector": { "app": "web" }, "type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"],
                "ports": [{ "port": 80, "name": "a" }, { "port": 81, "name": "b", "protocol": "UDP", "targetPort": "x" }],
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "text", "finalizers": ["reeve.dev/a", "reeve.dev/b"], "annotations": {},
                "labels": { "app.kubernetes.io/name": "x", "app.kubernetes.io/part-of": "y" },
            },
            "data": { "one": "1", "two.txt": "2" },
        }),
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": { "name": "deny" },
            "spec": { "podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress"] },
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "reader" },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] }],
        }),
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "web" },
            "imagePullSecrets": [{ "name": "a" }, { "name": "b" }], "automountServiceAccountToken": false,
        }),
    ];
    for object in objects {
        place.apply(&object).await.unwrap();
        assert_eq!(told(&place, &object).await, Vec::<String>::new(), "{}", object["kind"]);
    }
}

#[tokio::test]
async fn kubectl_scale_and_label_are_named_with_the_fields_they_took() {
    let place = Place::new("drift").await;
    place.apply(&deployment()).await.unwrap();
    let before = owned(&place.managed(&deployment()).await);

    place.kubectl(&["scale", "deployment/web", "--replicas=3"]).await;
    place.kubectl(&["label", "deployment/web", "app=other", "--overwrite"]).await;
    place.kubectl(&["set", "image", "deployment/web", "web=web:2"]).await;

    let managed = place.managed(&deployment()).await;
    assert_ne!(owned(&managed), before);
    assert_eq!(
        told(&place, &deployment()).await,
        [
            "metadata.labels.app taken by kubectl-label",
            "spec.replicas taken by kubectl",
            "spec.template.spec.containers[name=\"web\"].image taken by kubectl-set",
        ]
    );
    let found = drifted(&deployment(), &managed, &manager());
    assert!(found.iter().all(|field| field.operation == Some(Operation::Update)), "{found:?}");
    // The API server writes no time for the scale subresource.
    assert_eq!(found.iter().map(|field| field.time.is_some()).collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test]
async fn an_atomic_list_is_taken_whole_and_an_item_of_a_keyed_list_by_field() {
    let place = Place::new("drift").await;
    place.apply(&deployment()).await.unwrap();
    let patch = json!([
        { "op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "z" },
        { "op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "slow" },
    ]);
    let params = PatchParams { field_manager: Some("editor".to_owned()), ..PatchParams::default() };
    let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
    place.api(&deployment()).patch("web", &params, &patch).await.unwrap();

    assert_eq!(
        told(&place, &deployment()).await,
        [
            "spec.template.spec.containers[name=\"web\"].args taken by editor",
            "spec.template.spec.containers[name=\"web\"].env[name=\"MODE\"].value taken by editor",
        ]
    );
}

#[tokio::test]
async fn a_manager_that_removes_our_fields_is_suspected() {
    let place = Place::new("drift").await;
    place.apply(&deployment()).await.unwrap();
    let patch = json!([
        { "op": "remove", "path": "/spec/template/spec/containers/0/ports/1" },
        { "op": "remove", "path": "/spec/template/spec/containers/0/env" },
        { "op": "add", "path": "/metadata/labels/seen", "value": "yes" },
    ]);
    let params = PatchParams { field_manager: Some("remover".to_owned()), ..PatchParams::default() };
    let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
    place.api(&deployment()).patch("web", &params, &patch).await.unwrap();

    assert_eq!(
        told(&place, &deployment()).await,
        [
            "spec.template.spec.containers[name=\"web\"].env removed by remover",
            "spec.template.spec.containers[name=\"web\"].ports[containerPort=53,protocol=\"UDP\"] removed by remover",
        ]
    );
}

#[tokio::test]
async fn another_applier_that_forces_is_named_as_an_applier() {
    let place = Place::new("drift").await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "text" }, "data": { "one": "1", "two": "2" },
    });
    place.apply(&object).await.unwrap();
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "text" }, "data": { "one": "changed" },
    });
    place.apply_as(&theirs, &PatchParams::apply("flux").force()).await.unwrap();

    let found = drifted(&object, &place.managed(&object).await, &manager());

    assert_eq!(told(&place, &object).await, ["data.one taken by flux"]);
    assert_eq!(found[0].operation, Some(Operation::Apply));
}

#[tokio::test]
async fn status_and_the_additions_of_others_do_not_change_our_hash() {
    let place = Place::new("drift").await;
    place.apply(&deployment()).await.unwrap();
    let before = owned(&place.managed(&deployment()).await);

    eventually("the controller writes status", || async {
        let managed = place.managed(&deployment()).await;
        let by_controller = managed.iter().any(|entry| entry.subresource.as_deref() == Some("status"));
        by_controller.then_some(()).ok_or("no status yet")
    })
    .await;
    place.write_as("other", &deployment(), &json!({ "metadata": { "annotations": { "seen": "yes" } } })).await;
    // The same value again is no change of ownership.
    place.write_as("other", &deployment(), &json!({ "spec": { "replicas": 0 } })).await;

    assert!(before.is_some());
    assert_eq!(owned(&place.managed(&deployment()).await), before);
}
