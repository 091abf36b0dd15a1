//! Charts that are not what was imported any more, told by the digest that their lock has of their files.

use reeve_renderer::diagnostic::{Diagnostic, Location};
use reeve_renderer::tree::{EntryKind, Tree, TreeError, join, walk};

use super::lock::{Lock, contents};

/// A warning for each chart whose files are not those that were imported.
pub(in crate::cli) fn findings(tree: &dyn Tree) -> Result<Vec<Diagnostic>, TreeError> {
    let mut findings = Vec::new();
    for chart in tree.list("charts")?.iter().filter(|entry| entry.kind == EntryKind::Folder) {
        let folder = join("charts", &chart.name);
        let entries = tree.list(&folder)?;
        for (entry, version) in entries.iter().filter_map(|entry| Some((entry, entry.name.strip_suffix(".lock")?))) {
            let is_there = entries.iter().any(|one| &*one.name == version && one.kind == EntryKind::Folder);
            let path = join(&folder, &entry.name);
            let text = tree.read(&path)?.filter(|_| is_there);
            let lock = text.and_then(|text| Lock::parse(std::str::from_utf8(&text).ok()?));
            let chart = join(&folder, version);
            if let Some(lock) = lock
                && is_changed(tree, &chart, &lock)?
            {
                let message = format!("{chart} is not what was imported: its files were changed here");
                let finding = Diagnostic::warning("chart-changed", message).at(Location::file(path));
                findings.push(finding.help(
                    "a newer version will not have the change: write it as values, or into a chart around this one; without `files` in the lock it may stay",
                ));
            }
        }
    }
    Ok(findings)
}

/// Whether the files of a chart are others than its lock says.
pub(super) fn is_changed(tree: &dyn Tree, chart: &str, lock: &Lock) -> Result<bool, TreeError> {
    let Some(wanted) = &lock.files else { return Ok(false) };
    let mut files = Vec::new();
    for (name, entry) in walk(tree, chart)? {
        let content = match entry.kind {
            EntryKind::File { .. } => tree.read(&join(chart, &name))?,
            EntryKind::Folder | EntryKind::Other(_) => None,
        };
        // No import writes anything but files.
        let Some(content) = content else { return Ok(true) };
        files.push((name, content));
    }
    Ok(contents(&files) != *wanted)
}
