//! `docs/operations.md` explains every reason that a status can show, and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{read, root};

/// What stands before a reason where one is given.
const GIVEN_AFTER: [&str; 7] = [
    "ReconcileError::terminal(",
    "ReconcileError::transient(",
    "Finding::new(",
    "(summary.state, ",
    "=> ",
    "=> (",
    "{ ",
];

/// What stands in the same places and is none.
const NO_REASONS: [&str; 5] = ["Failed", "True", "False", "Runtime", "RuntimeComponent"];

#[test]
fn every_reason_in_the_code_stands_on_the_page_and_no_other() {
    let rooms = ["reconciler/src", "reconciler/engine/src", "reconciler/git/src"];
    let sources: Vec<String> = rooms.iter().flat_map(|room| sources(&root().join(room))).collect();
    let constants = constants(&fs::read_to_string(root().join("crds/src/condition.rs")).unwrap());
    let mut reasons: BTreeSet<String> = sources.iter().flat_map(|text| given(text)).collect();
    for (name, reason) in constants {
        if sources.iter().any(|text| text.contains(&format!("reason::{name}"))) {
            reasons.insert(reason);
        }
    }
    assert!(reasons.len() > 50, "only {} reasons were found: {reasons:?}", reasons.len());
    let shown = shown(&read("operations.md"));
    let missing: Vec<_> = reasons.difference(&shown).collect();
    let stale: Vec<_> = shown.difference(&reasons).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not explained: {missing:?}; explained, but not given: {stale:?}");
}

/// The text of every file that may give a reason: not the command line, and no tests. On one line, so that it does not
/// matter where lines are broken.
fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        if matches!(name, "cli" | "cli.rs" | "health" | "payload" | "tests.rs" | "notification.rs" | "event.rs") {
            continue;
        }
        if entry.is_dir() {
            texts.extend(sources(&entry));
            continue;
        }
        let text = fs::read_to_string(&entry).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        texts.push(words.join(" ").replace("( ", "("));
    }
    texts
}

/// The reasons that a text gives.
fn given(text: &str) -> BTreeSet<String> {
    let literals = GIVEN_AFTER.iter().flat_map(|before| {
        let before = format!("{before}\"");
        text.match_indices(&before).map(|(at, _)| at + before.len()).collect::<Vec<_>>()
    });
    let words = literals.filter_map(|at| text[at..].split('"').next());
    words.filter(|word| is_reason(word) && !NO_REASONS.contains(word)).map(str::to_owned).collect()
}

/// Several capitals or one, letters alone: `TimedOut`.
fn is_reason(word: &str) -> bool {
    word.len() > 3 && word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphabetic)
}

/// The constants of a module, by name.
fn constants(text: &str) -> BTreeMap<String, String> {
    let reasons = text.split("pub mod reason {").nth(1).unwrap();
    let lines = reasons.lines().filter_map(|line| line.trim().strip_prefix("pub const "));
    let pairs = lines.filter_map(|line| line.strip_suffix("\";")?.split_once(": &str = \""));
    pairs.map(|(name, reason)| (name.to_owned(), reason.to_owned())).collect()
}

/// First cells of the tables under the heading `Reasons`.
fn shown(page: &str) -> BTreeSet<String> {
    let section = page.split("\n## Reasons\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|word| is_reason(word)).map(str::to_owned).collect()
}
