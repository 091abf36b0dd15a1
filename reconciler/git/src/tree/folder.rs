//! A folder on disk, taken as it is: untracked and ignored files count, `.git` does not.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Oid, Repository};
use parking_lot::Mutex;
use reeve_renderer_objects::tree::{Entry, EntryKind, Tree, TreeError, join};

use super::{BAD_NAME, LINK, SUBMODULE, content_id, unreadable};

#[cfg(test)]
mod tests;

/// The renderer refuses files of a mebibyte, so no larger one needs an id that Git would give it.
const LARGEST_HASHED: u64 = 16 << 20;

/// What a fleet repository consists of. Other things at its root, such as build output, may be huge and are never
/// looked at, so their ids are not worth finding out.
const PARTS: [&str; 5] = ["fleet.yaml", "channels", "layers", "charts", "runtimes"];

/// A folder on disk. What was listed once is not looked at again.
#[derive(Debug)]
pub struct FolderTree {
    root: PathBuf,
    listed: Mutex<HashMap<String, Arc<Listing>>>,
}

/// What a folder holds, and the id that Git would give it.
#[derive(Debug)]
struct Listing {
    entries: Vec<Entry>,
    id: Oid,
}

/// One line of a Git tree object.
struct Line {
    name: Vec<u8>,
    mode: &'static str,
    id: Oid,
}

impl FolderTree {
    /// The tree in this folder; fails if it is none.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        fs::read_dir(&root)?;
        Ok(Self { root, listed: Mutex::default() })
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// What a folder holds: nothing if there is no such folder, or if a link leads to it.
    fn listing(&self, folder: &str) -> Result<Arc<Listing>, TreeError> {
        let path = self.path(folder);
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if !self.listed.lock().contains_key(folder)
            && !path.ancestors().take_while(|above| *above != self.root).all(is_folder)
        {
            return Ok(Arc::new(Listing { entries: Vec::new(), id: tree_id(folder, Vec::new())? }));
        }
        self.listing_below(folder)
    }

    /// The same of a folder that is known to be one.
    fn listing_below(&self, folder: &str) -> Result<Arc<Listing>, TreeError> {
        if let Some(known) = self.listed.lock().get(folder) {
            return Ok(known.clone());
        }
        let listing = Arc::new(self.list_folder(folder)?);
        self.listed.lock().insert(folder.to_owned(), listing.clone());
        Ok(listing)
    }

    fn list_folder(&self, folder: &str) -> Result<Listing, TreeError> {
        let mut entries = Vec::new();
        let mut lines = Vec::new();
        for found in self.children(folder)? {
            let name = found.file_name();
            let wanted = !folder.is_empty() || PARTS.iter().any(|part| name == *part);
            if !wanted || name == ".git" {
                continue;
            }
            let shown = name.to_string_lossy();
            let path = join(folder, &shown);
            let (kind, mode, id) = if name.to_str().is_none() {
                (EntryKind::Other(BAD_NAME), "100644", hash(&path, ObjectType::Blob, name.as_bytes())?)
            } else {
                match self.entry(&path, &found.path())? {
                    Some(entry) => entry,
                    None => continue,
                }
            };
            entries.push(Entry { name: shown.into(), kind, id: content_id(id) });
            lines.push(Line { name: name.as_bytes().to_vec(), mode, id });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Listing { entries, id: tree_id(folder, lines)? })
    }

    /// The entries of a real folder.
    fn children(&self, folder: &str) -> Result<Vec<fs::DirEntry>, TreeError> {
        let path = self.path(folder);
        let read = || fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>();
        read().map_err(|error| unreadable(folder, error))
    }

    /// What is there; `None` for a folder without files, which Git does not know.
    fn entry(&self, path: &str, at: &Path) -> Result<Option<(EntryKind, &'static str, Oid)>, TreeError> {
        let failed = |error: io::Error| unreadable(path, error);
        let found = fs::symlink_metadata(at).map_err(failed)?;
        let kind = found.file_type();
        Ok(Some(if kind.is_symlink() {
            let target = fs::read_link(at).map_err(failed)?;
            (EntryKind::Other(LINK), "120000", hash(path, ObjectType::Blob, target.as_os_str().as_bytes())?)
        } else if kind.is_dir() && at.join(".git").exists() {
            let head = Repository::open(at).ok().and_then(|repository| repository.head().ok()?.target());
            (EntryKind::Other(SUBMODULE), "160000", head.unwrap_or(Oid::ZERO_SHA1))
        } else if kind.is_dir() {
            let listing = self.listing_below(path)?;
            if listing.entries.is_empty() {
                return Ok(None);
            }
            (EntryKind::Folder, "40000", listing.id)
        } else if kind.is_file() {
            // What is too large to be read is not worth reading: its size and age will do as its name.
            let id = if found.len() > LARGEST_HASHED {
                hash(path, ObjectType::Blob, format!("{} {:?}", found.len(), found.modified().ok()).as_bytes())?
            } else {
                Oid::hash_file(ObjectType::Blob, at).map_err(|error| unreadable(path, error))?
            };
            let mode = if found.permissions().mode() & 0o100 == 0 { "100644" } else { "100755" };
            (EntryKind::File { size: found.len() }, mode, id)
        } else {
            (EntryKind::Other("a device, a socket or a pipe"), "100644", hash(path, ObjectType::Blob, b"")?)
        }))
    }
}

impl Tree for FolderTree {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, TreeError> {
        Ok(self.listing(folder)?.entries.clone())
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let listing = self.listing(folder)?;
        let is_file = |entry: &Entry| *entry.name == *name && matches!(entry.kind, EntryKind::File { .. });
        if !listing.entries.iter().any(is_file) {
            return Ok(None);
        }
        match fs::read(self.path(path)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(path, error)),
        }
    }
}

fn hash(path: &str, kind: ObjectType, bytes: &[u8]) -> Result<Oid, TreeError> {
    Oid::hash_object(kind, bytes).map_err(|error| unreadable(path, error))
}

/// The id of a folder as Git computes it: its lines in an order in which a folder's name ends in a slash.
fn tree_id(folder: &str, mut lines: Vec<Line>) -> Result<Oid, TreeError> {
    lines.sort_by_cached_key(|line| {
        let end: &[u8] = if line.mode == "40000" { b"/" } else { b"" };
        [&line.name, end].concat()
    });
    let mut object = Vec::new();
    for line in lines {
        object.extend_from_slice(line.mode.as_bytes());
        object.push(b' ');
        object.extend_from_slice(&line.name);
        object.push(0);
        object.extend_from_slice(line.id.as_bytes());
    }
    hash(folder, ObjectType::Tree, &object)
}
