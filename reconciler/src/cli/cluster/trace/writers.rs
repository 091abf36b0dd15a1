//! Who else writes an object: its field managers, and the marks that other tools leave.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use reeve_reconciler_engine::fields::Manager;
use reeve_renderer::bundle::MANAGED_BY;
use serde_json::Value;

/// Fields of one manager that are named.
const FIELDS: usize = 3;

/// A field manager and some of its fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Writer {
    pub(super) manager: String,
    /// `Apply` or `Update`, with the subresource.
    pub(super) operation: String,
    pub(super) at: Option<Timestamp>,
    pub(super) fields: Vec<String>,
    /// How many more there are.
    pub(super) more: usize,
}

/// Everyone but Reeve who wrote a field that is wanted, the last one first. A status is there for others to write.
pub(super) fn others(object: &DynamicObject) -> Vec<Writer> {
    let mut writers: Vec<Writer> = object
        .managed_fields()
        .iter()
        .filter(|entry| !entry.manager.as_deref().is_some_and(Manager::is_reeve))
        .filter(|entry| entry.subresource.as_deref() != Some("status"))
        .map(|entry| {
            let mut fields = Vec::new();
            if let Some(set) = &entry.fields_v1 {
                leaves(&set.0, "", &mut fields);
            }
            let operation = entry.operation.as_deref().unwrap_or("Update");
            let sub = entry.subresource.as_deref().filter(|sub| !sub.is_empty());
            Writer {
                manager: entry.manager.clone().unwrap_or_default(),
                operation: sub.map_or_else(|| operation.to_owned(), |sub| format!("{operation} {sub}")),
                at: entry.time.as_ref().map(|time| time.0),
                more: fields.len().saturating_sub(FIELDS),
                fields: fields.into_iter().take(FIELDS).collect(),
            }
        })
        .collect();
    writers.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.manager.cmp(&b.manager)));
    writers
}

/// Other tools that say the object is theirs.
pub(super) fn claims(object: &DynamicObject) -> Vec<String> {
    let known = [
        (object.annotations(), "meta.helm.sh/release-name", "Helm release"),
        (object.labels(), "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"),
        (object.labels(), "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"),
        (object.annotations(), "argocd.argoproj.io/tracking-id", "Argo CD application"),
        (object.labels(), MANAGED_BY, "managed by"),
    ];
    let claim = |(map, key, what): (&std::collections::BTreeMap<String, String>, &str, &str)| {
        map.get(key).map(|value| format!("{what} {value}"))
    };
    known.into_iter().filter_map(claim).collect()
}

/// Paths of what a manager owns, such as `spec.replicas`; items of lists by their keys.
fn leaves(set: &Value, path: &str, found: &mut Vec<String>) {
    let Some(map) = set.as_object() else { return };
    let below = map.iter().filter(|(key, _)| *key != ".");
    let mut is_leaf = true;
    for (key, value) in below {
        is_leaf = false;
        let step = match key.split_once(':') {
            Some(("f", name)) if path.is_empty() => name.to_owned(),
            Some(("f", name)) => format!("{path}.{name}"),
            Some((_, item)) => format!("{path}[{}]", item_name(item)),
            None => format!("{path}.{key}"),
        };
        leaves(value, &step, found);
    }
    if is_leaf && !path.is_empty() {
        found.push(path.to_owned());
    }
}

/// The keys of an item as people read them, such as `name=web`; a value as it is.
fn item_name(item: &str) -> String {
    let Ok(Value::Object(keys)) = serde_json::from_str(item) else { return item.to_owned() };
    let pair = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        other => format!("{key}={other}"),
    };
    keys.iter().map(pair).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_as_people_write_them() {
        let set = serde_json::json!({
            "f:metadata": { "f:labels": { ".": {}, "f:a": {} } },
            "f:spec": { "f:replicas": {}, "f:containers": { "k:{\"name\":\"web\"}": { "f:image": {} } } },
        });
        let mut found = Vec::new();
        leaves(&set, "", &mut found);
        found.sort();
        assert_eq!(found, ["metadata.labels.a", "spec.containers[name=web].image", "spec.replicas"]);
    }
}
