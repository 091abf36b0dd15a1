//! From what a person writes to a tree: a folder, a revision of the repository around it, or a repository elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reeve_reconciler_git::{FolderTree, GitError, GitRepository, fetch_tree, local_path};
use reeve_renderer::diagnostic::Diagnostic;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::suggest::did_you_mean;
use reeve_renderer::tree::{EntryKind, Tree};

use super::args::RevisionArgs;
use super::failure::Failure;

/// A tree and what to call it.
pub(super) struct Source {
    pub(super) tree: Box<dyn Tree>,
    /// What a person calls it.
    pub(super) shown: String,
    /// The folder on disk, if it is one.
    folder: Option<PathBuf>,
    /// The folder that a revision is of, or the URL that it was fetched from.
    home: Home,
}

/// Where a tree comes from.
enum Home {
    Folder(PathBuf),
    Url(String),
}

impl Source {
    /// What the arguments name.
    pub(super) fn open(path: &Path, revision: &RevisionArgs) -> Result<Self, Failure> {
        let rev = revision.rev.as_deref();
        match (&revision.git, rev) {
            (None, None) => Self::folder(path),
            (None, Some(rev)) => Self::revision(path, rev),
            (Some(url), rev) => {
                let rev = rev.unwrap_or("HEAD");
                let shown = format!("{} at {rev}", reeve_process::secret::scrub(url));
                let tree = match local_path(url) {
                    Some(path) => GitRepository::open(&path)?.tree(rev, "")?,
                    None => fetch_tree(url, rev, &RevisionArgs::credentials(), revision.timeout)?,
                };
                Ok(Self { tree: Box::new(tree), shown, folder: None, home: Home::Url(url.clone()) })
            }
        }
    }

    /// A folder if there is such a folder or it is written like one, else a revision of the repository around `here`.
    pub(super) fn named(name: &str, here: &Path) -> Result<Self, Failure> {
        if is_folder(name) {
            return Self::folder(Path::new(name));
        }
        Self::revision(here, name).map_err(|failure| match failure {
            Failure::Git(cause @ (GitError::Open { .. } | GitError::Revision { .. })) => {
                Failure::Neither { name: name.to_owned(), cause }
            }
            other => other,
        })
    }

    /// A folder, or a revision of the same repository that the other arguments name.
    pub(super) fn beside(name: &str, path: &Path, other: &RevisionArgs) -> Result<Self, Failure> {
        match &other.git {
            Some(url) if !is_folder(name) => {
                let revision =
                    RevisionArgs { git: Some(url.clone()), rev: Some(name.to_owned()), timeout: other.timeout };
                Self::open(path, &revision)
            }
            _ => Self::named(name, path),
        }
    }

    fn folder(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        match FolderTree::open(path) {
            Ok(tree) => {
                let home = Home::Folder(path.to_owned());
                Ok(Self { tree: Box::new(tree), shown, folder: Some(path.to_owned()), home })
            }
            Err(cause) => Err(Failure::Folder { path: shown, cause }),
        }
    }

    /// The same folder as it is in a revision of the repository that it is in.
    fn revision(path: &Path, revision: &str) -> Result<Self, Failure> {
        let repository = GitRepository::discover(path)?;
        let below = repository.below(path).unwrap_or_default();
        let tree = repository.tree(revision, &below)?;
        Ok(Self { tree: Box::new(tree), shown: revision.to_owned(), folder: None, home: Home::Folder(path.to_owned()) })
    }

    /// All by which a source may name the repository, and the folder of it that the fleet is in.
    pub(super) fn addresses(&self) -> (Vec<String>, String) {
        let (found, url) = match &self.home {
            Home::Folder(folder) => (GitRepository::discover(folder).ok(), None),
            Home::Url(url) => (local_path(url).and_then(|path| GitRepository::open(&path).ok()), Some(url)),
        };
        let mut addresses = found.as_ref().map(GitRepository::addresses).unwrap_or_default();
        addresses.extend(url.cloned());
        let below = match &self.home {
            Home::Folder(folder) => found.and_then(|repository| repository.below(folder)),
            Home::Url(_) => None,
        };
        (addresses, below.unwrap_or_default())
    }

    /// The way from the root of the Git repository to the fleet in it, for those who count paths from there.
    pub(super) fn prefix(&self) -> String {
        let below = |folder: &PathBuf| GitRepository::discover(folder).ok()?.below(folder);
        self.folder
            .as_ref()
            .and_then(below)
            .filter(|below| !below.is_empty())
            .map_or_else(String::new, |below| below + "/")
    }

    /// The fleet in it, and what is wrong with its files.
    pub(super) fn load(&self, loader: &Loader) -> Result<(Fleet, Vec<Diagnostic>), Failure> {
        let root = self.tree.list("")?;
        let is_fleet = root.iter().any(|entry| &*entry.name == "fleet.yaml" && entry.kind != EntryKind::Folder);
        if !is_fleet {
            return Err(Failure::NoFleet { place: self.place(), help: self.advice() });
        }
        Ok(loader.load(&*self.tree)?)
    }

    fn place(&self) -> String {
        if self.shown == "." { "this folder".to_owned() } else { self.shown.clone() }
    }

    fn advice(&self) -> String {
        let folder = self.folder.as_ref().and_then(|folder| folder.canonicalize().ok());
        let above = folder.as_deref().into_iter().flat_map(Path::ancestors).skip(1);
        match above.into_iter().find(|above| above.join("fleet.yaml").is_file()) {
            Some(found) => format!("there is one in {}", found.display()),
            None => "name its folder, or make one with `reeve new fleet NAME`".to_owned(),
        }
    }
}

fn is_folder(name: &str) -> bool {
    Path::new(name).is_dir() || name.starts_with(['.', '/'])
}

/// The runtimes of a fleet that are asked for, in the order of their names; all if none is named.
pub(super) fn runtimes_of(fleet: &Fleet, names: &[String]) -> Result<Vec<Arc<str>>, Failure> {
    if let Some(name) = names.iter().find(|name| fleet.is_broken("runtimes", name)) {
        let help = "`reeve validate` says what is wrong with it".to_owned();
        return Err(Failure::unknown(format!("the file of runtime `{name}` cannot be used"), Some(help)));
    }
    select_runtimes(names, fleet.runtimes.keys())
}

/// The runtimes that are asked for, in the order of their names; all if none is named.
pub(super) fn select_runtimes<'a>(
    names: &[String],
    known: impl Iterator<Item = &'a Arc<str>> + Clone,
) -> Result<Vec<Arc<str>>, Failure> {
    for name in names {
        if !known.clone().any(|known| **known == **name) {
            let help = did_you_mean(name, known.clone().map(|name| &**name));
            return Err(Failure::unknown(format!("there is no runtime `{name}`"), help));
        }
    }
    Ok(known.filter(|known| names.is_empty() || names.iter().any(|name| **name == ***known)).cloned().collect())
}
