use serde_json::{Value as Json, json};

use super::*;

mod bounds;
mod reading;
mod words;

fn file() -> Arc<str> {
    "values.schema.json".into()
}

fn schema(json: &Json) -> Schema {
    let text = serde_json::to_string_pretty(json).expect("JSON");
    Schema::read(&file(), &text).unwrap_or_else(|findings| panic!("{json}: {findings:?}")).0
}

fn value(json: &Json) -> Value {
    Value::try_from(json.clone()).expect("shallow")
}

/// The violations, each as `message (help)`.
fn said(schema_json: &Json, value_json: &Json) -> Vec<String> {
    let violations = schema(schema_json).check(&value(value_json));
    violations
        .into_iter()
        .map(|violation| match violation.help {
            Some(help) => format!("{} ({help})", violation.message),
            None => violation.message,
        })
        .collect()
}

fn accepts(schema_json: &Json, value_json: &Json) -> bool {
    said(schema_json, value_json).is_empty()
}

#[test]
fn a_schema_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&schema(&json!({})));
}

#[test]
fn a_violation_has_the_path_of_the_value_and_the_place_of_the_rule() {
    let text = "{\n  \"properties\": {\n    \"ports\": {\"items\": {\"maximum\": 65535}}\n  }\n}\n";
    let (schema, warnings) = Schema::read(&file(), text).expect("a schema");
    assert_eq!(warnings, []);
    let violations = schema.check(&value(&json!({"ports": [80, 70000]})));
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path.to_string(), "ports[1]");
    assert_eq!(violations[0].message, "ports[1] must be at most 65535, not 70000");
    assert_eq!(violations[0].rule, Location::new(file(), 3, 25).with_length(9));
}

#[test]
fn violations_come_in_the_order_of_keys_and_each_once() {
    let text = json!({"type": "string"});
    let schema = json!({"allOf": [
        {"properties": {"b": text, "a": text}, "required": ["z"]},
        {"properties": {"b": text}}
    ]});
    assert_eq!(
        said(&schema, &json!({"a": [], "b": []})),
        ["the top level has no key z, which is required", "a must be text, not a list", "b must be text, not a list"]
    );
}

#[test]
fn whole_numbers_may_be_written_as_floats_and_numbers_are_equal_by_value() {
    assert!(accepts(&json!({"type": "integer"}), &json!(1.0)));
    assert!(accepts(&json!({"enum": [1]}), &json!(1.0)));
    assert!(accepts(&json!({"const": {"a": [1.0]}}), &json!({"a": [1]})));
    assert!(!accepts(&json!({"uniqueItems": true}), &json!([1, 1.0])));
    assert!(accepts(&json!({"uniqueItems": true}), &json!([1, true, "1", [1], 0, false])));
    assert!(accepts(&json!({"minLength": 2.0}), &json!("ab")));
}

#[test]
fn a_not_a_number_made_by_a_template_breaks_nothing() {
    let schema = schema(&json!({"uniqueItems": true, "items": {"type": "number", "multipleOf": 2, "enum": [1]}}));
    let items: Vec<Value> = (0..200).map(|n| Value::Float(if n % 3 == 0 { f64::NAN } else { f64::from(n) })).collect();
    assert!(!schema.check(&Value::list(items).expect("shallow")).is_empty());
}

#[test]
fn siblings_of_a_reference_apply_but_not_in_draft_7() {
    let schema = |draft: Option<&str>| {
        let mut schema = json!({"definitions": {"a": {"type": "string"}},
            "properties": {"x": {"$ref": "#/definitions/a", "maxLength": 1}}});
        if let Some(draft) = draft {
            schema["$schema"] = draft.into();
        }
        schema
    };
    let value = json!({"x": "long"});
    assert!(!accepts(&schema(None), &value));
    assert!(!accepts(&schema(Some("https://json-schema.org/draft/2019-09/schema")), &value));
    assert!(accepts(&schema(Some("http://json-schema.org/draft-07/schema#")), &value));
}

#[test]
fn without_a_draft_the_keywords_of_draft_7_work_as_well() {
    let schema = json!({
        "definitions": {"port": {"type": "integer"}},
        "properties": {"pair": {"items": [{"$ref": "#/definitions/port"}], "additionalItems": false}},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}}
    });
    assert!(accepts(&schema, &json!({"pair": [1], "a": 1, "b": 1, "c": 1, "d": 1})));
    assert_eq!(
        said(&schema, &json!({"pair": ["x", 2], "a": 1, "c": 1})),
        [
            "the top level has no key b, which a requires",
            "the top level has no key d, which is required",
            "pair[0] must be a whole number, not text",
            "pair[1] is not allowed"
        ]
    );
}

#[test]
fn references_find_anchors_identifiers_and_escaped_pointers() {
    let schema = json!({
        "$id": "https://example.org/root.json",
        "$defs": {
            "a/b~c%d": {"type": "integer"},
            "named": {"$anchor": "port", "maximum": 9},
            "inner": {"$id": "inner.json", "$defs": {"x": {"type": "string"}}}
        },
        "properties": {
            "pointer": {"$ref": "#/$defs/a~1b~0c%25d"},
            "anchor": {"$ref": "#port"},
            "inner": {"$ref": "inner.json#/$defs/x"},
            "whole": {"$ref": "root.json#/$defs/named"},
            "anywhere": {"$ref": "#/x-own/deep"},
            "self": {"$ref": "#"}
        },
        "x-own": {"deep": {"type": "boolean"}}
    });
    let wrong = json!({"pointer": "x", "anchor": 10, "inner": 1, "whole": 10, "anywhere": 1, "self": {"anchor": 10}});
    assert_eq!(
        said(&schema, &wrong),
        [
            "anchor must be at most 9, not 10",
            "anywhere must be a boolean, not a whole number",
            "inner must be text, not a whole number (put it in quotes: \"1\")",
            "pointer must be a whole number, not text",
            "self.anchor must be at most 9, not 10",
            "whole must be at most 9, not 10"
        ]
    );
}

#[test]
fn dynamic_references_find_the_outermost_anchor() {
    let schema = json!({
        "$id": "https://example.org/strict.json",
        "$dynamicAnchor": "node",
        "$ref": "tree.json",
        "unevaluatedProperties": false,
        "$defs": {"tree": {
            "$id": "tree.json",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"data": true, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}
        }}
    });
    assert!(accepts(&schema, &json!({"children": [{"data": 1}]})));
    assert_eq!(
        said(&schema, &json!({"children": [{"daat": 1}]})),
        ["children[0].daat is not a known key (did you mean data?)"]
    );
}

#[test]
fn formats_and_other_annotations_are_not_checked() {
    let schema = json!({"format": "ipv4", "contentEncoding": "base64", "default": 3, "examples": [{"$ref": "x"}]});
    assert!(accepts(&schema, &json!("no address")));
}
