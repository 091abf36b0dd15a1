//! The object of a component, and what makes one that is there this one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use reeve_crds::runtime_component::RuntimeComponentSpec;
use reeve_crds::{GROUP, VERSION};
use reeve_renderer_objects::bundle::{COMPONENT_LABEL, RUNTIME_LABEL};
use serde_json::{Value, json};

/// The object with this spec.
pub(super) fn object(runtime: &str, owner: &OwnerReference, spec: &RuntimeComponentSpec) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "RuntimeComponent",
        "metadata": {
            "name": component_name(runtime, &spec.component),
            "labels": { RUNTIME_LABEL: runtime, COMPONENT_LABEL: spec.component },
            "ownerReferences": [owner],
        },
        "spec": spec,
    })
}

/// What a spec may be without. `suspend` is not among it: it belongs to people.
const OPTIONAL: [&str; 6] = ["channel", "dependsOn", "namespace", "origin", "serviceAccountName", "timeout"];

/// What makes the object of a component this one: what its spec is without goes.
pub(super) fn change(object: &Value) -> Value {
    let mut change = object.clone();
    if let Some(spec) = change["spec"].as_object_mut() {
        for field in OPTIONAL {
            spec.entry(field).or_insert(Value::Null);
        }
    }
    change
}

/// The name of a component's object. A component's name has no dot, so no two share one.
pub fn component_name(runtime: &str, component: &str) -> String {
    format!("{runtime}.{component}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reeve_crds::runtime_component::ComponentTarget;

    use super::*;

    #[test]
    fn a_change_takes_away_whatever_a_spec_is_without_but_what_belongs_to_people() {
        let full = RuntimeComponentSpec {
            runtime: "eu".to_owned(),
            component: "web".to_owned(),
            target: ComponentTarget::Runtime,
            chart: "web".to_owned(),
            version: "1.0.0".to_owned(),
            channel: Some("stable".to_owned()),
            namespace: Some("shop".to_owned()),
            origin: Some("runtimes/eu.yaml:3".to_owned()),
            depends_on: vec!["db".to_owned()],
            service_account_name: Some("web".to_owned()),
            timeout: Some(Duration::from_secs(1).into()),
            suspend: Some(true),
        };
        let bare = json!({ "spec": { "runtime": "eu", "component": "web", "target": "Runtime", "chart": "web", "version": "1.0.0" } });
        let changed = change(&bare);
        let gone = |field: &str| changed["spec"].get(field) == Some(&Value::Null);
        for (field, _) in serde_json::to_value(&full).unwrap().as_object().unwrap() {
            let is_theirs = field == "suspend";
            assert_eq!(gone(field), bare["spec"].get(field).is_none() && !is_theirs, "{field}");
        }
        let whole = json!({ "spec": full });
        assert_eq!(change(&whole), whole, "what is there stays");
    }
}
