use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<(Schema, Vec<Diagnostic>), Vec<Diagnostic>> {
    Schema::read(&file(), text)
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::list(vec![inner]).expect("within the depth"))
}

#[test]
fn files_that_are_too_large_or_too_deep_are_refused() {
    let large = format!("{{\"$comment\": \"{}\"}}", "a".repeat(MAX_BYTES));
    assert_eq!(read(&large).expect_err("large")[0].message, "the schema is larger than 1 MiB");
    let deep = format!("{}true{}", "{\"not\": ".repeat(101), "}".repeat(101));
    assert_eq!(read(&deep).expect_err("deep")[0].message, "nested deeper than 100 levels");
    assert!(read(&"[".repeat(MAX_BYTES)).is_err());
    let many = format!("[{}1]", "1,".repeat(300_000));
    assert_eq!(read(&many).expect_err("many")[0].message, "the schema has more than 200000 values");
}

/// Each level twice the next: two to the power of the levels.
fn doubling(keyword: &str, levels: usize) -> String {
    let mut definitions = vec![format!("\"a{levels}\": {{}}")];
    for level in 0..levels {
        let next = format!("{{\"$ref\": \"#/$defs/a{}\"}}", level + 1);
        definitions.push(format!("\"a{level}\": {{\"{keyword}\": [{next}, {next}]}}"));
    }
    format!("{{\"$defs\": {{{}}}, \"$ref\": \"#/$defs/a0\"}}", definitions.join(","))
}

#[test]
fn a_schema_that_multiplies_itself_ends_and_says_so() {
    for keyword in ["allOf", "oneOf"] {
        let (schema, _) = read(&doubling(keyword, 40)).unwrap_or_else(|findings| panic!("{findings:?}"));
        let violations = schema.check(&Value::Null);
        let last = violations.last().expect("a violation");
        assert_eq!(
            last.message, "the check takes more than 1000000 steps: the schema is too complex for these values",
            "{keyword}"
        );
        let long = read(&doubling(keyword, 60)).expect_err("long");
        assert_eq!(long[0].message, "more than 100 schemas apply to one value, one inside the other");
    }
}

#[test]
fn a_dynamic_reference_in_circles_ends_and_says_so() {
    let schema = schema(&json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}));
    let violations = schema.check(&Value::Null);
    assert_eq!(violations.len(), 1);
    assert!(violations[0].message.starts_with("the check goes more than 400 schemas deep"), "{violations:?}");
}

#[test]
fn the_deepest_value_and_the_longest_chain_fit_on_a_stack() {
    let chain = 3;
    let mut inner = json!({"items": {"$ref": "#"}});
    for _ in 0..chain {
        inner = json!({"anyOf": [inner], "unevaluatedItems": true});
    }
    let (schema, deep) = (schema(&inner), nested(100));
    let violations = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || schema.check(&deep))
        .expect("a thread")
        .join()
        .expect("no overflow");
    assert!(violations[0].message.starts_with("the check goes more than 400 schemas deep"), "{violations:?}");
}

#[test]
fn a_value_that_is_huge_when_written_out_is_not_walked() {
    let huge = (0..90).fold(Value::from("x"), |value, _| Value::list(vec![value.clone(), value]).expect("shallow"));
    for rule in [json!({"uniqueItems": true}), json!({"items": {"$ref": "#"}}), json!({"const": 1, "enum": [[]]})] {
        assert!(schema(&rule).check(&huge).len() <= 3, "{rule}");
    }
}

#[test]
fn no_more_than_a_hundred_violations_and_findings_are_given() {
    let all: Vec<u32> = (0..500).collect();
    assert_eq!(schema(&json!({"items": false})).check(&value(&json!(all))).len(), 100);
    let faults = format!("{{\"anyOf\": [{}{{}}]}}", "{\"type\": 1},".repeat(500));
    assert_eq!(read(&faults).expect_err("faults").len(), 100);
}

#[test]
fn a_costly_pattern_on_a_long_text_ends_and_says_so() {
    let schema = schema(&json!({"items": {"pattern": "(x+x+)+y"}}));
    let text = Value::from("x".repeat(1 << 20));
    let list = Value::list(vec![text; 1000]).expect("shallow");
    let violations = schema.check(&list);
    assert!(violations.last().expect("a violation").message.contains("steps"), "{violations:?}");
}

/// Schemas of keywords with values that are often right.
fn any_schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"type": "string"})),
        Just(json!({"type": ["object", "integer"]})),
        Just(json!({"enum": [1, "a", null, [1.0], {"a": 1}]})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"$dynamicRef": "#dynamic"})),
        Just(json!({"pattern": "^a|b$", "minLength": 1, "maxLength": 2})),
        Just(json!({"multipleOf": 0.1, "exclusiveMinimum": -1, "maximum": 1e3})),
        Just(json!({"uniqueItems": true, "minItems": 1, "maxProperties": 1, "required": ["a"]})),
        Just(json!({"dependencies": {"a": ["b"]}, "maxItems": "x"})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let one = prop::sample::select(vec![
            "not",
            "if",
            "then",
            "else",
            "items",
            "contains",
            "additionalProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "additionalItems",
        ]);
        let many = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let named = prop::sample::select(vec!["properties", "patternProperties", "$defs", "dependentSchemas"]);
        let list = prop::collection::vec(inner.clone(), 0..4);
        let map = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
        (one, inner.clone(), many, list, named, map, any::<bool>()).prop_map(
            |(one, schema, many, list, named, map, anchor)| {
                let mut all = json!({(one): schema, (many): list, (named): map});
                if anchor {
                    all["$dynamicAnchor"] = "dynamic".into();
                }
                all
            },
        )
    })
}

fn any_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        (-2i64..3).prop_map(Json::from),
        "[ab]{0,3}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[ab]{1,2}", inner, 0..4).prop_map(Json::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn anything_that_looks_like_a_schema_is_read_or_refused(
        text in r##"(\{|\}|\[|\]|:|,|"|"\$ref"|"type"|"items"|"#/"|"\\u|true|1e9|-|é| |\n){0,40}"##
    ) {
        let _ = read(&text);
    }

    #[test]
    fn any_pattern_is_compiled_or_refused(source in any::<String>(), text in any::<String>()) {
        if let Ok((schema, _)) = read(&json!({"pattern": source}).to_string()) {
            let _ = schema.check(&Value::from(text));
        }
    }

    #[test]
    fn any_schema_checks_any_value_to_the_same_end_twice(schema in any_schema(), json in any_value()) {
        if let Ok((schema, _)) = read(&schema.to_string()) {
            let first = schema.check(&value(&json));
            prop_assert!(first.len() <= MAX_FINDINGS);
            prop_assert_eq!(first, schema.check(&value(&json)));
        }
    }

    #[test]
    fn not_turns_the_verdict_around(schema in any_schema(), json in any_value()) {
        let turned = json!({"not": {"$ref": "#/$defs/turned"}, "$defs": {"turned": schema}});
        // References to `#` would mean the outer schema.
        prop_assume!(!schema.to_string().contains("Ref\"") && !schema.to_string().contains("$ref"));
        if let (Ok((plain, _)), Ok((turned, _))) = (read(&schema.to_string()), read(&turned.to_string())) {
            prop_assert_ne!(plain.check(&value(&json)).is_empty(), turned.check(&value(&json)).is_empty());
        }
    }
}
