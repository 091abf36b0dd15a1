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

/// What may be told of a value.
const TYPES: [&str; 7] = ["string", "boolean", "int", "float", "list", "map", "null"];

pub(super) fn of_status(status: &Status) -> String {
    if let Some(conflicts) = Conflicts::of(status) {
        return line(&some(conflicts.iter().map(ToString::to_string)));
    }
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let fields = causes.iter().filter(|cause| !cause.field.is_empty() && !cause.message.is_empty());
    let told: Vec<String> = fields.map(|cause| format!("{}: {}", cause.field, of_cause(cause))).collect();
    if told.is_empty() { line(&without_values(&status.message)) } else { line(&some(told.into_iter())) }
}

/// A message that names no fields beside itself: of what its text repeats, the values are taken out.
fn without_values(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    // Several mistakes stand below each other.
    let Some(before) = first.strip_suffix("errors:") else { return without_value(first) };
    format!("{before}{}", some(lines.filter(|line| !line.is_empty()).map(without_value)))
}

fn without_value(text: &str) -> String {
    // A field of another type, as server-side apply tells it: the value follows as Go prints it.
    if let Some((before, got)) = text.split_once(", got ")
        && before.contains(": expected ")
    {
        return if TYPES.contains(&got) { text.to_owned() } else { before.to_owned() };
    }
    if let Some((before, rest)) = text.split_once("parsing \"") {
        let behind = rest.rsplit_once('"').map_or("", |(_, behind)| behind);
        return format!("{before}parsing the value{behind}");
    }
    let valued = WITH_VALUE.iter().filter_map(|kind| text.split_once(kind).map(|(before, rest)| (before, kind, rest)));
    match valued.min_by_key(|(before, ..)| before.len()) {
        Some((before, kind, rest)) => format!("{before}{}", rule(kind, rest)),
        None => text.to_owned(),
    }
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
            return rule(kind, rest);
        }
    }
    text.strip_prefix("Forbidden: ").unwrap_or(text).to_owned()
}

/// What a value breaks, from what follows the word for it.
fn rule(kind: &str, rest: &str) -> String {
    match behind_value(rest) {
        "" => kind.trim_end_matches(": ").to_lowercase(),
        rule => rule.to_owned(),
    }
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

/// Those that fit, each of them whole: what to do about a cause stands at its end. The first one always counts as fitting.
fn some(all: impl Iterator<Item = String>) -> String {
    let (mut told, mut more) = (String::new(), 0);
    for (number, cause) in all.enumerate() {
        let fits = number < MAX_CAUSES && more == 0 && told.chars().count() + cause.chars().count() < MAX_CHARS;
        match number {
            0 => told = cause,
            _ if fits => told = format!("{told}; {cause}"),
            _ => more += 1,
        }
    }
    if more == 0 { told } else { format!("{told}; and {more} more") }
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
