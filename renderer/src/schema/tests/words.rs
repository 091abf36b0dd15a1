use super::*;

fn one(schema: &Json, value: &Json, expected: &str) {
    assert_eq!(said(schema, value), [expected], "{schema} {value}");
}

#[test]
fn a_wrong_type_is_named_with_what_it_must_be() {
    let typed = |kind: Json| json!({"properties": {"x": {"type": kind, "minLength": 3}}});
    one(&typed(json!("integer")), &json!({"x": "many"}), "x must be a whole number, not text");
    one(&typed(json!("integer")), &json!({"x": "3"}), "x must be a whole number, not text (remove the quotes)");
    one(&typed(json!("integer")), &json!({"x": 1.5}), "x must be a whole number, not 1.5");
    one(&typed(json!("string")), &json!({"x": 8}), "x must be text, not a whole number (put it in quotes: \"8\")");
    one(&typed(json!("boolean")), &json!({"x": "true"}), "x must be a boolean, not text (remove the quotes)");
    one(&typed(json!(["string", "null"])), &json!({"x": []}), "x must be null or text, not a list");
    one(&typed(json!(["integer", "number"])), &json!({"x": {}}), "x must be a number, not a map");
    one(
        &typed(json!("object")),
        &json!({"x": null}),
        "x must be a map, not null (a key without a value is null: give it one, or remove the key)",
    );
    one(&json!({"type": "object"}), &json!([]), "the top level must be a map, not a list");
    one(&json!({"properties": {"x": false}}), &json!({"x": 1}), "x is not allowed");
}

#[test]
fn allowed_values_are_listed_with_the_one_that_was_meant() {
    let mode = json!({"properties": {"mode": {"enum": ["first", "second", 3, null]}}});
    one(
        &mode,
        &json!({"mode": "fisrt"}),
        "mode must be one of \"first\", \"second\", 3, null (did you mean \"first\"?)",
    );
    one(&mode, &json!({"mode": "other"}), "mode must be one of \"first\", \"second\", 3, null");
    one(&json!({"const": "v1"}), &json!("v2"), "the top level must be \"v1\"");
    one(&json!({"const": [1]}), &json!([]), "the top level must be a certain list");
    let many: Vec<u32> = (0..40).collect();
    one(&json!({"enum": many}), &json!(50), "the top level must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 30 more");
}

#[test]
fn numbers_out_of_bounds_are_shown_with_the_bound() {
    let cases = [
        (json!({"maximum": 65535}), json!(70000), "the top level must be at most 65535, not 70000"),
        (json!({"minimum": 1}), json!(0), "the top level must be at least 1, not 0"),
        (json!({"exclusiveMinimum": 0}), json!(0.0), "the top level must be more than 0, not 0.0"),
        (json!({"exclusiveMaximum": 1.5}), json!(1.5), "the top level must be less than 1.5, not 1.5"),
        (json!({"multipleOf": 0.1}), json!(0.35), "the top level must be a multiple of 0.1, not 0.35"),
        (json!({"maximum": 1}), json!(1e300), "the top level must be at most 1, not 1e300"),
    ];
    for (schema, value, expected) in cases {
        one(&schema, &value, expected);
    }
    assert!(accepts(&json!({"multipleOf": 0.1}), &json!(0.3)));
}

#[test]
fn counts_are_shown_and_characters_are_code_points() {
    let cases = [
        (json!({"minLength": 3}), json!("é😀"), "the top level must have at least 3 characters, not 2"),
        (json!({"maxLength": 1}), json!("ab"), "the top level must have at most 1 character, not 2"),
        (json!({"minLength": 1}), json!(""), "the top level must not be empty"),
        (json!({"minItems": 2}), json!([1]), "the top level must have at least 2 items, not 1"),
        (json!({"maxItems": 0}), json!([1]), "the top level must be empty"),
        (json!({"minProperties": 2}), json!({"a": 1}), "the top level must have at least 2 keys, not 1"),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 1}), "the top level must have at most 1 key, not 2"),
        (
            json!({"uniqueItems": true}),
            json!([{"a": 1}, 2, {"a": 1.0}]),
            "the top level must not hold the same item twice: [0] and [2] are equal",
        ),
        (json!({"contains": {"const": 1}}), json!([2]), "the top level has no item of the required form"),
        (
            json!({"contains": {"const": 1, "description": "the number one"}, "minContains": 2}),
            json!([1]),
            "the top level must have at least 2 items of the required form, not 1 (the number one)",
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            json!([1, 1]),
            "the top level must have at most 1 item of the required form, not 2",
        ),
    ];
    for (schema, value, expected) in cases {
        one(&schema, &value, expected);
    }
}

#[test]
fn a_text_that_does_not_match_is_told_the_pattern_and_what_it_means() {
    let named = json!({"properties": {"name": {"pattern": "^[a-z]+$", "description": "lower-case letters\nonly"}}});
    one(&named, &json!({"name": "A1"}), "name must match ^[a-z]+$ (lower-case letters)");
    assert!(accepts(&json!({"pattern": "b"}), &json!("abc")));
}

