//! The mirrors of all repositories that are followed: one bare repository per URL, below one folder of data.
//!
//! Reading is done here, in our own process; writing is the fetching child's, but for the refs that keep a revision in
//! force. What reads here blocks: call it where blocking is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use git2::{ErrorCode, Oid, Repository};
use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_crds::Reason;
use serde::{Deserialize, Serialize};

use super::store::{FETCHED, IN_FORCE, Store, folder_name, ref_name};
use crate::tree::{GitError, GitRepository, GitTree};

/// Letters that a status takes of an author and of a subject.
const AUTHOR: usize = 256;
const SUBJECT: usize = 256;
/// Tags that may lead from one to the next until there is a commit.
pub(super) const MOST_TAGS: usize = 8;
/// Bytes of a commit or a tag whose signature is looked at.
pub(super) const LARGEST_SIGNED: usize = 1024 * 1024;

/// The mirrors below one folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Mirrors {
    data: PathBuf,
    pub(super) program: PathBuf,
    known: Arc<Mutex<BTreeMap<String, Arc<Mirror>>>>,
}

/// One mirror, as this process knows it.
#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) store: Store,
    /// One fetch at a time; other processes are kept out by a lock on disk.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Something of it could not be read.
    pub(super) damaged: Arc<AtomicBool>,
}

/// What a commit says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFacts {
    /// Its full id.
    pub id: String,
    /// Who wrote it, as Git has it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed, unless that is no time at all.
    pub committed_at: Option<Timestamp>,
}

/// A mirror could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The revision is not in the mirror, or cannot be read there.
    #[error("cannot read the mirror")]
    Read(#[from] GitError),
    /// The revision does not have the folder.
    #[error("there is no folder `{path}` in {commit}")]
    NoFolder {
        /// The folder.
        path: String,
        /// The revision.
        commit: String,
    },
    /// What should be signed is larger than what is looked at.
    #[error("{id} is larger than {} KiB, which is too much to check its signature", LARGEST_SIGNED / 1024)]
    TooLarge {
        /// The commit or tag.
        id: String,
    },
    /// What is in force could not be noted.
    #[error("cannot keep {commit} for {name}")]
    Keep {
        /// Whose revision.
        name: String,
        /// Which.
        commit: String,
        /// Why.
        #[source]
        cause: git2::Error,
    },
    /// The mirror could not be locked or removed.
    #[error("cannot change the mirror at {path}")]
    Folder {
        /// Where it is.
        path: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl MirrorError {
    /// The reason of a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Read(_) | Self::Keep { .. } => Reason::MirrorCorrupt,
            Self::NoFolder { .. } => Reason::PathNotFound,
            Self::TooLarge { .. } => Reason::BadSignature,
            Self::Folder { cause, .. } if cause.kind() == io::ErrorKind::StorageFull => Reason::DiskFull,
            Self::Folder { .. } => Reason::MirrorUnusable,
        }
    }
}

impl Mirrors {
    /// Mirrors below a folder of data; `program` is our own binary, which fetches when it is called with `fetch-child`.
    pub fn new(data_folder: PathBuf, program: PathBuf) -> Self {
        Self { data: data_folder, program, known: Arc::default() }
    }

    pub(super) fn mirror(&self, url: &str) -> Arc<Mirror> {
        let name = folder_name(url);
        let mut known = self.known.lock();
        let new = |name: &String| Mirror {
            store: Store::new(self.data.join(name)),
            turn: tokio::sync::Mutex::new(()),
            damaged: Arc::default(),
        };
        Arc::clone(known.entry(name).or_insert_with_key(|name| Arc::new(new(name))))
    }

    /// The files of a commit, or of a folder in it. Blocks. What cannot be read has the mirror looked over by the next
    /// fetch.
    pub fn tree(&self, url: &str, commit: &str, path: &str) -> Result<GitTree, MirrorError> {
        let mirror = self.mirror(url);
        let suspect = |error| {
            mirror.damaged.store(true, std::sync::atomic::Ordering::Relaxed);
            MirrorError::Read(error)
        };
        let place = mirror.store.current().unwrap_or_else(|_| mirror.store.folder().to_owned());
        let repository = GitRepository::open(&place).map_err(suspect)?.shown_as(url);
        let tree = repository.tree(commit, path).map_err(suspect)?;
        if !tree.is_there() {
            return Err(MirrorError::NoFolder { path: path.to_owned(), commit: commit.to_owned() });
        }
        Ok(tree.reporting_to(Arc::clone(&mirror.damaged)))
    }

