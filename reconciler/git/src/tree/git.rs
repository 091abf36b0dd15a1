//! A Git tree at one revision, read from the object store without a work tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use git2::{ErrorCode, ObjectType, Oid, Repository};
use parking_lot::Mutex;
use reeve_process::secret::scrub;
use reeve_renderer_objects::tree::{Entry, EntryKind, Tree, TreeError};
use tempfile::TempDir;

use super::{BAD_NAME, LINK, SUBMODULE, content_id, unreadable};

mod credentials;
mod fetch;
mod history;
#[cfg(test)]
mod tests;

pub use credentials::UserCredentials;
pub use fetch::{fetch_tree, local_path};
pub use history::CommitSummary;

/// A repository could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be opened.
    #[error("cannot open the Git repository {path}")]
    Open {
        /// Where it should be.
        path: String,
        /// Why.
        #[source]
        cause: GitCause,
    },
    /// A revision could not be found in it.
    #[error("there is no revision `{revision}` in {repository}")]
    Revision {
        /// What was asked for.
        revision: String,
        /// Where.
        repository: String,
        /// Why.
        #[source]
        cause: GitCause,
    },
    /// It could not be fetched.
    #[error("cannot fetch {url}")]
    Fetch {
        /// From where, without credentials.
        url: String,
        /// Why.
        #[source]
        cause: GitCause,
    },
    /// It took longer than was allowed.
    #[error("fetching {url} took longer than {seconds} s")]
    Late {
        /// From where, without credentials.
        url: String,
        /// What was allowed.
        seconds: u64,
    },
    /// There was no room to fetch into.
    #[error("cannot make a temporary folder")]
    Folder(#[source] std::io::Error),
}

/// What Git says, without credentials.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GitCause(String);

impl From<git2::Error> for GitCause {
    fn from(error: git2::Error) -> Self {
        Self(scrub(error.message()).into_owned())
    }
}

/// A repository on this machine.
pub struct GitRepository {
    repository: Repository,
    shown: String,
}

impl std::fmt::Debug for GitRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GitRepository").field(&self.shown).finish()
    }
}

impl GitRepository {
    /// The repository at exactly this path.
    pub fn open(path: &Path) -> Result<Self, GitError> {
        Self::opened(Repository::open(path), path)
    }

    /// The repository that this path is in.
    pub fn discover(path: &Path) -> Result<Self, GitError> {
        Self::opened(Repository::discover(path), path)
    }

    fn opened(result: Result<Repository, git2::Error>, path: &Path) -> Result<Self, GitError> {
        let shown = path.display().to_string();
        match result {
            Ok(repository) => Ok(Self { repository, shown }),
            Err(error) => Err(GitError::Open { path: shown, cause: error.into() }),
        }
    }

    /// Where a path is in the work tree, with `/`; empty for the root. `None` if it is not in it.
    pub fn below(&self, path: &Path) -> Option<String> {
        let root = self.repository.workdir()?.canonicalize().ok()?;
        let path = path.canonicalize().ok()?;
        path.strip_prefix(&root).ok()?.to_str().map(str::to_owned)
    }

    /// Where it is on this machine, and the URLs of its remotes.
    pub fn addresses(&self) -> Vec<String> {
        let here = [Some(self.repository.path()), self.repository.workdir()].into_iter().flatten();
        let mut addresses: Vec<String> = here.map(|path| path.display().to_string()).collect();
        let names = self.repository.remotes().ok();
        for name in names.iter().flat_map(|names| names.iter()).flatten().flatten() {
            let remote = self.repository.find_remote(name).ok();
            addresses.extend(remote.and_then(|remote| remote.url().ok().map(str::to_owned)));
        }
        addresses
    }

    /// The tree of a revision, or of a folder in it. A folder that it does not have is an empty tree.
    pub fn tree(self, revision: &str, folder: &str) -> Result<GitTree, GitError> {
        self.tree_in(revision, folder, None)
    }

    /// What errors call it.
    pub(crate) fn shown_as(self, shown: &str) -> Self {
        Self { shown: scrub(shown).into_owned(), ..self }
    }

