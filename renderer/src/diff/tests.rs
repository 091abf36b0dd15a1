use super::*;

fn value(json: serde_json::Value) -> Value {
    Value::try_from(json).expect("shallow")
}

fn said(before: serde_json::Value, after: serde_json::Value) -> Vec<String> {
    let text = |value: &Option<Value>| {
        value.as_ref().map_or("-".to_owned(), |value| serde_json::Value::from(value).to_string())
    };
    fields(&value(before), &value(after))
        .iter()
        .map(|change| format!("{}: {} -> {}", change.path, text(&change.before), text(&change.after)))
        .collect()
}

#[test]
fn changes_are_told_field_by_field_and_named_items_by_name() {
    let before =
        serde_json::json!({"a": 1, "c": [{"name": "x", "image": "i:1"}, {"name": "y"}], "l": [1, 2], "gone": {"k": 1}});
    let after =
        serde_json::json!({"a": 2, "c": [{"name": "y"}, {"name": "x", "image": "i:2"}], "l": [1, 3, 4], "new": true});
    assert_eq!(
        said(before, after),
        [
            "a: 1 -> 2",
            "c[name=x].image: \"i:1\" -> \"i:2\"",
            "gone: {\"k\":1} -> -",
            "l[1]: 2 -> 3",
            "l[2]: - -> 4",
            "new: - -> true"
        ]
    );
}

fn change(name: &str, runtime: &str) -> ObjectChange {
    let key = ObjectKey { group: "".into(), kind: "ConfigMap".into(), namespace: None, name: name.into() };
    let object = value(serde_json::json!({"metadata": {"labels": {"reeve.dev/runtime": runtime, "x": "y"}}}));
    let Value::Dict(object) = object else { panic!("a dict") };
    ObjectChange { component: "c".into(), key, kind: ChangeKind::Added(object) }
}

#[test]
fn runtimes_that_change_alike_are_one_group() {
    let groups = group(vec![
        ("a".into(), vec![change("x", "a")]),
        ("b".into(), vec![change("z", "b")]),
        ("c".into(), vec![change("x", "c")]),
    ]);
    let names: Vec<Vec<&str>> =
        groups.iter().map(|group| group.runtimes.iter().map(|name| &**name).collect()).collect();
    assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
}
