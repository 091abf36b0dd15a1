//! Which functions a chart calls that cannot give here what they give in Helm: said at once, for a whole chart together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HelmChart;
use crate::diagnostic::{Diagnostic, Location};

/// Other places of one function that are shown.
const SHOWN: usize = 3;

/// What to know of a chart before it is used: a warning for `lookup`, which finds nothing, and one for all functions whose
/// result is another on every render.
pub fn unhonoured(chart: &Arc<HelmChart>) -> Vec<Diagnostic> {
    let mut calls: BTreeMap<&'static str, Vec<Location>> = BTreeMap::new();
    let mut open = vec![chart];
    while let Some(chart) = open.pop() {
        for (name, location) in chart.templates.unhonoured() {
            calls.entry(name).or_default().push(location);
        }
        open.extend(&chart.children);
    }
    for places in calls.values_mut() {
        places.sort();
        places.dedup();
    }
    let mut findings = Vec::new();
    if let Some(places) = calls.remove("lookup") {
        let message = "`lookup` finds nothing here: a commit renders the same in front of any cluster";
        let help = "the chart gets what `helm template` gives it; set the values that it would look up";
        findings.extend(finding("function-lookup", message.to_owned(), &[("lookup", places)], help));
    }
    if !calls.is_empty() {
        let names: Vec<String> = calls.keys().map(|name| format!("`{name}`")).collect();
        let message = format!("the chart calls {}, whose result is another on every render", names.join(", "));
        let help = "set the values that it falls back from; where the result is used after all, that is an error";
        let calls: Vec<_> = calls.into_iter().collect();
        findings.extend(finding("function-chance", message, &calls, help));
    }
    findings
}

fn finding(
    code: &'static str,
    message: String,
    calls: &[(&'static str, Vec<Location>)],
    help: &str,
) -> Option<Diagnostic> {
    let first = calls.iter().flat_map(|(_, places)| places).min()?.clone();
    let mut finding = Diagnostic::warning(code, message).at(first.clone()).help(help);
    for (name, places) in calls {
        for place in places.iter().filter(|place| **place != first).take(SHOWN) {
            finding = finding.note(format!("`{name}` is called here too"), Some(place.clone()));
        }
    }
    Some(finding)
}
