use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn component(spec: &Value, more: &Value) -> Resource {
    let mut object = json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": { "name": "store", "namespace": "shop" },
        "spec": spec,
    });
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Resource::read(&object).unwrap().unwrap()
}

fn print(resource: &Resource) -> Fingerprint {
    Fingerprint::of(resource, false, |_| None)
}

#[test]
fn a_fingerprint_is_read_back_from_its_text() {
    let resource = component(&json!({ "type": "state.redis" }), &json!({ "scopes": ["a"] }));
    assert_eq!(print(&resource).to_string().parse(), Ok(print(&resource)));
    assert!("nonsense".parse::<Fingerprint>().is_err());
    assert!("+000000000000001.0.0.0".parse::<Fingerprint>().is_err());
}

#[test]
fn what_dapr_makes_alike_has_one_hash() {
    let one = json!({ "type": "state.redis", "version": "v1", "metadata": [
        { "name": "redisDB", "value": 5 }, { "name": "enableTLS", "value": true }] });
    let other = json!({ "metadata": [
        { "value": "true", "name": "enableTLS" }, { "name": "redisDB", "value": "5" }],
        "version": "v1", "type": "state.redis", "ignoreErrors": false, "initTimeout": null });
    let more = json!({ "auth": { "secretStore": "kubernetes" }, "scopes": [] });
    assert_eq!(functional_hash(&component(&one, &json!({}))), functional_hash(&component(&other, &more)));
}

#[test]
fn the_order_of_a_pipeline_counts() {
    let configuration = |handlers: Value| {
        let object = json!({ "apiVersion": "dapr.io/v1alpha1", "kind": "Configuration",
            "metadata": { "name": "c", "namespace": "shop" }, "spec": { "httpPipeline": { "handlers": handlers } } });
        functional_hash(&Resource::read(&object).unwrap().unwrap())
    };
    let (one, other) = (json!({ "name": "a", "type": "x" }), json!({ "name": "b", "type": "y" }));
    assert_ne!(configuration(json!([one, other])), configuration(json!([other, one])));
}

#[test]
fn a_subscription_has_one_hash_in_both_versions() {
    let subscription = |version: &str, spec: Value| {
        let object = json!({ "apiVersion": format!("dapr.io/{version}"), "kind": "Subscription",
            "metadata": { "name": "s", "namespace": "shop" }, "spec": spec });
        functional_hash(&Resource::read(&object).unwrap().unwrap())
    };
    let old = subscription("v1alpha1", json!({ "pubsubname": "p", "topic": "t", "route": "/r" }));
    let new = subscription("v2alpha1", json!({ "pubsubname": "p", "topic": "t", "routes": { "default": "/r" } }));
    assert_eq!(old, new);
}

#[test]
fn the_value_of_a_secret_counts_under_a_key_and_is_not_its_plain_hash() {
    let spec = json!({ "type": "state.redis", "metadata": [
        { "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "password" } }] });
    let resource = component(&spec, &json!({}));
    let with = |value: &[u8]| Fingerprint::of(&resource, false, |_| Some(secret_hash(b"key", value)));
    assert_ne!(with(b"one").secrets, with(b"two").secrets);
    assert_eq!(with(b"one").content, with(b"two").content);
    assert_ne!(secret_hash(b"key", b"one"), secret_hash(b"other", b"one"));
    assert_ne!(secret_hash(b"key", b"one"), Hash::of(b"one"));
}

proptest! {
    #[test]
    fn the_hash_does_not_depend_on_the_order_of_metadata_and_scopes(
        pairs in prop::collection::btree_map("[a-z]{1,6}", "[a-z0-9]{0,6}", 0..8),
        apps in prop::collection::btree_set("[a-z]{1,4}", 0..5),
        turn in 0_usize..8,
    ) {
        let mut metadata: Vec<Value> =
            pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let mut scopes: Vec<&String> = apps.iter().collect();
        let hash = |metadata: &[Value], scopes: &[&String]| {
            functional_hash(&component(&json!({ "type": "state.redis", "metadata": metadata }), &json!({ "scopes": scopes })))
        };
        let before = hash(&metadata, &scopes);
        metadata.rotate_left(if pairs.is_empty() { 0 } else { turn % pairs.len() });
        scopes.reverse();
        prop_assert_eq!(before, hash(&metadata, &scopes));
    }

    #[test]
    fn the_hash_depends_on_every_value(
        values in prop::collection::vec("[a-z]{0,4}", 1..6), index in 0_usize..6, other in "[A-Z]{1,4}",
    ) {
        let hash = |values: &[String]| {
            let metadata: Vec<Value> =
                values.iter().enumerate().map(|(at, value)| json!({ "name": format!("n{at}"), "value": value })).collect();
            functional_hash(&component(&json!({ "type": "state.redis", "metadata": metadata }), &json!({})))
        };
        let mut changed = values.clone();
        changed[index % values.len()] = other;
        prop_assert_ne!(hash(&values), hash(&changed));
    }
}
