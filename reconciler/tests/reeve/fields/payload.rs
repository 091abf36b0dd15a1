//! What is sent, on a real API server: ignored fields stay, and nobody is fought.

use kube::api::PatchParams;
use reeve_reconciler_engine::fields::drifted;
use reeve_reconciler_engine::payload::{Pointer, delegated, object_ref, with_content, without};
use serde_json::{Value, json};

use super::{Place, deployment, manager, name, owned};

fn replicas() -> [Pointer; 1] {
    ["/spec/replicas".parse().unwrap()]
}

async fn live(place: &Place, object: &Value) -> Value {
    serde_json::to_value(place.api(object).get(name(object)).await.unwrap()).unwrap()
}

#[tokio::test]
async fn an_ignored_field_that_another_took_is_neither_fought_nor_deleted() {
    let place = Place::new("payload").await;
    place.apply(&without(&deployment(), None, &replicas(), &manager())).await.unwrap();
    place.kubectl(&["scale", "deployment/web", "--replicas=3"]).await;

    let payload = without(&deployment(), Some(&live(&place, &deployment()).await), &replicas(), &manager());
    assert_eq!(payload["spec"].get("replicas"), None);
    let applied = place.apply(&payload).await.expect("without force, since there is no conflict");

    assert_eq!(applied.data["spec"]["replicas"], 3);
    assert_eq!(drifted(&payload, &place.managed(&deployment()).await, &manager()), vec![]);
}

#[tokio::test]
async fn an_ignored_field_that_only_git_decided_changes_with_git() {
    let place = Place::new("payload").await;
    let mut first = deployment();
    first["spec"]["replicas"] = 2.into();
    place.apply(&first).await.unwrap();

    // Git says 0 by now.
    let payload = without(&deployment(), Some(&live(&place, &deployment()).await), &replicas(), &manager());
    let applied = place.apply(&payload).await.unwrap();

    assert_eq!(applied.data["spec"]["replicas"], 0);
}

#[tokio::test]
async fn ignoring_below_a_list_finds_the_item_by_its_keys() {
    let place = Place::new("payload").await;
    place.apply(&deployment()).await.unwrap();
    place.kubectl(&["set", "image", "deployment/web", "web=web:2"]).await;
    let path = ["/spec/template/spec/containers/0/image".parse().unwrap()];

    let payload = without(&deployment(), Some(&live(&place, &deployment()).await), &path, &manager());
    let applied = place.apply(&payload).await.unwrap();

    assert_eq!(applied.data["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
}

#[tokio::test]
async fn a_captured_selector_is_left_to_the_resolver() {
    let place = Place::new("payload").await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": place.namespace },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
    });
    let rule = json!({
        "apiVersion": "reeve.dev/v1alpha1", "kind": "ScalingRule",
        "metadata": { "name": "web", "namespace": place.namespace },
        "spec": { "services": [{ "name": "web" }], "scaleTarget": { "name": "web" } },
    });
    let paths = &delegated([&rule, &service])[&object_ref(&service)];
    place.apply(&without(&service, None, paths, &manager())).await.unwrap();
    let captured = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web", "reeve.dev/captured": "yes" } },
    });
    place.apply_as(&captured, &PatchParams::apply("reeve-resolver").force()).await.unwrap();

    let payload = without(&service, Some(&live(&place, &service).await), paths, &manager());
    let applied = place.apply(&payload).await.expect("without force, since there is no conflict");

    assert_eq!(applied.data["spec"]["selector"], captured["spec"]["selector"]);
}

#[tokio::test]
async fn a_change_of_a_secret_that_git_has_as_text_is_seen() {
    let place = Place::new("payload").await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "key" }, "stringData": { "a": "b" },
    });
    let payload = with_content(&secret);
    place.apply(&payload).await.unwrap();
    let before = owned(&place.managed(&secret).await);

    place.write_as("thief", &secret, &json!({ "data": { "a": "Yw==" } })).await;

    let managed = place.managed(&secret).await;
    assert_ne!(owned(&managed), before);
    let found = drifted(&payload, &managed, &manager());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.to_string().as_str(), found[0].manager.as_deref()), ("data.a", Some("thief")));
}

#[tokio::test]
async fn the_mark_comes_with_the_object_and_the_second_time_nothing_is_written() {
    let place = Place::new("payload").await;
    let text = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "text" }, "data": { "a": "b" } });
    let payload = with_content(&text);

    let first = place.apply(&payload).await.unwrap();
    let second = place.apply(&payload).await.unwrap();

    let mark = payload["metadata"]["annotations"]["reeve.dev/content"].as_str().unwrap();
    assert_eq!(first.metadata.annotations.unwrap()["reeve.dev/content"], mark);
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
}
