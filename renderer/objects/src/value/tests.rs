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
