//! The files of a repository as the renderer sees them: names, ids and bytes.
//!
//! A folder, a Git tree at any commit and a map in memory are all the same to it. It opens nothing itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::value::Digest;

/// Names content: equal ids, equal content (and for a folder, equal content of all below it).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 32]);

impl ContentId {
    /// The id of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*Digest::of(bytes).bytes())
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file of this many bytes.
    File {
        /// Its size.
        size: u64,
    },
    /// A folder.
    Folder,
    /// Something that cannot be rendered from: a symbolic link, a submodule, a device. Says which.
    Other(&'static str),
}

/// One entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the folder.
    pub name: Arc<str>,
    /// What it is.
    pub kind: EntryKind,
    /// What it holds.
    pub id: ContentId,
}

/// A tree could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}")]
pub struct TreeError {
    /// What was to be read.
    pub path: String,
    /// Why it failed.
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// A repository at one moment. Paths use `/`, the root is empty.
pub trait Tree: Sync {
    /// What a folder holds, in the order of names; nothing if there is no such folder.
    fn list(&self, folder: &str) -> Result<Vec<Entry>, TreeError>;

    /// The bytes of a file; `None` if there is no such file.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError>;
}

/// What a name ends in, after its last dot. Case counts: `x.J2` is no template.
pub fn extension(name: &str) -> Option<&str> {
    let leaf = name.rsplit('/').next().unwrap_or(name);
    leaf.rsplit_once('.').map(|(_, extension)| extension)
}

/// A path below a folder; either part may be empty.
pub fn join(folder: &str, name: &str) -> String {
    match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => folder.to_owned(),
        (false, false) => format!("{folder}/{name}"),
    }
}

/// All files below a folder by their path relative to it, with what is neither file nor folder.
pub fn walk(tree: &dyn Tree, folder: &str) -> Result<BTreeMap<String, Entry>, TreeError> {
    let mut found = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        for entry in tree.list(&join(folder, &below))? {
            let path = join(&below, &entry.name);
            match entry.kind {
                EntryKind::Folder => open.push(path),
                EntryKind::File { .. } | EntryKind::Other(_) => {
                    found.insert(path, entry);
                }
            }
        }
    }
    Ok(found)
}
