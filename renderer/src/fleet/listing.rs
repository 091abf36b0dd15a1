//! Which files and folders of a repository are read, and which should not be there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::not_a_file;
use crate::diagnostic::{Diagnostic, Location};
use crate::tree::{self, Entry, EntryKind, Tree, TreeError};

/// The YAML files of a folder.
pub(super) fn files(
    tree: &dyn Tree,
    folder: &str,
    deep: bool,
    findings: &mut Vec<Diagnostic>,
) -> Result<BTreeMap<String, Entry>, TreeError> {
    let mut found = BTreeMap::new();
    for (below, entry) in tree::walk(tree, folder)? {
        let path = tree::join(folder, &below);
        let file: Arc<str> = path.as_str().into();
        let extension = tree::extension(&below);
        let yaml = matches!(extension, Some("yaml" | "yml"));
        let hidden = below.rsplit('/').next().is_some_and(|leaf| leaf.starts_with('.') || extension == Some("md"));
        match entry.kind {
            EntryKind::Other(what) => findings.push(not_a_file(&file, what)),
            _ if hidden => {}
            EntryKind::File { .. } if yaml && (deep || !below.contains('/')) => {
                found.insert(path, entry);
            }
            EntryKind::File { .. } | EntryKind::Folder => {
                let finding = Diagnostic::error("unexpected-file", format!("{folder}/ holds YAML files"));
                let help =
                    if yaml { format!("move it to {folder}/") } else { "name it .yaml, or move it away".to_owned() };
                findings.push(finding.at(Location::file(file)).help(help));
            }
        }
    }
    Ok(found)
}

/// The folders of a folder of charts.
pub(super) fn folders(tree: &dyn Tree, folder: &str, findings: &mut Vec<Diagnostic>) -> Result<Vec<Entry>, TreeError> {
    let mut found = Vec::new();
    for entry in tree.list(folder)? {
        match entry.kind {
            EntryKind::Folder => found.push(entry),
            EntryKind::File { .. } | EntryKind::Other(_)
                if entry.name.ends_with(".md") || entry.name.starts_with('.') => {}
            EntryKind::Other(what) => findings.push(not_a_file(&tree::join(folder, &entry.name).into(), what)),
            EntryKind::File { .. } => {
                let finding = Diagnostic::error("unexpected-file", "charts/ holds folders: charts/<chart>/<version>/");
                findings.push(finding.at(Location::file(tree::join(folder, &entry.name))));
            }
        }
    }
    Ok(found)
}
