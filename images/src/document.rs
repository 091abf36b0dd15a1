//! JSON whose bytes depend on its content alone.

use std::collections::BTreeMap;

use serde_json::Value;

/// The text with the keys of every object in order, whichever features `serde_json` was built with.
pub(crate) fn canonical(value: &Value) -> String {
    sorted(value).to_string()
}

/// As [`canonical`], for people to read.
pub(crate) fn readable(value: &Value) -> String {
    format!("{:#}\n", sorted(value))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<&String, Value> = map.iter().map(|(key, value)| (key, sorted(value))).collect();
            map.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
