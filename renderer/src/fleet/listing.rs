//! Which files and folders of a repository are read, and which should not be there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::not_a_file;
use crate::diagnostic::{Diagnostic, Location};
use crate::tree::{self, ContentId, Entry, EntryKind, Tree, TreeError};

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

/// One version of a chart: its folder, or its archive.
#[derive(Debug)]
pub(super) struct VersionEntry {
    /// The version that its name says.
    pub(super) version: Arc<str>,
    /// Its path in the repository.
    pub(super) path: String,
    /// Names its content.
    pub(super) id: ContentId,
    /// Whether it is packed, and how large it is.
    pub(super) packed: Option<u64>,
}

/// The versions of a chart: `<version>/`, `<version>.tgz` or `<chart>-<version>.tgz`, as Helm names what it packs.
pub(super) fn versions(
    tree: &dyn Tree,
    chart: &str,
    findings: &mut Vec<Diagnostic>,
) -> Result<Vec<VersionEntry>, TreeError> {
    let folder = tree::join("charts", chart);
    let mut found: Vec<VersionEntry> = Vec::new();
    for entry in tree.list(&folder)? {
        let path = tree::join(&folder, &entry.name);
        let (version, packed): (Arc<str>, _) = match entry.kind {
            // Such as what an import was writing when it was killed.
            EntryKind::Folder if entry.name.starts_with('.') => continue,
            EntryKind::Folder => (Arc::clone(&entry.name), None),
            EntryKind::File { .. } | EntryKind::Other(_) if is_beside(&entry.name) => continue,
            EntryKind::Other(what) => {
                findings.push(not_a_file(&path.into(), what));
                continue;
            }
            EntryKind::File { size } => {
                let Some(stem) = entry.name.strip_suffix(".tgz") else {
                    let message = "a chart has folders and archives: charts/<chart>/<version>/ or .../<version>.tgz";
                    findings.push(Diagnostic::error("unexpected-file", message).at(Location::file(path)));
                    continue;
                };
                (packed_version(stem, chart).into(), Some(size))
            }
        };
        if let Some(other) = found.iter().find(|other| other.version == version) {
            let message = format!("version `{version}` of `{chart}` is there twice");
            let finding = Diagnostic::error("duplicate-name", message).at(Location::file(path));
            let finding = finding.note("the other is here", Some(Location::file(other.path.clone())));
            findings.push(finding.help("remove one of the two"));
            continue;
        }
        found.push(VersionEntry { version, path, id: entry.id, packed });
    }
    Ok(found)
}

/// The version in the name of an archive.
fn packed_version<'n>(stem: &'n str, chart: &str) -> &'n str {
    stem.strip_prefix(chart).and_then(|rest| rest.strip_prefix('-')).unwrap_or(stem)
}

/// What may stand beside charts: notes, what is hidden, and where a chart came from.
fn is_beside(name: &str) -> bool {
    name.starts_with('.') || matches!(tree::extension(name), Some("md" | "lock"))
}

/// The folders of a folder of charts.
pub(super) fn folders(tree: &dyn Tree, folder: &str, findings: &mut Vec<Diagnostic>) -> Result<Vec<Entry>, TreeError> {
    let mut found = Vec::new();
    for entry in tree.list(folder)? {
        match entry.kind {
            EntryKind::Folder if entry.name.starts_with('.') => {}
            EntryKind::Folder => found.push(entry),
            EntryKind::File { .. } | EntryKind::Other(_) if is_beside(&entry.name) => {}
            EntryKind::Other(what) => findings.push(not_a_file(&tree::join(folder, &entry.name).into(), what)),
            EntryKind::File { .. } => {
                let finding = Diagnostic::error(
                    "unexpected-file",
                    "charts/ holds folders: charts/<chart>/<version>/ or .../<version>.tgz",
                );
                findings.push(finding.at(Location::file(tree::join(folder, &entry.name))));
            }
        }
    }
    Ok(found)
}
