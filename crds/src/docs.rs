//! `docs/crds.md`: every field of every kind, written from the CRDs. Writing to text cannot fail.

use std::fmt::Write as _;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value};

use crate::definitions::DefinitionError;

#[cfg(test)]
mod tests;

const HEAD: &str = "\
# The kinds, field by field

Written from `crds/src` by `make crds`; do not edit. The same texts are in `kubectl explain <kind> --recursive`. What a person
writes of each kind is in [examples](examples).

In a field's name `[]` stands for an item of a list and `{}` for a value of a map. What has no default and is not required may
be left out. Nothing fills in a status: a field that is not there is not known.
";

/// The page with the reference of these kinds.
pub fn markdown(crds: &[CustomResourceDefinition]) -> Result<String, DefinitionError> {
    let mut text = HEAD.to_owned();
    text.push_str("\n| kind | short | lives in |\n|---|---|---|\n");
    for crd in crds {
        let names = &crd.spec.names;
        let short = names.short_names.iter().flatten().next().map_or("", String::as_str);
        let place = if crd.spec.scope == "Namespaced" { "a namespace" } else { "the cluster" };
        let kind = &names.kind;
        let _ = writeln!(text, "| [{kind}](#{}) | `{short}` | {place} |", kind.to_lowercase());
    }
    for crd in crds {
        let make = |cause| DefinitionError::Docs { name: crd.spec.names.plural.clone(), cause };
        kind(&serde_json::to_value(crd).map_err(make)?, &mut text);
    }
    Ok(text)
}

fn kind(crd: &Value, text: &mut String) {
    let name = crd.pointer("/spec/names/kind").and_then(Value::as_str).unwrap_or_default();
    let Some(schema) = crd.pointer("/spec/versions/0/schema/openAPIV3Schema") else { return };
    let _ = writeln!(text, "\n## {name}\n\n{}", paragraphs(schema).join("\n\n"));
    for part in ["spec", "status"] {
        let Some(schema) = schema.pointer(&format!("/properties/{part}")) else { continue };
        let _ = writeln!(text, "\n### {name} {part}\n\n{}\n", paragraphs(schema).join("\n\n"));
        text.push_str("| field | type | default | limits | says |\n|---|---|---|---|---|\n");
        let mut rules = Vec::new();
        refusals(schema, part, &mut rules);
        fields(schema, part, text, &mut rules);
        if !rules.is_empty() {
            text.push_str("\nRefused, with what to do:\n\n");
            for (field, message) in &rules {
                let _ = writeln!(text, "- `{field}`: {message}");
            }
        }
    }
}

type Rules = Vec<(String, String)>;

/// A line for each field, those of an object below it.
fn fields(schema: &Value, path: &str, text: &mut String, rules: &mut Rules) {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.{name}");
        let mut limits = limits(field);
        if required.contains(&name.as_str()) {
            limits.insert(0, "required".to_owned());
        }
        let default = field.get("default").map_or_else(String::new, |default| format!("`{}`", plain(default)));
        let says = paragraphs(field).iter().map(|text| escape(text)).collect::<Vec<_>>().join("<br>");
        let kind = type_of(field);
        let _ =
            writeln!(text, "| `{path}` | {kind} | {} | {} | {says} |", escape(&default), escape(&limits.join(", ")));
        refusals(field, &path, rules);
        below(field, &path, text, rules);
    }
}

fn below(field: &Value, path: &str, text: &mut String, rules: &mut Rules) {
    fields(field, path, text, rules);
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = field.get(keyword).filter(|inner| inner.is_object()) {
            let path = format!("{path}{mark}");
            refusals(inner, &path, rules);
            below(inner, &path, text, rules);
        }
    }
}

fn refusals(schema: &Value, path: &str, rules: &mut Rules) {
    let given = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    let messages = given.filter_map(|rule| rule.get("message").and_then(Value::as_str));
    rules.extend(messages.map(|message| (path.to_owned(), message.to_owned())));
}

fn type_of(schema: &Value) -> String {
    let word = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    match (word, schema.get("items"), schema.get("additionalProperties")) {
        ("array", Some(items), _) => format!("list of {}", type_of(items)),
        ("object", _, Some(values)) if values.is_object() => format!("map of {}", type_of(values)),
        ("string", ..) if schema.get("enum").is_some() => "enum".to_owned(),
        ("string", ..) if schema.get("format").is_some_and(|format| format == "date-time") => "time".to_owned(),
        _ => word.to_owned(),
    }
}

/// What the API server holds a value to.
fn limits(schema: &Value) -> Vec<String> {
    let Some(schema) = schema.as_object() else { return Vec::new() };
    let mut limits = Vec::new();
    for (least, most, unit) in [
        ("minLength", "maxLength", "characters"),
        ("minItems", "maxItems", "items"),
        ("minProperties", "maxProperties", "keys"),
        ("minimum", "maximum", ""),
    ] {
        limits.extend(range(schema.get(least), schema.get(most), unit));
    }
    limits.extend(values(schema));
    if let Some(items) = schema.get("items") {
        limits.extend(self::limits(items).into_iter().map(|limit| format!("each {limit}")));
    }
    limits
}

fn values(schema: &Map<String, Value>) -> Option<String> {
    let values = schema.get("enum")?.as_array()?;
    Some(values.iter().map(|value| format!("`{}`", plain(value))).collect::<Vec<_>>().join(" "))
}

/// As `1 to 63 characters`; the largest that a number can be at all is not worth telling.
fn range(least: Option<&Value>, most: Option<&Value>, unit: &str) -> Option<String> {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let most = number(most).filter(|most| *most < f64::from(i32::MAX));
    let text = match (number(least), most) {
        (None, None) => return None,
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
    };
    Some(if unit.is_empty() { text } else { format!("{text} {unit}") })
}

/// What a schema says, without the default, which has a column of its own.
fn paragraphs(schema: &Value) -> Vec<String> {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut paragraphs: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
    if let (Some(first), Some(_)) = (paragraphs.first_mut(), schema.get("default"))
        && let Some(at) = first.rfind(" Default: ")
    {
        first.truncate(at);
    }
    paragraphs
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A bar would end the cell, and what looks like a tag would vanish.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
