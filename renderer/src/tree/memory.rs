//! A tree in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ContentId, Entry, EntryKind, Tree, TreeError, join};

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
        for (path, content) in self.files.range(prefix.clone()..) {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            match rest.split_once('/') {
                None => {
                    let kind = EntryKind::File { size: content.len() as u64 };
                    entries.push(Entry { name: rest.into(), kind, id: ContentId::of(content) });
                }
                Some((name, _)) if entries.iter().any(|entry| *entry.name == *name) => {}
                Some((name, _)) => {
                    let id = ContentId::of_folder(&self.list(&join(folder, name))?);
                    entries.push(Entry { name: name.into(), kind: EntryKind::Folder, id });
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        Ok(self.files.get(path).cloned())
    }
}
