use serde_json::{Value, json};

use super::*;
use crate::kit::object;

fn findings(objects: &[Value]) -> Vec<String> {
    let resources: Vec<Resource> = objects.iter().map(|object| Resource::read(object).unwrap().unwrap()).collect();
    let told = check(&resources).into_iter().filter(|finding| finding.code != "unscoped-component");
    told.map(|finding| format!("{:?} {} {finding}", finding.severity, finding.code)).collect()
}

fn component(name: &str, component_type: &str, scopes: &[&str], metadata: &Value) -> Value {
    let mut object =
        object("Component", name, &json!({ "type": component_type, "version": "v1", "metadata": metadata }));
    object["scopes"] = json!(scopes);
    object
}

#[test]
fn a_good_set_has_no_findings() {
    let password = json!([
        { "name": "redisHost", "value": "redis:6379" },
        { "name": "redisPassword", "secretKeyRef": { "name": "redis", "key": "password" } },
    ]);
    let subscription = json!({ "pubsubname": "orders", "topic": "t", "routes": { "default": "/" } });
    let resiliency = json!({
        "policies": { "timeouts": { "fast": "1s" }, "retries": { "often": {} } },
        "targets": { "components": { "store": { "outbound": { "timeout": "fast", "retry": "often" } } }, "apps": { "x": { "timeout": "5s" } } },
    });
    let set = [
        component("store", "state.redis", &["a"], &password),
        component("orders", "pubsub.redis", &["a"], &password),
        {
            let mut object = object("Subscription", "s", &subscription);
            object["scopes"] = json!(["a"]);
            object
        },
        object("Resiliency", "r", &resiliency),
    ];
    assert_eq!(findings(&set), [""; 0]);
}

#[test]
fn a_type_that_dapr_does_not_have_is_refused() {
    assert_eq!(
        findings(&[component("s", "state.rediss", &["a"], &json!([]))]),
        [
            "Error unknown-component-type Component shop/s: spec.type is `state.rediss`, which Dapr does not have; did you mean `state.redis`?"
        ]
    );
    assert_eq!(
        findings(&[component("s", "storage.redis.cluster", &["a"], &json!([]))]),
        [
            "Error unknown-component-type Component shop/s: spec.type is `storage.redis.cluster`, which Dapr does not have; write a type such as state.redis"
        ]
    );
    let mut own = component("s", "state.our-own-database", &["a"], &json!([]));
    assert!(findings(std::slice::from_ref(&own))[0].starts_with("Warning unknown-component-type"));
    own["metadata"]["annotations"] = json!({ "dapr.io/component-container": "{}" });
    assert_eq!(findings(&[own]), [""; 0], "a pluggable component brings its own container");
}

#[test]
fn a_secret_in_clear_is_refused() {
    for (component_type, name) in
        [("state.redis", "redisPassword"), ("pubsub.kafka", "saslPassword"), ("state.own-database", "API-Token")]
    {
        let told = findings(&[component(
            "s",
            component_type,
            &["a"],
            &json!([{ "name": "x", "value": "y" }, { "name": name, "value": "hunter2" }]),
        )]);
        let of_it: Vec<_> = told.iter().filter(|text| text.contains("literal-secret")).collect();
        assert_eq!(
            of_it,
            [&format!(
                "Error literal-secret Component shop/s: spec.metadata[1].value has the secret `{name}` in clear; put it into a Secret of the runtime, and name that with secretKeyRef"
            )]
        );
        assert!(told.iter().all(|text| !text.contains("hunter2")), "a finding never shows the secret");
    }
    assert_eq!(
        findings(&[component("s", "state.redis", &["a"], &json!([{ "name": "redisPassword", "value": "" }]))]),
        [""; 0]
    );
}

#[test]
fn a_subscription_sees_its_pubsub() {
    let subscription = |scopes: &[&str]| {
        let mut object = object("Subscription", "s", &json!({ "pubsubname": "orders", "topic": "t" }));
        object["scopes"] = json!(scopes);
        object
    };
    let broker = component("orders", "pubsub.redis", &["a", "b"], &json!([]));
    assert_eq!(
        findings(&[broker.clone(), subscription(&["b", "c"])]),
        [
            "Error invisible-pubsub Subscription shop/s: scopes has app `c`, which component `orders` is not visible to; add the app to the component's scopes"
        ]
    );
    assert!(findings(&[broker, subscription(&[])])[0].contains("scopes is empty, but only some apps see"));
    assert!(
        findings(&[component("orders", "state.redis", &[], &json!([])), subscription(&[])])[0]
            .contains("no pubsub component")
    );
    assert!(findings(&[subscription(&[])])[0].starts_with("Warning unknown-pubsub"));
}

#[test]
fn an_app_has_one_actor_state_store() {
    let store = |name: &str, scopes: &[&str], value: &str| {
        component(name, "state.redis", scopes, &json!([{ "name": "actorStateStore", "value": value }]))
    };
    assert_eq!(
        findings(&[store("one", &["a", "b"], "true"), store("two", &["b"], "TRUE")]),
        [
            "Error two-actor-stores Component shop/two: spec.metadata makes it a second actor state store beside `one` for the same app; an app has one"
        ]
    );
    assert_eq!(findings(&[store("one", &["a"], "true"), store("two", &["b"], "true")]), [""; 0]);
    assert_eq!(findings(&[store("one", &["a"], "true"), store("two", &["a"], "false")]), [""; 0]);
    assert_eq!(findings(&[store("one", &["a"], "true"), store("two", &[], "true")]).len(), 1);
}

#[test]
fn targets_of_a_resiliency_name_policies_and_components_that_exist() {
    let spec = json!({
        "policies": { "retries": { "often": {} } },
        "targets": { "apps": { "x": { "retry": "seldom" } }, "components": { "gone": { "inbound": { "circuitBreaker": "cb" } } } },
    });
    assert_eq!(
        findings(&[object("Resiliency", "r", &spec)]),
        [
            "Error unknown-policy Resiliency shop/r: spec.targets.apps.x.retry names `seldom`, which spec.policies.retries does not have",
            "Error unknown-policy Resiliency shop/r: spec.targets.components.gone.inbound.circuitBreaker names `cb`, which spec.policies.circuitBreakers does not have",
            "Warning unknown-component Resiliency shop/r: spec.targets.components.gone is a target, and the namespace has no component of this name here",
        ]
    );
}

#[test]
fn what_dapr_requires_is_there_and_an_unscoped_component_is_a_warning() {
    let told = check(&[Resource::read(&object("Component", "s", &json!({ "type": "state.redis" }))).unwrap().unwrap()]);
    let words: Vec<_> = told.iter().map(|finding| (finding.severity, finding.code, finding.field.as_str())).collect();
    assert_eq!(
        words,
        [(Severity::Error, "missing-field", "spec.version"), (Severity::Warning, "unscoped-component", "scopes")]
    );
}
