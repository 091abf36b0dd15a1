//! Whether our functions give what Helm's give. See README.md beside this file.

// Tells clippy that the functions behind the tests are test code too.
#![cfg(test)]

mod both;
mod cases;
mod engine;
mod outcome;
mod reference;

use std::collections::{BTreeMap, BTreeSet};

use cases::Case;
use outcome::Outcome;
use reeve_renderer::functions;

const REGENERATE: &str = "run `make conformance`";

/// Each case with what Helm and we make of it.
fn judged() -> Vec<(Case, Outcome, Outcome)> {
    let truth = outcome::truth();
    let values = cases::values();
    let judge = |case: Case| {
        let helm = truth.get(&case.go).unwrap_or_else(|| panic!("{case} is new: {REGENERATE}")).clone();
        let ours = engine::render_ours(&case.ours, &values).map_or_else(Outcome::Error, Outcome::Output);
        (case, helm, ours)
    };
    cases::all().into_iter().map(judge).collect()
}

fn listed(wrong: impl Iterator<Item = String>) {
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_case_gives_what_helm_gives() {
    let all = judged();
    let wrong = all.iter().filter(|(case, helm, ours)| case.reason.is_none() && !helm.is_like(ours));
    listed(wrong.map(|(case, helm, ours)| format!("{case}\n  helm: {helm}\n  ours: {ours}")));
}

/// Each case with what Helm and we make of it in Helm's syntax.
fn judged_in_go() -> Vec<(Case, Outcome, Outcome)> {
    let truth = outcome::truth();
    let values = cases::values();
    let judge = |case: Case| {
        let helm = truth.get(&case.go).unwrap_or_else(|| panic!("{case} is new: {REGENERATE}")).clone();
        let ours = engine::render_go(&case.go, &values).map_or_else(Outcome::Error, Outcome::Output);
        (case, helm, ours)
    };
    cases::all().into_iter().map(judge).collect()
}

#[test]
fn every_case_in_helms_own_syntax_gives_what_helm_gives() {
    let all = judged_in_go();
    let wrong = all.iter().filter(|(case, helm, ours)| case.go_reason.is_some() == helm.is_like(ours));
    listed(wrong.map(|(case, helm, ours)| format!("{}\n  helm: {helm}\n  ours: {ours}", case.go)));
}

/// Constructs whose result is chosen to be another than Helm's, and why.
const CHOSEN: &[(&str, &str)] = &[("{{ 1i }}", "no value can hold a complex number")];

#[test]
fn every_construct_gives_what_helm_gives() {
    let truth = outcome::truth();
    let values = cases::values();
    let all = cases::constructs();
    let judged = all.iter().map(|text| {
        let helm = truth.get(text).unwrap_or_else(|| panic!("{text} is new: {REGENERATE}"));
        let ours = engine::render_go(text, &values).map_or_else(Outcome::Error, Outcome::Output);
        (text, helm, ours)
    });
    let is_chosen = |text: &str| CHOSEN.iter().any(|(chosen, _)| *chosen == text);
    let wrong = judged.filter(|(text, helm, ours)| is_chosen(text) == helm.is_like(ours));
    listed(wrong.map(|(text, helm, ours)| format!("{text}\n  helm: {helm}\n  ours: {ours}")));
    assert!(all.len() >= 300, "only {} constructs", all.len());
}

#[test]
fn every_chosen_difference_is_one() {
    let all = judged();
    let wrong = all.iter().filter(|(case, helm, ours)| case.reason.is_some() && helm.is_like(ours));
    listed(wrong.map(|(case, helm, _)| format!("{case} does not differ: {helm}")));
}

#[test]
fn the_truth_is_about_these_cases() {
    let cases = cases::all().into_iter().map(|case| case.go);
    let known: BTreeSet<String> = cases.chain(cases::constructs()).collect();
    let stale = outcome::truth().into_keys().filter(|go| !known.contains(go));
    listed(stale.map(|go| format!("{go} is no case any more: {REGENERATE}")));
}

#[test]
fn every_function_has_two_cases() {
    let counts: BTreeMap<&str, usize> = cases::counts(&cases::all());
    let few = functions::all().into_iter().filter(|entry| counts.get(entry.name).is_none_or(|count| *count < 2));
    listed(few.map(|entry| format!("{} has {} cases", entry.name, counts.get(entry.name).unwrap_or(&0))));
    assert!(counts.len() >= 150, "only {} functions", counts.len());
}

#[test]
fn what_is_not_offered_says_what_to_use_instead() {
    let values = cases::values();
    let silent = functions::refused::all().iter().filter_map(|(name, instead)| {
        let message = engine::render_ours(&format!("{{{{ {name}() }}}}"), &values).unwrap_or_else(|message| message);
        (!message.contains(instead)).then(|| format!("{name}: {message}"))
    });
    listed(silent);
}

#[test]
fn the_reference_is_current() {
    let written = std::fs::read_to_string(reference::path()).unwrap_or_default();
    assert!(written == reference::text(&judged()), "{} is stale: {REGENERATE}", reference::path().display());
}

#[test]
#[ignore = "writes docs/functions.md; `make conformance` runs it"]
fn write_the_reference() {
    std::fs::write(reference::path(), reference::text(&judged())).unwrap();
}
