//! Checks of what resources name in each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Finding, Notes};
use crate::kind::Kind;
use crate::resource::{Class, Resource};

pub(super) fn check(resource: &Resource, all: &[Resource], findings: &mut Vec<Finding>) {
    let mut notes = Notes { resource, findings };
    match resource.id.kind {
        Kind::Subscription => check_subscription(all, &mut notes),
        Kind::Resiliency => check_resiliency(all, &mut notes),
        Kind::Component | Kind::Configuration | Kind::HttpEndpoint | Kind::McpServer | Kind::WorkflowAccessPolicy => {}
    }
    if let Some(store) = &resource.secret_store {
        let found = find_component(resource, all, store);
        if found.is_none_or(|found| found.class() != Class::SecretStore) {
            let message = format!("names `{store}`, and the namespace has no secret store of this name here");
            notes.warning("unknown-secret-store", "auth.secretStore", message);
        }
    }
}

/// Two components that say `actorStateStore` to one app: daprd takes one of them, by chance.
pub(super) fn check_actor_stores(all: &[Resource], findings: &mut Vec<Finding>) {
    let is_true = |value: &Value| {
        value
            .get("value")
            .is_some_and(|value| value == true || value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true")))
    };
    let stores: Vec<&Resource> = all
        .iter()
        .filter(|resource| resource.class() == Class::ActorStateStore)
        .filter(|resource| resource.find_metadata("actorStateStore").is_some_and(is_true))
        .collect();
    for (index, store) in stores.iter().enumerate() {
        let clash =
            stores[..index].iter().find(|other| other.id.namespace == store.id.namespace && share_app(store, other));
        if let Some(other) = clash {
            let message = format!(
                "makes it a second actor state store beside `{}` for the same app; an app has one",
                other.id.name
            );
            Notes { resource: store, findings }.error("two-actor-stores", "spec.metadata", message);
        }
    }
}

fn share_app(one: &Resource, other: &Resource) -> bool {
    one.scopes.is_empty() || other.scopes.is_empty() || !one.scopes.is_disjoint(&other.scopes)
}

fn check_subscription(all: &[Resource], notes: &mut Notes<'_>) {
    let resource = notes.resource;
    let Some(name) = resource.spec.get("pubsubname").and_then(Value::as_str) else { return };
    let Some(broker) = find_component(resource, all, name) else {
        let message = format!("names `{name}`, and the namespace has no component of this name here");
        notes.warning("unknown-pubsub", "spec.pubsubname", message);
        return;
    };
    if !broker.is_of_category("pubsub") {
        let message = format!("names `{name}`, which is no pubsub component");
        notes.error("unknown-pubsub", "spec.pubsubname", message);
    }
    if broker.scopes.is_empty() {
        return;
    }
    if resource.scopes.is_empty() {
        let message = format!("is empty, but only some apps see component `{name}`; write the apps that subscribe");
        notes.error("invisible-pubsub", "scopes", message);
    }
    let blind: BTreeSet<&String> = resource.scopes.difference(&broker.scopes).collect();
    if let Some(app) = blind.first() {
        let message = format!(
            "has app `{app}`, which component `{name}` is not visible to; add the app to the component's scopes"
        );
        notes.error("invisible-pubsub", "scopes", message);
    }
}

fn check_resiliency(all: &[Resource], notes: &mut Notes<'_>) {
    let resource = notes.resource;
    let policies = resource.spec.get("policies");
    let has_policy = |family: &str, name: &str| policies.and_then(|all| all.get(family)?.get(name)).is_some();
    for (path, target) in targets(resource) {
        for (field, family) in [("timeout", "timeouts"), ("retry", "retries"), ("circuitBreaker", "circuitBreakers")] {
            let Some(name) = target.get(field).and_then(Value::as_str) else { continue };
            // A timeout may also be a duration as it is.
            let is_duration = field == "timeout" && name.starts_with(|letter: char| letter.is_ascii_digit());
            if !is_duration && !has_policy(family, name) {
                let message = format!("names `{name}`, which spec.policies.{family} does not have");
                notes.error("unknown-policy", format!("{path}.{field}"), message);
            }
        }
    }
    let components = resource.spec.get("targets").and_then(|targets| targets.get("components")?.as_object());
    for name in components.into_iter().flat_map(|components| components.keys()) {
        if find_component(resource, all, name).is_none() {
            let message = "is a target, and the namespace has no component of this name here";
            notes.warning("unknown-component", format!("spec.targets.components.{name}"), message);
        }
    }
}

/// Every target of a Resiliency, with its path. Those of components have two directions each.
fn targets(resource: &Resource) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let Some(targets) = resource.spec.get("targets") else { return found };
    for family in ["apps", "actors", "components"] {
        for (name, target) in targets.get(family).and_then(Value::as_object).into_iter().flatten() {
            let path = format!("spec.targets.{family}.{name}");
            for direction in ["inbound", "outbound"] {
                if let Some(target) = target.get(direction).filter(|_| family == "components") {
                    found.push((format!("{path}.{direction}"), target));
                }
            }
            found.push((path, target));
        }
    }
    found
}

fn find_component<'a>(beside: &Resource, all: &'a [Resource], name: &str) -> Option<&'a Resource> {
    all.iter().find(|other| {
        other.id.kind == Kind::Component && other.id.namespace == beside.id.namespace && other.id.name == name
    })
}
