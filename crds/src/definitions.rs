//! The CRDs of all kinds, tidy enough to be read by people and accepted by every API server.
//!
//! What the schema generator writes for Rust's sake is taken out here and nowhere else: `nullable`, titles, integer
//! formats that Kubernetes does not know, defaults that say nothing, line breaks inside paragraphs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Map, Value};

use crate::{DaprWorkload, GitSource, Inventory, NodeHook, NodeHookStatus, Runtime, RuntimeComponent, ScalingRule};

/// Why a CRD could not be made or written; a mistake in the types, never in a user's data.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A CRD is not valid JSON.
    #[error("cannot make the CRD {name}")]
    Make {
        /// Name of the CRD.
        name: &'static str,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// A CRD cannot be written as YAML.
    #[error("cannot write the CRD {name} as YAML")]
    Write {
        /// Name of the CRD.
        name: String,
        /// Why.
        #[source]
        cause: serde_yaml::Error,
    },
    /// The docs of a CRD cannot be written.
    #[error("cannot write the docs of the CRD {name}")]
    Docs {
        /// Name of the CRD.
        name: String,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

/// The CRDs of all kinds, in the order in which people meet them.
pub fn all() -> Result<Vec<CustomResourceDefinition>, DefinitionError> {
    Ok(vec![
        definition::<GitSource>()?,
        definition::<Runtime>()?,
        definition::<RuntimeComponent>()?,
        definition::<Inventory>()?,
        definition::<ScalingRule>()?,
        definition::<NodeHook>()?,
        definition::<NodeHookStatus>()?,
        definition::<DaprWorkload>()?,
    ])
}

/// The file of a CRD in `crds/yaml/` and its contents: the same bytes whenever the types are the same.
pub fn file(crd: &CustomResourceDefinition) -> Result<(String, String), DefinitionError> {
    let name = crd.spec.names.plural.clone();
    let write = |cause| DefinitionError::Write { name: name.clone(), cause };
    let value = serde_yaml::to_value(crd).map_err(write)?;
    let yaml = serde_yaml::to_string(&sorted(value)).map_err(write)?;
    Ok((format!("{name}.yaml"), format!("# Generated from crds/src by `make crds`. Do not edit.\n{yaml}")))
}

fn definition<K: CustomResourceExt>() -> Result<CustomResourceDefinition, DefinitionError> {
    let make = |cause| DefinitionError::Make { name: K::crd_name(), cause };
    let mut crd = serde_json::to_value(K::crd()).map_err(make)?;
    if let Some(versions) = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut) {
        for schema in versions.iter_mut().filter_map(|version| version.pointer_mut("/schema/openAPIV3Schema")) {
            if let Some(status) = schema.pointer_mut("/properties/status") {
                drop_defaults(status);
            }
            tidy(schema);
        }
    }
    serde_json::from_value(crd).map_err(make)
}

/// Takes the defaults out of a status: what Reeve did not write there it does not know, and nobody should fill in.
fn drop_defaults(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("default");
    below(object).for_each(drop_defaults);
}

/// Tidies one schema and all below it.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("nullable");
    if object.get("format").is_some_and(|format| !is_known_format(format)) {
        object.remove("format");
    }
    if object.get("default").is_some_and(says_nothing) {
        object.remove("default");
    }
    if let Some(values) = object.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    bound_integer(object);
    let meanings = take_meanings(object);
    describe(object, meanings.as_deref());
    below(object).for_each(tidy);
}

/// The API server takes a format for a hint: without a maximum it would admit numbers that no reader can hold.
fn bound_integer(schema: &mut Map<String, Value>) {
    let largest = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => i64::from(i32::MAX),
        // The largest that JSON's numbers hold exactly.
        Some("int64") => (1 << 53) - 1,
        _ => return,
    };
    schema.entry("maximum").or_insert(largest.into());
}

/// The schemas right below one.
fn below(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    schema.iter_mut().flat_map(|(keyword, value)| match (keyword.as_str(), value) {
        ("items" | "additionalProperties", schema) => vec![schema],
        ("properties", Value::Object(properties)) => properties.values_mut().collect(),
        _ => Vec::new(),
    })
}

fn is_known_format(format: &Value) -> bool {
    format.as_str().is_some_and(|format| ["int32", "int64", "double", "date-time"].contains(&format))
}

fn says_nothing(default: &Value) -> bool {
    default.is_null() || default.as_array().is_some_and(Vec::is_empty)
}

/// Takes the meanings of an enum's values out of `title`, see `schema::closed_set`; for a list, those of its items.
fn take_meanings(schema: &mut Map<String, Value>) -> Option<String> {
    let title = schema.remove("title").filter(|_| schema.contains_key("enum"));
    match title {
        Some(Value::String(meanings)) => Some(meanings),
        _ => take_meanings(schema.get_mut("items")?.as_object_mut()?),
    }
}

/// Joins what a field means, its default, and what each of its values means, a paragraph each, with no line breaks inside.
fn describe(schema: &mut Map<String, Value>, meanings: Option<&str>) {
    let mut paragraphs: Vec<String> = Vec::new();
    for text in [schema.get("description").and_then(Value::as_str), meanings].into_iter().flatten() {
        paragraphs.extend(text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ").trim().to_owned()));
    }
    if let (Some(first), Some(default)) = (paragraphs.first_mut(), schema.get("default").and_then(in_words)) {
        *first = format!("{first} Default: {default}.");
    }
    if !paragraphs.is_empty() {
        schema.insert("description".to_owned(), paragraphs.join("\n\n").into());
    }
}

/// A default as `kubectl explain` should show it, which does not do so itself; fields of objects have their own.
fn in_words(default: &Value) -> Option<String> {
    match default {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(default.to_string()),
        Value::Array(items) => Some(items.iter().filter_map(in_words).collect::<Vec<_>>().join(", ")),
        Value::Object(_) | Value::Null => None,
    }
}

fn sorted(value: serde_yaml::Value) -> serde_yaml::Value {
    match value {
        serde_yaml::Value::Mapping(mapping) => {
            let mut entries: Vec<_> = mapping.into_iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
            entries.into_iter().map(|(key, value)| (key, sorted(value))).collect::<serde_yaml::Mapping>().into()
        }
        serde_yaml::Value::Sequence(items) => items.into_iter().map(sorted).collect::<Vec<_>>().into(),
        plain => plain,
    }
}

#[cfg(test)]
mod tests;