#[test]
fn keys_that_are_missing_or_unknown_are_named_with_what_was_meant() {
    let image = json!({"properties": {"image": {
        "properties": {"tag": {}, "name": {}}, "required": ["tag"], "additionalProperties": false
    }}});
    assert_eq!(
        said(&image, &json!({"image": {"tga": 1}})),
        [
            "image has no key tag, which is required (there is a key tga: was tag meant?)",
            "image.tga is not a known key (did you mean tag?)"
        ]
    );
    one(&image, &json!({"image": {"tag": 1, "pull": 1}}), "image.pull is not a known key (known keys: name, tag)");
    one(
        &json!({"properties": {"port": {}, "ports": {}}, "required": ["port"]}),
        &json!({"ports": []}),
        "the top level has no key port, which is required",
    );
    one(
        &json!({"dependentRequired": {"cert": ["secret-key"]}}),
        &json!({"cert": 1}),
        "the top level has no key secret-key, which cert requires",
    );
    one(
        &json!({"properties": {"labels": {"propertyNames": {"maxLength": 3}}}}),
        &json!({"labels": {"long": 1, "a.b": 2}}),
        "the key long of labels must have at most 3 characters, not 4",
    );
    one(
        &json!({"patternProperties": {"^x": {"type": "null"}}}),
        &json!({"xy": 1}),
        "xy must be null, not a whole number",
    );
    one(
        &json!({"$ref": "#/$defs/base", "$defs": {"base": {"properties": {"name": {}}}}, "unevaluatedProperties": false}),
        &json!({"nmae": 1}),
        "nmae is not a known key (did you mean name?)",
    );
    one(&json!({"prefixItems": [{}], "unevaluatedItems": false}), &json!([1, 2]), "[1] is not allowed");
}

#[test]
fn alternatives_that_differ_in_type_or_value_are_told_together() {
    one(
        &json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        &json!([]),
        "the top level must be a whole number or text, not a list",
    );
    one(
        &json!({"oneOf": [{"const": "red", "description": "x"}, {"const": "green"}]}),
        &json!("gren"),
        "the top level must be one of \"red\", \"green\" (did you mean \"green\"?)",
    );
}

#[test]
fn the_one_alternative_that_was_meant_speaks_for_itself() {
    let by_type = json!({"properties": {"image": {"anyOf": [
        {"type": "null"},
        {"type": "object", "properties": {"tag": {"type": "string"}}}
    ]}}});
    one(
        &by_type,
        &json!({"image": {"tag": 1}}),
        "image.tag must be text, not a whole number (put it in quotes: \"1\")",
    );
    let by_mark = json!({"oneOf": [
        {"properties": {"kind": {"const": "disk"}, "size": {"type": "integer"}}, "required": ["kind", "size"]},
        {"properties": {"kind": {"const": "memory"}}}
    ]});
    one(&by_mark, &json!({"kind": "disk"}), "the top level has no key size, which is required");
}

#[test]
fn other_alternatives_are_listed_with_what_is_wrong_with_each() {
    let needs = |key: &str| json!({"required": [key]});
    one(
        &json!({"anyOf": [needs("alpha"), {"required": ["beta"], "title": "the second"}]}),
        &json!({}),
        "the top level fits none of 2 alternatives: 1: the top level has no key alpha, which is required; \
         \"the second\": the top level has no key beta, which is required",
    );
    one(
        &json!({"oneOf": [{"minimum": 1}, {"minimum": 2}, {"minimum": 9}]}),
        &json!(5),
        "the top level must fit one alternative only, but fits 1 and 2",
    );
    let many: Vec<Json> = (0..12).map(|n| needs(&format!("key-{n}"))).collect();
    let listed = said(&json!({"anyOf": many}), &json!({}));
    assert!(listed[0].starts_with("the top level fits none of 12 alternatives: 1: "), "{listed:?}");
    assert!(listed[0].ends_with("; and 9 more"), "{listed:?}");
}

#[test]
fn what_is_excluded_is_said_and_conditions_speak_for_their_branch() {
    let cases = [
        (json!({"not": {"const": "latest"}}), json!("latest"), "the top level must not be \"latest\""),
        (json!({"not": {"type": ["string", "null"]}}), json!("a"), "the top level must not be null or text"),
        (json!({"not": {"pattern": "^a"}}), json!("ab"), "the top level must not match ^a"),
        (json!({"not": {"required": ["a"]}}), json!({"a": 1}), "the top level must not have the key a"),
        (
            json!({"not": {"required": ["a", "b"], "description": "one or the other"}}),
            json!({"a": 1, "b": 1}),
            "the top level must not have the keys a and b together (one or the other)",
        ),
        (
            json!({"not": {"minimum": 1, "maximum": 2}}),
            json!(1),
            "the top level is of a form that the schema excludes with `not`",
        ),
        (
            json!({"if": {"required": ["tls"]}, "then": {"required": ["certificate"]}, "else": {"required": ["plain"]}}),
            json!({"tls": 1}),
            "the top level has no key certificate, which is required",
        ),
    ];
    for (schema, value, expected) in cases {
        one(&schema, &value, expected);
    }
}

#[test]
fn texts_of_the_values_are_never_shown_and_long_keys_are_cut() {
    let secret = "hunter2-hunter2";
    let rules = [
        json!({"type": "integer"}),
        json!({"const": "x"}),
        json!({"enum": ["x", "y"]}),
        json!({"pattern": "^$"}),
        json!({"maxLength": 1}),
        json!({"not": {"minLength": 1}}),
        json!({"anyOf": [{"maxLength": 1}, {"pattern": "^$"}]}),
        json!(false),
    ];
    for rule in rules {
        let said = said(&json!({"properties": {"password": rule}}), &json!({"password": secret}));
        assert_eq!(said.len(), 1, "{rule}");
        assert!(!said[0].contains("hunter"), "{said:?}");
    }
    let long = "k".repeat(10_000);
    let said = said(&json!({"additionalProperties": false, "properties": {"a": {}}}), &json!({(long): 1}));
    assert!(said[0].chars().count() < 120, "{said:?}");
}
