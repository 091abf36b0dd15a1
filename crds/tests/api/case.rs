//! A rule of the schema, an object that breaks it, and the object as the message says it should be.

use serde_json::{Value, json};

/// What breaks a rule and what does not.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The rule as a sentence.
    pub(super) rule: String,
    /// Where the rule is in the schema, such as `spec.plugins[].hooks`.
    pub(super) at: String,
    /// The whole message.
    pub(super) message: String,
    /// Merge patches of the spec under test, applied one after the other: each must be accepted but the offending.
    pub(super) before: Value,
    pub(super) offending: Value,
    pub(super) corrected: Value,
    /// Whether the offence is a change of an object that exists.
    pub(super) is_change: bool,
}

/// Begins a case: `rule` as a sentence, `at` its place, `message` what the API server must say.
pub(super) fn case(rule: &str, at: &str, message: &str) -> Case {
    Case {
        rule: rule.to_owned(),
        at: at.to_owned(),
        message: message.to_owned(),
        before: json!({}),
        offending: json!({}),
        corrected: json!({}),
        is_change: false,
    }
}

impl Case {
    /// Changes the whole spec to start from, before the offence and before the correction.
    pub(super) fn given(mut self, patch: Value) -> Self {
        self.before = patch;
        self
    }

    /// An object made like this is refused.
    pub(super) fn refuses(mut self, patch: Value) -> Self {
        self.offending = patch;
        self
    }

    /// An object that exists may not be changed like this.
    pub(super) fn refuses_change(mut self, patch: Value) -> Self {
        self.offending = patch;
        self.is_change = true;
        self
    }

    /// An object made, or changed, like this is accepted.
    pub(super) fn accepts(mut self, patch: Value) -> Self {
        self.corrected = patch;
        self
    }
}

/// JSON merge patch, RFC 7396.
pub(super) fn merged(mut onto: Value, patch: &Value) -> Value {
    let Some(changes) = patch.as_object() else { return patch.clone() };
    if !onto.is_object() {
        onto = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            onto.as_object_mut().unwrap().remove(key);
        } else {
            let below = onto.get(key).cloned().unwrap_or(Value::Null);
            onto[key] = merged(below, change);
        }
    }
    onto
}
