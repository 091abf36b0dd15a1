//! One short line about an error, without the values of fields.
//!
//! The API server repeats what it refuses: a whole pod template with its environment, a diff of a spec. Those may hold
//! secrets and are long; the field and the rule are what a person needs.

use std::error::Error;

use kube::core::Status;
use kube::core::response::StatusCause;
use reeve_process::secret::scrub;

use crate::fields::Conflicts;

/// Longer lines are cut: they go into conditions, events and logs.
const MAX_CHARS: usize = 400;
/// So many causes are told, the others counted.
const MAX_CAUSES: usize = 3;

/// With what the API server begins a cause that goes on with the field's value.
const WITH_VALUE: [&str; 5] =
    ["Invalid value: ", "Unsupported value: ", "Duplicate value: ", "Not found: ", "Too many: "];

pub(super) fn of_status(status: &Status) -> String {
    if let Some(conflicts) = Conflicts::of(status) {
        return line(&some(conflicts.iter().map(ToString::to_string)));
    }
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let fields = causes.iter().filter(|cause| !cause.field.is_empty() && !cause.message.is_empty());
    let told: Vec<String> = fields.map(|cause| format!("{}: {}", cause.field, of_cause(cause))).collect();
    if told.is_empty() { line(&status.message) } else { line(&some(told.into_iter())) }
}

/// The whole chain, each part once.
pub(super) fn of_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        cause = error.source();
    }
    line(&text)
}

/// What is wrong with a field, without its value.
pub(super) fn of_cause(cause: &StatusCause) -> String {
    let text = cause.message.lines().next().unwrap_or_default();
    for kind in WITH_VALUE {
        if let Some(rest) = text.strip_prefix(kind) {
            return match behind_value(rest) {
                "" => kind.trim_end_matches(": ").to_lowercase(),
                rule => rule.to_owned(),
            };
        }
    }
    text.strip_prefix("Forbidden: ").unwrap_or(text).to_owned()
}

/// What follows a value: JSON mostly, else up to the next colon.
fn behind_value(text: &str) -> &str {
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let behind = match read.next() {
        Some(Ok(_)) => text.get(read.byte_offset()..).unwrap_or_default(),
        _ => text.find(": ").and_then(|at| text.get(at..)).unwrap_or_default(),
    };
    behind.trim_start_matches(": ")
}

fn some(mut all: impl Iterator<Item = String>) -> String {
    let told: Vec<String> = all.by_ref().take(MAX_CAUSES).collect();
    match all.count() {
        0 => told.join("; "),
        more => format!("{}; and {more} more", told.join("; ")),
    }
}

fn line(text: &str) -> String {
    let text = scrub(text.lines().next().unwrap_or_default());
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() {
        short.push_str("...");
    }
    short
}