    /// Keeps a commit, which was fetched, under a name until another is kept under it: whatever happens to branches on
    /// the server, it stays readable. Blocks for a moment.
    pub fn keep_commit(&self, url: &str, name: &str, commit: &str) -> Result<(), MirrorError> {
        let failed = |cause| MirrorError::Keep { name: name.to_owned(), commit: commit.to_owned(), cause };
        let mirror = self.mirror(url);
        let _held = mirror.store.lock_switch().map_err(|cause| unusable(&mirror, cause))?;
        let repository = mirror.store.open().map_err(failed)?;
        let reference = format!("{IN_FORCE}{}", ref_name(name));
        // Nobody but us writes it, and we have the lock: what lies there was left by a process that was killed.
        let _ = fs::remove_file(repository.path().join(format!("{reference}.lock")));
        point(&repository, &reference, commit).map_err(failed)
    }

    /// Whether a commit is what is [kept](Self::keep_commit) under a name. Blocks for a moment.
    pub fn keeps(&self, url: &str, name: &str, commit: &str) -> bool {
        let Ok(repository) = self.mirror(url).store.open() else { return false };
        let kept = repository.refname_to_id(&format!("{IN_FORCE}{}", ref_name(name)));
        kept.is_ok_and(|kept| kept.to_string() == commit)
    }

    /// Ends what [`keep_commit`](Self::keep_commit) began.
    pub fn release(&self, url: &str, name: &str) -> Result<(), MirrorError> {
        let failed = |cause| MirrorError::Keep { name: name.to_owned(), commit: "nothing".to_owned(), cause };
        let mirror = self.mirror(url);
        if mirror.store.current().is_err() {
            return Ok(());
        }
        let _held = mirror.store.lock_switch().map_err(|cause| unusable(&mirror, cause))?;
        let repository = mirror.store.open().map_err(failed)?;
        match repository.find_reference(&format!("{IN_FORCE}{}", ref_name(name))) {
            Ok(mut reference) => reference.delete().map_err(failed),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Removes the mirrors of all other URLs, which nothing follows any more, and says how many there were. One that is
    /// being fetched stays for now. Blocks.
    pub fn retain<'a>(&self, urls: impl IntoIterator<Item = &'a str>) -> io::Result<usize> {
        let followed: BTreeSet<String> = urls.into_iter().map(folder_name).collect();
        let mut removed = 0;
        for entry in fs::read_dir(&self.data)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let store = Store::new(entry.path());
            if followed.contains(&name) || !store.exists() {
                continue;
            }
            let Ok(_held) = store.try_lock() else { continue };
            fs::remove_dir_all(store.folder())?;
            self.known.lock().remove(&name);
            removed += 1;
        }
        Ok(removed)
    }
}

fn unusable(mirror: &Mirror, cause: io::Error) -> MirrorError {
    MirrorError::Folder { path: mirror.store.folder().display().to_string(), cause }
}

/// Points a ref to an object that must be there, whatever it pointed to before.
pub(super) fn point(repository: &Repository, reference: &str, id: &str) -> Result<(), git2::Error> {
    let id = Oid::from_str(id)?;
    if !repository.odb()?.exists(id) {
        let message = format!("there is no object {id}");
        return Err(git2::Error::new(ErrorCode::NotFound, git2::ErrorClass::Odb, message));
    }
    repository.reference(reference, id, true, "fetched by reeve").map(drop)
}

/// The ref under which something of the server is kept.
pub(super) fn fetched_ref(source: &str) -> String {
    format!("{FETCHED}{}", ref_name(source))
}

impl CommitFacts {
    /// What a commit of a repository says of itself.
    pub(super) fn read(repository: &Repository, id: Oid) -> Result<Self, git2::Error> {
        let commit = repository.find_commit(id)?;
        let author = commit.author();
        let name = String::from_utf8_lossy(author.name_bytes());
        let email = String::from_utf8_lossy(author.email_bytes());
        let message = String::from_utf8_lossy(commit.message_bytes());
        let first = message.trim_start().lines().next().unwrap_or_default();
        Ok(Self {
            id: id.to_string(),
            author: one_line(&format!("{name} <{email}>"), AUTHOR),
            subject: one_line(first, SUBJECT),
            committed_at: Timestamp::from_second(commit.time().seconds()).ok(),
        })
    }
}

/// Text fit for a status: without control characters, and not too long.
fn one_line(text: &str, longest: usize) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    clean[..clean.floor_char_boundary(longest)].trim().to_owned()
}
