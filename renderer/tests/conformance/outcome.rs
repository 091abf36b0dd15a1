//! What came of a template, and what Helm made of all of them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::cases::folder;

/// What came of a template.
#[derive(Clone)]
pub(crate) enum Outcome {
    /// This text.
    Output(String),
    /// This error.
    Error(String),
}

impl Outcome {
    /// Whether both gave the same text, or both an error in whatever words.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Output(one), Self::Output(other)) => one == other,
            (Self::Error(_), Self::Error(_)) => true,
            (Self::Output(_), Self::Error(_)) | (Self::Error(_), Self::Output(_)) => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(text) => write!(f, "{text:?}"),
            Self::Error(message) => write!(f, "error: {message}"),
        }
    }
}

/// What Helm made of each template.
pub(crate) fn truth() -> BTreeMap<String, Outcome> {
    let text = std::fs::read_to_string(folder().join("truth.json")).unwrap();
    let truth: BTreeMap<String, BTreeMap<String, Value>> = serde_json::from_str(&text).unwrap();
    let outcome = |result: &BTreeMap<String, Value>| {
        let field = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
        field("output").map(Outcome::Output).or_else(|| field("error").map(Outcome::Error)).unwrap()
    };
    truth.iter().map(|(template, result)| (template.clone(), outcome(result))).collect()
}