    fn tree_in(self, revision: &str, folder: &str, temporary: Option<TempDir>) -> Result<GitTree, GitError> {
        let found = find_tree(&self.repository, revision, folder);
        let root = found.map_err(|error| GitError::Revision {
            revision: revision.to_owned(),
            repository: scrub(&self.shown).into_owned(),
            cause: error.into(),
        })?;
        Ok(GitTree { repository: Mutex::new(self.repository), root, damaged: None, _temporary: temporary })
    }
}

fn find_tree(repository: &Repository, revision: &str, folder: &str) -> Result<Option<Oid>, git2::Error> {
    let root = repository.revparse_single(revision)?.peel_to_tree()?;
    if folder.is_empty() {
        return Ok(Some(root.id()));
    }
    match root.get_path(Path::new(folder)) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(Some(entry.id())),
        Ok(_) => Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The files of one revision.
pub struct GitTree {
    repository: Mutex<Repository>,
    root: Option<Oid>,
    /// Raised when something cannot be read, for whoever can mend the repository.
    damaged: Option<Arc<AtomicBool>>,
    // Removed when the tree goes, after the repository in it is closed.
    _temporary: Option<TempDir>,
}

impl std::fmt::Debug for GitTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GitTree").field(&self.root).finish()
    }
}

impl GitTree {
    /// The same, with a flag to raise when something of it cannot be read.
    pub(crate) fn reporting_to(self, damaged: Arc<AtomicBool>) -> Self {
        Self { damaged: Some(damaged), ..self }
    }

    /// Whether the folder is in the revision at all.
    pub(crate) fn is_there(&self) -> bool {
        self.root.is_some()
    }

    fn failed(&self, path: &str, error: git2::Error) -> TreeError {
        if let Some(damaged) = &self.damaged {
            damaged.store(true, Ordering::Relaxed);
        }
        unreadable(path, GitCause::from(error))
    }

    /// What is at a path: its id and whether it is a folder or a file.
    fn find(&self, repository: &Repository, path: &str) -> Result<Option<(Oid, Option<ObjectType>)>, git2::Error> {
        let Some(root) = self.root else { return Ok(None) };
        if path.is_empty() {
            return Ok(Some((root, Some(ObjectType::Tree))));
        }
        match repository.find_tree(root)?.get_path(Path::new(path)) {
            Ok(entry) if entry.filemode() == i32::from(git2::FileMode::Link) => Ok(None),
            Ok(entry) => Ok(Some((entry.id(), entry.kind()))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn entries(&self, folder: &str) -> Result<Vec<Entry>, git2::Error> {
        let repository = self.repository.lock();
        let Some((id, Some(ObjectType::Tree))) = self.find(&repository, folder)? else { return Ok(Vec::new()) };
        let store = repository.odb()?;
        let mut entries = Vec::new();
        for entry in &repository.find_tree(id)? {
            let name = String::from_utf8_lossy(entry.name_bytes());
            let kind = match entry.kind() {
                _ if entry.name().is_err() => EntryKind::Other(BAD_NAME),
                Some(ObjectType::Tree) => EntryKind::Folder,
                Some(ObjectType::Commit) => EntryKind::Other(SUBMODULE),
                _ if entry.filemode() == i32::from(git2::FileMode::Link) => EntryKind::Other(LINK),
                _ => EntryKind::File { size: store.read_header(entry.id())?.0 as u64 },
            };
            entries.push(Entry { name: name.into(), kind, id: content_id(entry.id()) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn bytes(&self, path: &str) -> Result<Option<Arc<[u8]>>, git2::Error> {
        let repository = self.repository.lock();
        let Some((id, Some(ObjectType::Blob))) = self.find(&repository, path)? else { return Ok(None) };
        Ok(Some(repository.find_blob(id)?.content().into()))
    }
}

impl Tree for GitTree {
    fn list(&self, folder: &str) -> Result<Vec<Entry>, TreeError> {
        self.entries(folder).map_err(|error| self.failed(folder, error))
    }

    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, TreeError> {
        self.bytes(path).map_err(|error| self.failed(path, error))
    }
}

/// A folder of one's own for one repository.
fn temporary_folder() -> Result<(TempDir, PathBuf), GitError> {
    let folder = tempfile::Builder::new().prefix("reeve-").tempdir().map_err(GitError::Folder)?;
    let path = folder.path().to_owned();
    Ok((folder, path))
}
