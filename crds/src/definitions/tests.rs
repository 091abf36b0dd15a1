use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{all, file};

#[test]
fn the_checked_in_yaml_is_what_the_types_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("yaml");
    let expected: BTreeMap<String, String> = all().unwrap().iter().map(|crd| file(crd).unwrap()).collect();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.insert(name, fs::read_to_string(&path).unwrap());
    }
    assert!(found.keys().eq(expected.keys()), "run `make crds`: {:?} is not {:?}", found.keys(), expected.keys());
    for (name, contents) in &expected {
        assert!(found[name] == *contents, "crds/yaml/{name} is stale: run `make crds`");
    }
}

#[test]
fn every_field_has_a_description() {
    let silent = offenders(|schema| {
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        text.is_empty() || text.contains("derived type")
    });
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn every_default_is_told() {
    let untold = offenders(|schema| {
        let text = schema["description"].as_str().unwrap_or_default();
        schema.get("default").is_some_and(|default| !default.is_object()) && !text.contains(" Default: ")
    });
    assert_eq!(untold, Vec::<String>::new());
}

#[test]
fn no_status_is_filled_in_by_the_api_server() {
    let crds = serde_json::to_value(all().unwrap()).unwrap();
    for crd in crds.as_array().unwrap() {
        let status = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/status");
        assert!(
            status.is_none_or(|status| !status.to_string().contains(r#""default":"#)),
            "{}",
            crd["metadata"]["name"]
        );
    }
}

#[test]
fn every_list_map_and_text_has_a_limit() {
    let unbounded = offenders(|schema| match schema.get("type").and_then(Value::as_str) {
        Some("array") => schema.get("maxItems").is_none(),
        Some("string") => {
            !["maxLength", "enum", "format"].iter().any(|limit| schema.get(*limit).is_some_and(|v| !v.is_null()))
        }
        Some("object") => schema.get("properties").is_none() && schema.get("maxProperties").is_none(),
        Some("integer") => schema.get("minimum").is_none() || schema.get("maximum").is_none(),
        Some("boolean") => false,
        other => panic!("what limits {other:?}?"),
    });
    assert_eq!(unbounded, Vec::<String>::new());
}

#[test]
fn every_list_says_how_it_merges() {
    let undecided = offenders(|schema| schema.get("items").is_some() && schema.get("x-kubernetes-list-type").is_none());
    assert_eq!(undecided, Vec::<String>::new());
}

#[test]
fn nothing_of_the_generator_is_left_over() {
    let untidy = offenders(|schema| {
        let keywords = ["nullable", "title", "anyOf", "oneOf", "allOf", "not"];
        let formats = ["int32", "int64", "date-time"];
        keywords.iter().any(|keyword| schema.get(*keyword).is_some())
            || schema.get("format").is_some_and(|format| !formats.iter().any(|known| format == known))
            || schema.get("default").is_some_and(|default| default.is_null() || default == &serde_json::json!([]))
    });
    assert_eq!(untidy, Vec::<String>::new());
}

#[test]
fn every_rule_has_a_message_on_one_line() {
    let mute = offenders(|schema| {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
        rules.clone().any(|rule| rule["message"].as_str().is_none_or(|text| text.is_empty() || text.contains('\n')))
    });
    assert_eq!(mute, Vec::<String>::new());
}

#[test]
fn every_kind_is_found_under_its_short_name_and_the_category() {
    let names: Vec<(String, String, String)> = all()
        .unwrap()
        .into_iter()
        .map(|crd| {
            let names = crd.spec.names;
            assert_eq!(names.categories, Some(vec!["reeve".to_owned()]), "{}", names.kind);
            (names.kind, names.short_names.unwrap().join(" "), crd.spec.scope)
        })
        .collect();
    let expected = [
        ("GitSource", "gsrc", "Namespaced"),
        ("Runtime", "rt", "Namespaced"),
        ("RuntimeComponent", "rtc", "Namespaced"),
        ("Inventory", "inv", "Namespaced"),
        ("ScalingRule", "sr", "Namespaced"),
        ("NodeHook", "nh", "Cluster"),
        ("NodeHookStatus", "nhs", "Cluster"),
        ("DaprWorkload", "dw", "Namespaced"),
    ];
    assert!(names.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).eq(expected), "{names:?}");
}

/// Paths of all schemas for which `is_bad` holds, except what the API server itself defines.
fn offenders(is_bad: impl Fn(&Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for crd in all().unwrap() {
        let schema = crd.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        let schema = serde_json::to_value(schema).unwrap();
        walk(&schema, &crd.spec.names.kind, &mut |path, schema| {
            if is_bad(schema) {
                found.push(path.to_owned());
            }
        });
    }
    found
}

fn walk(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), visit);
    }
    if let Some(items) = schema.get("items") {
        walk_inner(items, &format!("{path}[]"), visit);
    }
    if let Some(values) = schema.get("additionalProperties") {
        walk_inner(values, &format!("{path}{{}}"), visit);
    }
}

/// An item is described by its list; only objects have fields to describe.
fn walk_inner(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    let mut schema = schema.clone();
    if schema.get("description").is_none() {
        schema["description"] = "described by its list".into();
    }
    walk(&schema, path, visit);
}
