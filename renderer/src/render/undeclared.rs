//! Kinds that a chart in Helm's syntax asks for, that every Kubernetes serves, and that the runtime does not declare: Helm
//! without a cluster knows groups and versions alone, so the chart takes another way than it takes in a cluster.

use std::collections::BTreeMap;

use super::scope::is_always_served;
use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::Runtime;
use crate::fleet::helm::Enabled;
use crate::template::api_versions;

/// A warning for each such kind.
pub(super) fn kinds(runtime: &Runtime, chart: &Enabled) -> Vec<Diagnostic> {
    let declared = api_versions(&runtime.capabilities.api_versions);
    let mut asked: BTreeMap<&str, Location> = BTreeMap::new();
    let charts = chart.all();
    for (wanted, place) in charts.iter().flat_map(|(_, enabled)| enabled.chart.templates.asked()) {
        if is_always_served(wanted) && declared.get(wanted).is_none() {
            asked.entry(wanted).or_insert(place);
        }
    }
    let warning = |(wanted, place): (&str, Location)| {
        let message = format!("the chart asks for `{wanted}`, which the runtime does not declare");
        let help = format!(
            "it is told no, as `helm template` tells it; write `{wanted}` into `capabilities.apiVersions` in the runtime's file for the answer of a cluster"
        );
        let mut finding = Diagnostic::warning("undeclared-kind", message).at(place).help(help);
        finding.runtimes.push(runtime.name.clone());
        finding
    };
    asked.into_iter().map(warning).collect()
}
