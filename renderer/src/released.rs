//! Released is released: a chart version that the previous revision has must not change.

use crate::diagnostic::{Diagnostic, Location};
use crate::fleet::{Fleet, ReleasedCharts};
use crate::tree::{self, Tree, TreeError};

/// Chart versions of `before` whose content differs in `after`. One that was removed is none of them: whoever still names
/// it gets a finding elsewhere. The policy of the later revision decides how bad it is.
pub fn check(before: &dyn Tree, after: &dyn Tree, fleet: &Fleet) -> Result<Vec<Diagnostic>, TreeError> {
    let mut findings = Vec::new();
    for chart in before.list("charts")? {
        let folder = tree::join("charts", &chart.name);
        let later = after.list(&folder)?;
        for old in before.list(&folder)? {
            let Some(new) = later.iter().find(|new| new.name == old.name && new.id != old.id) else { continue };
            let path = tree::join(&folder, &new.name);
            findings.push(changed(before, after, &path, fleet.settings.released_charts)?);
        }
    }
    Ok(findings)
}

fn changed(before: &dyn Tree, after: &dyn Tree, folder: &str, policy: ReleasedCharts) -> Result<Diagnostic, TreeError> {
    let (old, new) = (tree::walk(before, folder)?, tree::walk(after, folder)?);
    let mut files: Vec<String> = Vec::new();
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        if old.get(name).map(|entry| entry.id) != new.get(name).map(|entry| entry.id) {
            files.push(tree::join(folder, name));
        }
    }
    let first = files.first().cloned().unwrap_or_else(|| folder.to_owned());
    let message = format!("{folder} is released and must not change");
    let mut finding = match policy {
        ReleasedCharts::Error => Diagnostic::error("released-chart", message),
        ReleasedCharts::Warning => Diagnostic::warning("released-chart", message),
    }
    .at(Location::file(first))
    .help("undo the change, and make it in a folder of the next version");
    for file in files.into_iter().skip(1).take(9) {
        finding = finding.note("this file changed too", Some(Location::file(file)));
    }
    Ok(finding)
}
