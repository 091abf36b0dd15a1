//! After a takeover from `kubectl apply`, what leaves Git leaves the cluster.

use std::io::Write as _;

use kube::api::{Patch, PatchParams};
use reeve_reconciler_engine::fields::{LAST_APPLIED, takeover};
use serde_json::{Value, json};

use super::{MANAGER, Place, manager, name};

fn text(data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "text" }, "data": data })
}

async fn kubectl_apply(place: &Place, object: &Value, more: &[&str]) {
    let mut file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    file.write_all(object.to_string().as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    place.kubectl(&[&["apply", "-f", path], more].concat()).await;
}

/// Takes over if there is something to take, and says whether.
async fn take(place: &Place, object: &Value) -> bool {
    let api = place.api(object);
    let found = api.get(name(object)).await.unwrap();
    let managed = found.metadata.managed_fields.as_deref().unwrap_or_default();
    let Some(taken) = takeover(managed, &manager(), |_| false) else { return false };
    let patch = taken.patch(found.metadata.resource_version.as_deref().unwrap());
    let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch(name(object), &params, &patch).await.unwrap();
    true
}

async fn data_after_removal(place: &Place) -> Value {
    let left = text(&json!({ "one": "1" }));
    let applied = place.apply(&left).await.unwrap();
    assert!(!applied.metadata.annotations.unwrap_or_default().contains_key(LAST_APPLIED));
    applied.data["data"].clone()
}

#[tokio::test]
async fn without_a_takeover_the_field_of_kubectl_apply_stays() {
    let place = Place::new("takeover").await;
    let object = text(&json!({ "one": "1", "two": "2" }));
    kubectl_apply(&place, &object, &[]).await;
    place.apply(&object).await.unwrap();

    let applied = place.apply(&text(&json!({ "one": "1" }))).await.unwrap();

    assert_eq!(applied.data["data"], json!({ "one": "1", "two": "2" }));
}

#[tokio::test]
async fn a_removal_is_a_removal_after_client_side_apply() {
    let place = Place::new("takeover").await;
    let object = text(&json!({ "one": "1", "two": "2" }));
    kubectl_apply(&place, &object, &[]).await;

    assert!(take(&place, &object).await);
    place.apply(&object).await.unwrap();
    assert!(!take(&place, &object).await, "once is enough");

    assert_eq!(data_after_removal(&place).await, json!({ "one": "1" }));
}

#[tokio::test]
async fn a_removal_is_a_removal_after_server_side_apply_by_kubectl() {
    let place = Place::new("takeover").await;
    let object = text(&json!({ "one": "1", "two": "2" }));
    kubectl_apply(&place, &object, &[]).await;
    kubectl_apply(&place, &object, &["--server-side"]).await;

    assert!(take(&place, &object).await);

    assert_eq!(data_after_removal(&place).await, json!({ "one": "1" }));
}

#[tokio::test]
async fn what_others_added_stays_theirs() {
    let place = Place::new("takeover").await;
    let object = text(&json!({ "one": "1", "two": "2" }));
    kubectl_apply(&place, &object, &[]).await;
    place.write_as("controller", &object, &json!({ "data": { "three": "3" } })).await;

    assert!(take(&place, &object).await);

    assert_eq!(data_after_removal(&place).await, json!({ "one": "1", "three": "3" }));
}
