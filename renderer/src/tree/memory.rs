//! A tree in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ContentId, Entry, EntryKind, Tree, TreeError};
use crate::value::Digest;

/// Files by path, for tests and for whoever has the bytes at hand.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl MemoryTree {
    /// A tree without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a file, or writes it anew.
    pub fn write(&mut self, path: impl Into<String>, content: impl AsRef<[u8]>) {
        self.files.insert(path.into(), content.as_ref().into());
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl<P: Into<String>, C: AsRef<[u8]>> FromIterator<(P, C)> for MemoryTree {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        let mut tree = Self::new();
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }
}

impl Tree for MemoryTree {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, TreeError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries: Vec<Entry> = Vec::new();
        // What is below a folder, however deep, by its path there: a folder in a folder is not looked at by itself.
        let mut folders: BTreeMap<&str, Vec<(&str, ContentId)>> = BTreeMap::new();
        for (path, content) in self.files.range(prefix.clone()..) {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            let id = ContentId::of(content);
            match rest.split_once('/') {
                None => {
                    let kind = EntryKind::File { size: content.len() as u64 };
                    entries.push(Entry { name: rest.into(), kind, id });
                }
                Some((name, below)) => folders.entry(name).or_default().push((below, id)),
            }
        }
        for (name, below) in folders {
            let parts = below.iter().flat_map(|(path, id)| [path.as_bytes(), &id.0]);
            let id = ContentId(*Digest::of_parts(parts).bytes());
            entries.push(Entry { name: name.into(), kind: EntryKind::Folder, id });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        Ok(self.files.get(path).cloned())
    }
}
