use serde_json::json;

use super::*;

fn read(object: &Value) -> Resource {
    Resource::read(object).unwrap().unwrap()
}

#[test]
fn an_object_of_another_group_is_none_of_dapr() {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    assert_eq!(Resource::read(&object), Ok(None));
}

#[test]
fn a_mistake_is_told_with_object_field_and_advice() {
    let object = |more: Value| {
        let mut object = json!({
            "apiVersion": "dapr.io/v1alpha1", "kind": "Component",
            "metadata": { "name": "store", "namespace": "shop" }, "spec": { "type": "state.redis" },
        });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Resource::read(&object).unwrap_err().to_string()
    };
    assert_eq!(
        object(json!({ "scopes": "nodeapp" })),
        "Component shop/store: scopes is no list of app-ids; write a list such as [order-processor]"
    );
    assert_eq!(
        object(json!({ "auth": { "secretstore": "vault" } })),
        "Component shop/store: auth.secretstore is not known to Dapr; write auth.secretStore"
    );
    assert_eq!(
        object(json!({ "spec": [] })),
        "Component shop/store: spec is no map; write the resource's settings below spec"
    );
}

#[test]
fn keys_of_secrets_are_found_at_any_depth_and_default_to_the_name() {
    let endpoint = read(&json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "HTTPEndpoint", "metadata": { "name": "github", "namespace": "shop" },
        "spec": {
            "baseUrl": "https://example.com",
            "headers": [{ "name": "Authorization", "secretKeyRef": { "name": "token" } }],
            "clientTLS": { "privateKey": { "secretKeyRef": { "name": "tls", "key": "tls.key" } } },
        },
    }));
    let keys: Vec<_> = endpoint.secret_keys().into_iter().map(|key| format!("{}/{}", key.name, key.key)).collect();
    assert_eq!(keys, ["tls/tls.key", "token/token"]);
}

#[test]
fn secrets_of_another_store_are_none_of_kubernetes() {
    let component = read(&json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": { "name": "store", "namespace": "shop" },
        "auth": { "secretStore": "vault" },
        "spec": { "type": "state.redis", "metadata": [{ "name": "redisPassword", "secretKeyRef": { "name": "redis" } }] },
    }));
    assert!(component.secret_keys().is_empty() && component.reads_foreign_secrets());
}

#[test]
fn daprd_finds_an_actor_store_by_the_name_alone() {
    let component = read(&json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": { "name": "store", "namespace": "shop" },
        "spec": { "type": "state.redis", "metadata": [{ "name": "ACTORSTATESTORE", "value": "false" }] },
    }));
    assert_eq!(component.class(), Class::ActorStateStore);
}
