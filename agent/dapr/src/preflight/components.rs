//! Checks of one resource by itself: what it must have, its type, its secrets, its scopes.

use serde_json::Value;

use super::table::{self, Known};
use super::{Finding, Notes};
use crate::kind::Kind;
use crate::resource::Resource;

pub(super) fn check(resource: &Resource, findings: &mut Vec<Finding>) {
    let mut notes = Notes { resource, findings };
    for field in required(resource.id.kind) {
        if resource.spec.get(*field).and_then(Value::as_str).is_none_or(str::is_empty) {
            notes.error("missing-field", format!("spec.{field}"), "is missing, and Dapr requires it");
        }
    }
    if let Some(component_type) = resource.component_type() {
        check_type(component_type, &mut notes);
        check_literals(component_type, &mut notes);
        if resource.scopes.is_empty() {
            notes.warning(
                "unscoped-component",
                "scopes",
                "is empty: every app of the namespace loads the component, and none starts if it cannot; name the apps that use it",
            );
        }
    }
}

fn required(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Component => &["type", "version"],
        Kind::Subscription => &["pubsubname", "topic"],
        Kind::HttpEndpoint => &["baseUrl"],
        Kind::Configuration | Kind::McpServer | Kind::Resiliency | Kind::WorkflowAccessPolicy => &[],
    }
}

fn check_type(component_type: &str, notes: &mut Notes<'_>) {
    match table::find(component_type) {
        Known::Yes => {}
        _ if notes.resource.container.is_some() => {}
        Known::Near(name) => {
            let message = format!("is `{component_type}`, which Dapr does not have; did you mean `{name}`?");
            notes.error("unknown-component-type", "spec.type", message);
        }
        Known::CategoryAlone => {
            let message = format!(
                "is `{component_type}`, which is no component of Dapr's own; sidecars start only if a pluggable component has this name"
            );
            notes.warning("unknown-component-type", "spec.type", message);
        }
        Known::No => {
            let message = format!("is `{component_type}`, which Dapr does not have; write a type such as state.redis");
            notes.error("unknown-component-type", "spec.type", message);
        }
    }
}

/// A secret in clear would be in Git, in etcd and in every backup of both.
fn check_literals(component_type: &str, notes: &mut Notes<'_>) {
    let resource = notes.resource;
    let metadata = resource.spec.get("metadata").and_then(Value::as_array).into_iter().flatten();
    for (index, entry) in metadata.enumerate() {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_literal = entry.get("value").is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
        if is_literal && table::is_sensitive(component_type, name) {
            let message = format!(
                "has the secret `{name}` in clear; put it into a Secret of the runtime, and name that with secretKeyRef"
            );
            notes.error("literal-secret", format!("spec.metadata[{index}].value"), message);
        }
    }
}
