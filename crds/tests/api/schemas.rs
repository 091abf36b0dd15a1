//! Walks the generated schemas: where the rules and enums are.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use reeve_crds::definitions;
use serde_json::Value;

/// A rule where it stands.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Rule {
    pub(super) kind: String,
    /// Such as `spec.plugins[].hooks`; empty for the root.
    pub(super) at: String,
    pub(super) message: String,
}

/// All rules of all kinds.
pub(super) fn rules() -> Vec<Rule> {
    let mut found = Vec::new();
    for crd in definitions::all().unwrap() {
        let kind = crd.spec.names.kind.clone();
        walk(&schema(&crd), "", &mut |at, schema| {
            for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
                let message = rule["message"].as_str().unwrap().to_owned();
                found.push(Rule { kind: kind.clone(), at: at.to_owned(), message });
            }
        });
    }
    found
}

/// The schema of a CRD's only version.
pub(super) fn schema(crd: &CustomResourceDefinition) -> Value {
    serde_json::to_value(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap()).unwrap()
}

/// Visits a schema and all below it, with the path of each.
pub(super) fn walk(schema: &Value, at: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(at, schema);
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let below = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        walk(property, &below, visit);
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{at}[]"), visit);
    }
    if let Some(values) = schema.get("additionalProperties") {
        walk(values, &format!("{at}{{}}"), visit);
    }
}

/// The value at a path of the form `spec.plugins[].endpoint`, in the first item of each list.
pub(super) fn find_mut<'a>(object: &'a mut Value, at: &str) -> Option<&'a mut Value> {
    let mut value = object;
    for step in at.split('.') {
        let name = step.trim_end_matches("[]");
        value = value.get_mut(name)?;
        for _ in 0..step.matches("[]").count() {
            value = value.get_mut(0)?;
        }
    }
    Some(value)
}
