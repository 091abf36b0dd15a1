use super::*;

fn dict(json: &serde_json::Value) -> Dict {
    match Value::try_from(json.clone()).expect("shallow") {
        Value::Dict(dict) => dict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn merge_is_deep_for_maps_replaces_lists_and_deletes_by_null() {
    let base = dict(&serde_json::json!({"a": {"x": 1, "y": 2}, "l": [1, 2], "gone": {"k": 1}, "kept": null}));
    let over = dict(&serde_json::json!({"a": {"y": 3, "z": {"n": null, "m": 1}}, "l": [9], "gone": null}));
    let merged = merge(&base, &over).expect("shallow");
    assert_eq!(
        serde_json::Value::from(&Value::Dict(merged)),
        serde_json::json!({"a": {"x": 1, "y": 3, "z": {"m": 1}}, "l": [9], "kept": null})
    );
}

#[test]
fn a_value_built_of_itself_sixty_times_is_known_to_be_huge_without_a_walk() {
    let mut value = Value::from("x");
    for _ in 0..90 {
        value = Value::list(vec![value.clone(), value]).expect("within the depth");
    }
    assert_eq!(value.size(), u64::MAX);
}

#[test]
fn nesting_ends_at_the_limit() {
    let mut value = Value::Null;
    for _ in 0..MAX_DEPTH {
        value = Value::list(vec![value]).expect("within the depth");
    }
    assert_eq!(Value::list(vec![value]), Err(TooDeep));
}

#[test]
fn paths_are_written_and_read_alike() {
    for text in ["image.tag", "ports[0].name", "annotations.\"a.b/c\"", "[1][2]", "containers[name=web].image", ""] {
        assert_eq!(text.parse::<KeyPath>().expect(text).to_string(), text);
    }
    for text in ["a..b", "a.", "a[x]", "a[0]b", "\"a"] {
        assert!(text.parse::<KeyPath>().is_err(), "{text}");
    }
}

#[test]
fn entries_are_in_the_order_of_their_keys_and_the_last_of_a_key_counts() {
    let given = [("b", 1), ("a", 2), ("ab", 3), ("b", 4)];
    let mut entries: Entries = given.into_iter().map(|(key, number)| (Arc::from(key), Value::Int(number))).collect();
    entries.insert("aa".into(), Value::Int(5));
    entries.insert("ab".into(), Value::Int(6));
    entries.remove("a");
    let found: Vec<(&str, i64)> = entries.iter().map(|(key, value)| (&**key, whole(value))).collect();
    assert_eq!(found, [("aa", 5), ("ab", 6), ("b", 4)]);
}

#[test]
fn a_key_is_found_among_few_and_among_many() {
    for count in [0, 1, 63, 64, 65, 1_000] {
        let entries: Entries = (0..count).map(|number| (Arc::from(format!("k{number}")), Value::Int(number))).collect();
        for number in 0..count {
            assert_eq!(entries.get(&format!("k{number}")).map(whole), Some(number), "of {count}");
        }
        assert_eq!(entries.get("k"), None);
        assert_eq!(entries.get("k1000"), None);
    }
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_canonical_form_is_what_any_writer_of_json_writes() {
    let texts = [
        "",
        "plain",
        "eight by",
        "a quote \" here",
        "\\",
        "\u{1f}",
        "\u{7f} é \u{2028}",
        "line\nbreak at 17",
        "ÿÿÿÿÿÿÿÿ",
    ];
    let mut entries: Vec<(Arc<str>, Value)> = texts.iter().map(|text| (Arc::from(*text), Value::from(*text))).collect();
    let numbers = [Value::Int(i64::MIN), Value::Float(1e300), Value::Float(-0.0), Value::Float(1.0), Value::Null];
    entries.push(("numbers".into(), Value::list(numbers.into()).expect("shallow")));
    entries.push(("truth".into(), Value::list(vec![Value::Bool(true), Value::Bool(false)]).expect("shallow")));
    entries.push(("long".into(), Value::from("x".repeat(3_000))));
    let value = Value::dict(Entries::new(entries)).expect("shallow");
    let written = serde_json::to_vec(&value).expect("our own data");
    assert_eq!(canonical(&value), written);
    assert_eq!(digest(&value), Digest::of(&written));
}
