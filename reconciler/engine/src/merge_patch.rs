//! The smallest JSON merge patch between two documents.

use serde_json::{Map, Value};

/// What turns `old` into `new`; `None` if they are the same.
pub(crate) fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            None => drop(patch.insert(key.clone(), value.clone())),
            Some(old) => {
                if let Some(inner) = difference(old, value) {
                    patch.insert(key.clone(), inner);
                }
            }
        }
    }
    patch.extend(before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null)));
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_holds_what_changed_and_nulls_for_what_went() {
        let old =
            json!({ "state": "Processing", "failure": { "reason": "Conflict" }, "history": [1], "same": { "a": 1 } });
        let new = json!({ "state": "Ready", "history": [2, 1], "same": { "a": 1 } });
        assert_eq!(difference(&old, &new), Some(json!({ "state": "Ready", "history": [2, 1], "failure": null })));
        assert_eq!(difference(&new, &new), None);
    }
}
