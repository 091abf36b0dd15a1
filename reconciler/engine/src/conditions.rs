//! Conditions of a status, as Kubernetes has them: a condition's time moves only when it flips.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use reeve_crds::Reason;
use reeve_crds::condition::Condition;
use serde_json::Value;

use crate::text::truncate;

/// Longest message that a status takes.
pub const MESSAGE: usize = 1024;

/// Sets a condition; its time moves only when it flips.
pub fn set_condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    holds: bool,
    reason: Reason,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) {
    let status = if holds { "True" } else { "False" };
    let before = conditions.iter().position(|condition| condition.type_ == kind);
    let since = before.map(|at| &conditions[at]).filter(|condition| condition.status == status);
    let condition = Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        observed_generation: generation,
        last_transition_time: since.map_or(Time(now), |condition| condition.last_transition_time.clone()),
        reason: reason.to_string(),
        message: truncate(message, MESSAGE),
    };
    match before {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

/// A status whose conditions keep their time where the cluster has them as they are: one that flipped and flipped back
/// before it was written is no news.
pub fn keep_transition_times(before: &Value, mut after: Value) -> Value {
    let before = before["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    for condition in after.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let same = before.iter().find(|old| old["type"] == condition["type"] && old["status"] == condition["status"]);
        if let Some(same) = same {
            condition["lastTransitionTime"] = same["lastTransitionTime"].clone();
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(ready: &str, since: &str) -> Value {
        json!({ "state": "Ready", "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": since }] })
    }

    #[test]
    fn a_condition_that_flipped_and_flipped_back_unseen_is_no_news() {
        let before = status("True", "2026-01-01T00:00:00Z");
        assert_eq!(keep_transition_times(&before, status("True", "2026-01-02T00:00:00Z")), before);
        let flipped = status("False", "2026-01-02T00:00:00Z");
        assert_eq!(keep_transition_times(&before, flipped.clone()), flipped);
        assert_eq!(keep_transition_times(&json!({}), flipped.clone()), flipped);
        assert_eq!(keep_transition_times(&before, json!({})), json!({}));
    }
}
