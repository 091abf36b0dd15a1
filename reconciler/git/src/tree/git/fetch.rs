//! Fetches one revision of a repository elsewhere into a temporary bare repository, within a deadline.
//!
//! Only what the revision needs is asked for: one commit deep for a branch, a tag or a full id, with history when the
//! revision walks it (`main~2`), and everything only for a short id, which no server resolves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use git2::{AutotagOption, FetchOptions, Oid, RemoteCallbacks, Repository};
use reeve_process::secret::scrub;

use super::credentials::{Presenter, UserCredentials};
use super::{GitCause, GitError, GitRepository, GitTree, temporary_folder};

/// What one try asks the server for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) refspecs: Vec<String>,
    /// Commits of history; all of it when 0.
    pub(super) depth: i32,
    /// Where the revision may be found afterwards, the first that is there.
    pub(super) names: Vec<String>,
}

/// The tries for a revision, the cheapest first.
pub(super) fn attempts(revision: &str) -> Vec<Attempt> {
    let at = revision.find(['~', '^', '@', ':']).unwrap_or(revision.len());
    let (base, walk) = revision.split_at(at);
    let depth = i32::from(walk.is_empty());
    let one = |sources: &[String]| {
        let local = |source: &String| format!("refs/reeve/{source}");
        Attempt {
            refspecs: sources.iter().map(|source| format!("+{source}:{}", local(source))).collect(),
            depth,
            names: sources.iter().map(|source| format!("{}{walk}", local(source))).collect(),
        }
    };
    let is_hash = (4..=40).contains(&base.len()) && base.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut attempts = Vec::new();
    if matches!(base, "" | "HEAD") {
        attempts.push(one(&["HEAD".to_owned()]));
    } else if base.starts_with("refs/") {
        attempts.push(one(&[base.to_owned()]));
    } else if is_hash && base.len() == 40 {
        let refspecs = vec![format!("+{base}:refs/reeve/commit")];
        attempts.push(Attempt { refspecs, depth, names: vec![revision.to_owned()] });
    } else {
        attempts.push(one(&[format!("refs/tags/{base}"), format!("refs/heads/{base}")]));
    }
    if is_hash {
        let refspecs = ["heads", "tags"].map(|kind| format!("+refs/{kind}/*:refs/reeve/{kind}/*")).to_vec();
        attempts.push(Attempt { refspecs, depth: 0, names: vec![revision.to_owned()] });
    }
    attempts
}

/// The tree of a revision of the repository at a URL.
pub fn fetch_tree(
    url: &str,
    revision: &str,
    credentials: &UserCredentials,
    allowed: Duration,
) -> Result<GitTree, GitError> {
    let shown = scrub(url).into_owned();
    let (folder, path) = temporary_folder()?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let (tx, rx) = mpsc::sync_channel(1);
    let work = {
        let (url, revision, path) = (url.to_owned(), revision.to_owned(), path.clone());
        let fetch = Fetch { url, path, credentials: credentials.clone(), cancelled: cancelled.clone() };
        move || drop(tx.send(fetch.run(&revision)))
    };
    // A thread of its own, since a server that never answers cannot be interrupted in any other way.
    thread::Builder::new().name("fetch".to_owned()).spawn(work).map_err(GitError::Folder)?;
    let failed = |cause: GitCause| GitError::Fetch { url: shown.clone(), cause };
    let found = match rx.recv_timeout(allowed) {
        Ok(found) => found.map_err(|error| failed(error.into()))?,
        Err(RecvTimeoutError::Timeout) => {
            cancelled.store(true, Ordering::Relaxed);
            return Err(GitError::Late { url: shown, seconds: allowed.as_secs() });
        }
        Err(RecvTimeoutError::Disconnected) => return Err(failed(GitCause("the fetch broke off".to_owned()))),
    };
    let mut repository = GitRepository::open(&path)?;
    repository.shown.clone_from(&shown);
    match found {
        Some(commit) => repository.tree_in(&commit.to_string(), "", Some(folder)),
        None => Err(GitError::Revision {
            revision: revision.to_owned(),
            repository: shown,
            cause: GitCause("no branch, tag or commit is called so".to_owned()),
        }),
    }
}

struct Fetch {
    url: String,
    path: PathBuf,
    credentials: UserCredentials,
    cancelled: Arc<AtomicBool>,
}

impl Fetch {
    /// The commit, if the server has it.
    fn run(&self, revision: &str) -> Result<Option<Oid>, git2::Error> {
        let repository = Repository::init_bare(&self.path)?;
        let attempts = attempts(revision);
        for (at, attempt) in attempts.iter().enumerate() {
            match self.attempt(&repository, attempt) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                // A server need not give out any commit by its id; what can be reached is asked for next.
                Err(error) if at + 1 < attempts.len() && error.code() != git2::ErrorCode::Auth => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn attempt(&self, repository: &Repository, attempt: &Attempt) -> Result<Option<Oid>, git2::Error> {
        match self.fetch(repository, &attempt.refspecs, attempt.depth) {
            Err(error) if attempt.depth > 0 && error.message().contains("shallow") => {
                self.fetch(repository, &attempt.refspecs, 0)?;
            }
            other => other?,
        }
        let find = |name: &String| repository.revparse_single(name).ok().map(|object| object.id());
        Ok(attempt.names.iter().find_map(find))
    }

    fn fetch(&self, repository: &Repository, refspecs: &[String], depth: i32) -> Result<(), git2::Error> {
        let mut presenter = Presenter::new(&self.credentials);
        let mut callbacks = RemoteCallbacks::new();
        callbacks.credentials(move |_, user, allowed| presenter.next(user, allowed));
        callbacks.transfer_progress(|_| !self.cancelled.load(Ordering::Relaxed));
        callbacks.sideband_progress(|_| !self.cancelled.load(Ordering::Relaxed));
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks).depth(depth).download_tags(AutotagOption::None);
        repository.remote_anonymous(&self.url)?.fetch(refspecs, Some(&mut options), None)
    }
}

/// The path that a URL means, if it means one on this machine: it is opened there, not copied.
pub fn local_path(url: &str) -> Option<PathBuf> {
    if let Some(path) = url.strip_prefix("file://") {
        return Some(PathBuf::from(path.strip_prefix("localhost").unwrap_or(path)));
    }
    let looks_remote = url.contains("://") || url.split('/').next().is_some_and(|first| first.contains(':'));
    (!looks_remote || Path::new(url).exists()).then(|| PathBuf::from(url))
}
