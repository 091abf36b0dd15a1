//! `docs/operations.md` explains every reason that a condition, an event or a metric can carry, and no other.

use std::collections::BTreeSet;

use reeve_crds::Reason;

use super::read;

/// Reasons of kinds whose controllers are not part of this page.
const ELSEWHERE: [Reason; 2] = [Reason::Silent, Reason::UncoveredService];

#[test]
fn every_reason_stands_on_the_page_and_no_other() {
    let reasons: BTreeSet<String> =
        Reason::ALL.iter().filter(|reason| !ELSEWHERE.contains(reason)).map(ToString::to_string).collect();
    let page = read("operations.md");
    let shown = shown(&page);
    // Those of events alone stand in a sentence.
    let told = |reason: &&String| shown.contains(*reason) || page.contains(&format!("`{reason}`"));
    let missing: Vec<_> = reasons.iter().filter(|reason| !told(reason)).collect();
    let stale: Vec<_> = shown.difference(&reasons).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not explained: {missing:?}; explained, but not given: {stale:?}");
}

/// First cells of the tables under the heading `Reasons`.
fn shown(page: &str) -> BTreeSet<String> {
    let section = page.split("\n## Reasons\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
