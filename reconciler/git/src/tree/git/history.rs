//! Which commit last changed a file.

use std::path::Path;

use git2::{Commit, ErrorCode, Oid, Repository, Sort};

use super::{GitError, GitRepository};

/// More commits than this are not walked through: a file that is older is not found, rather than waited for.
const FARTHEST: usize = 100_000;

/// A commit, as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSummary {
    /// Its full id.
    pub id: String,
    /// Name and address of who wrote it.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed, in seconds since 1970.
    pub seconds: i64,
}

impl GitRepository {
    /// The last commit, up to this revision, that made a file or folder what it is; `None` if there is none.
    pub fn last_change(&self, revision: &str, path: &str) -> Result<Option<CommitSummary>, GitError> {
        find(&self.repository, revision, Path::new(path)).map_err(|error| self.unfound(revision, error))
    }

    /// What is known of a commit.
    pub fn commit(&self, revision: &str) -> Result<CommitSummary, GitError> {
        let found = self.repository.revparse_single(revision).and_then(|object| object.peel_to_commit());
        found.map(|commit| summary(&commit)).map_err(|error| self.unfound(revision, error))
    }

    fn unfound(&self, revision: &str, error: git2::Error) -> GitError {
        let (revision, repository) = (revision.to_owned(), self.shown.clone());
        GitError::Revision { revision, repository, cause: error.into() }
    }
}

fn find(repository: &Repository, revision: &str, path: &Path) -> Result<Option<CommitSummary>, git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
    walk.push(repository.revparse_single(revision)?.peel_to_commit()?.id())?;
    for id in walk.take(FARTHEST) {
        let commit = repository.find_commit(id?)?;
        let Some(now) = entry(&commit, path)? else { continue };
        // A merge that took the file from one of its parents did not change it.
        let mut inherited = false;
        for parent in commit.parents() {
            inherited |= entry(&parent, path)? == Some(now);
        }
        if !inherited {
            return Ok(Some(summary(&commit)));
        }
    }
    Ok(None)
}

fn entry(commit: &Commit<'_>, path: &Path) -> Result<Option<Oid>, git2::Error> {
    match commit.tree()?.get_path(path) {
        Ok(entry) => Ok(Some(entry.id())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn summary(commit: &Commit<'_>) -> CommitSummary {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommitSummary {
        id: commit.id().to_string(),
        author: format!("{} <{}>", text(author.name_bytes()), text(author.email_bytes())),
        subject: text(commit.message_bytes()).lines().next().unwrap_or_default().to_owned(),
        seconds: commit.time().seconds(),
    }
}
