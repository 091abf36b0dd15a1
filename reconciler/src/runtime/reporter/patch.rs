//! Writes of a status what changed.

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::merge_patch::difference;
use crate::refusal::Refusal;

/// A status whose conditions keep their time where the cluster has them as they are: one that flipped and flipped back
/// before it was written is no news.
pub(crate) fn unflipped(before: &Value, mut after: Value) -> Value {
    let before = before["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    for condition in after.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let same = before.iter().find(|old| old["type"] == condition["type"] && old["status"] == condition["status"]);
        if let Some(same) = same {
            condition["lastTransitionTime"] = same["lastTransitionTime"].clone();
        }
    }
    after
}

/// Writes what changed of a status, if anything did.
pub(crate) async fn patch_status<K>(api: &Api<K>, name: &str, before: &Value, after: &Value) -> Result<(), Refusal>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let Some(patch) = difference(before, after) else { return Ok(()) };
    let patch = json!({ "status": patch });
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(name, &params, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        // Whoever deleted it wants to know no more.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Refusal::of(&error)),
    }
}

pub(crate) fn as_json(value: &impl Serialize) -> Value {
    match serde_json::to_value(value) {
        Ok(Value::Null) | Err(_) => json!({}),
        Ok(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(ready: &str, since: &str) -> Value {
        json!({ "state": "Ready", "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": since }] })
    }

    #[test]
    fn a_condition_that_flipped_and_flipped_back_unseen_is_no_news() {
        let before = status("True", "2026-01-01T00:00:00Z");
        assert_eq!(unflipped(&before, status("True", "2026-01-02T00:00:00Z")), before);
        let flipped = status("False", "2026-01-02T00:00:00Z");
        assert_eq!(unflipped(&before, flipped.clone()), flipped);
        assert_eq!(unflipped(&json!({}), flipped.clone()), flipped);
        assert_eq!(unflipped(&before, json!({})), json!({}));
    }
}
