//! Git repositories to reconcile from, served over `file://`, smart HTTP and SSH by git itself.
//!
//! Owns a repository's files, its commits and its servers. No configuration of the user or the machine leaks in.

mod cgi;
mod http;
mod program;
mod signing;
mod ssh;
mod sshd_files;
mod tls;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};

pub use http::{BasicAuth, GitHttp};
pub use signing::SigningKey;
pub use ssh::GitSsh;

use crate::Supervisor;
use http::Door;
use program::Git;

/// The second at which the first commit is made; each later one is made a second after its predecessor.
const FIRST_COMMIT: u64 = 1_767_225_600;

/// A bare repository and a work tree whose commits are pushed to it. Its files go when it and its servers are dropped.
///
/// The same calls give the same commit ids each time: author, dates and messages are fixed.
#[derive(Debug)]
pub struct GitRepository {
    supervisor: Supervisor,
    git: Git,
    bare: PathBuf,
    work: PathBuf,
    commits: AtomicU64,
}

/// The full hash of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl GitRepository {
    /// An empty repository whose default branch is `main`.
    pub fn create() -> Result<Self> {
        Self::create_in(&Supervisor::start("git")?, "repository")
    }

    /// As [`create`](Self::create), in the data folder of a supervisor that is there already. A name is used once there.
    pub fn create_in(supervisor: &Supervisor, name: &str) -> Result<Self> {
        let folder = supervisor.data().join("git").join(name);
        let bare = folder.join("served").join(format!("{name}.git"));
        let work = folder.join("work");
        let git = Git::new(&folder.join("home"))?;
        for folder in [&bare, &work] {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        git.run(&bare, &["init", "--quiet", "--bare", "--initial-branch=main"])?;
        for (key, value) in SERVED_CONFIG {
            git.run(&bare, &["config", key, value])?;
        }
        git.run(&work, &["init", "--quiet", "--initial-branch=main"])?;
        let this = Self { supervisor: supervisor.clone(), git, bare, work, commits: AtomicU64::new(0) };
        this.git(&["remote", "add", "origin", &this.file_url()])?;
        Ok(this)
    }

    /// The bare repository.
    pub fn path(&self) -> &Path {
        &self.bare
    }

    /// Where commits are made. Links, modes and all else that [`commit`](Self::commit) cannot say are made here by hand.
    pub fn work_tree(&self) -> &Path {
        &self.work
    }

    /// Whose data folder it is in.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    pub fn file_url(&self) -> String {
        format!("file://{}", self.bare.display())
    }

    /// Serves the repository over HTTP, to everyone or to those who know the password.
    pub fn serve_http(&self, auth: Option<BasicAuth>) -> Result<GitHttp> {
        GitHttp::start(self, Door::basic(auth), false)
    }

    /// As [`serve_http`](Self::serve_http), to the holder of a token.
    pub fn serve_http_with_token(&self, token: &str) -> Result<GitHttp> {
        GitHttp::start(self, Door::token(token), false)
    }

    /// As [`serve_http`](Self::serve_http) over TLS, with a certificate that only [`GitHttp::authority`] vouches for.
    pub fn serve_https(&self, auth: Option<BasicAuth>) -> Result<GitHttp> {
        GitHttp::start(self, Door::basic(auth), true)
    }

    /// Serves the repository over SSH, to the holder of a key that is made for it.
    pub async fn serve_ssh(&self) -> Result<GitSsh> {
        GitSsh::start(self).await
    }

    /// Writes these files and commits them with all other changes of the work tree, if there are any at all.
    pub fn commit(&self, files: &[(&str, &str)]) -> Result<CommitId> {
        for (path, text) in files {
            let file = self.work.join(path);
            let folder = file.parent().with_context(|| format!("{path} is no file"))?;
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        let paths: Vec<_> = files.iter().map(|(path, _)| *path).collect();
        self.commit_all(&format!("Change {}", paths.join(", ")))
    }

    /// Commits the work tree as it is, even when nothing has changed.
    pub fn commit_all(&self, message: &str) -> Result<CommitId> {
        self.git(&["add", "--all"])?;
        let when = format!("@{} +0000", FIRST_COMMIT + self.commits.fetch_add(1, Ordering::Relaxed));
        let mut commit = self.git.command(&self.work);
        commit.args(["commit", "--quiet", "--allow-empty", "--message", message]);
        commit.env("GIT_AUTHOR_DATE", &when).env("GIT_COMMITTER_DATE", &when);
        program::output(commit)?;
        self.head()
    }

    /// Removes a file or a folder from the work tree, for the next commit.
    pub fn remove(&self, path: &str) -> Result<()> {
        let gone = self.work.join(path);
        let removed = if gone.is_dir() { fs::remove_dir_all(&gone) } else { fs::remove_file(&gone) };
        removed.with_context(|| format!("cannot remove {}", gone.display()))
    }

    /// [`commit`](Self::commit) and [`push`](Self::push).
    pub fn publish(&self, files: &[(&str, &str)]) -> Result<CommitId> {
        let commit = self.commit(files)?;
        self.push()?;
        Ok(commit)
    }

    /// Pushes the current branch and all tags.
    pub fn push(&self) -> Result<()> {
        self.git(&["push", "--quiet", "--tags", "origin", "HEAD"]).map(drop)
    }

    /// As [`push`](Self::push), whatever was there before.
    pub fn force_push(&self) -> Result<()> {
        self.git(&["push", "--quiet", "--force", "--tags", "origin", "HEAD"]).map(drop)
    }

    /// Makes the current branch and the work tree what they were at `commit`.
    pub fn reset_to(&self, commit: &CommitId) -> Result<()> {
        self.git(&["reset", "--quiet", "--hard", commit.as_str()]).map(drop)
    }

    /// Makes `name` a lightweight tag of the current commit; one that exists is moved. Push to publish it.
    pub fn tag(&self, name: &str) -> Result<()> {
        self.git(&["tag", "--force", name]).map(drop)
    }

    /// As [`tag`](Self::tag), with an object of its own that holds `message`.
    pub fn annotated_tag(&self, name: &str, message: &str) -> Result<()> {
        self.git(&["tag", "--force", "--annotate", "--message", message, name]).map(drop)
    }

    /// Removes a published tag, here and where it was pushed.
    pub fn delete_tag(&self, name: &str) -> Result<()> {
        self.git(&["tag", "--delete", name])?;
        self.git(&["push", "--quiet", "origin", "--delete", &format!("refs/tags/{name}")]).map(drop)
    }

    /// Makes a branch at the current commit and switches to it.
    pub fn branch(&self, name: &str) -> Result<()> {
        self.git(&["switch", "--quiet", "--create", name]).map(drop)
    }

    /// Switches to a branch that exists.
    pub fn switch(&self, name: &str) -> Result<()> {
        self.git(&["switch", "--quiet", name]).map(drop)
    }

    /// Removes a published branch where it was pushed. The work tree keeps its own.
    pub fn delete_branch(&self, name: &str) -> Result<()> {
        self.git(&["push", "--quiet", "origin", "--delete", &format!("refs/heads/{name}")]).map(drop)
    }

    /// The current commit of the work tree, pushed or not.
    pub fn head(&self) -> Result<CommitId> {
        self.git(&["rev-parse", "--verify", "HEAD"]).map(CommitId)
    }

    /// The commit that a branch or tag of the served repository points to.
    pub fn published(&self, reference: &str) -> Result<CommitId> {
        let commit = format!("{reference}^{{commit}}");
        self.git.run(&self.bare, &["rev-parse", "--quiet", "--verify", &commit]).map(CommitId)
    }

    /// Runs git in the work tree and returns what it prints; its error when it fails.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        self.git.run(&self.work, args)
    }
}

const SERVED_CONFIG: [(&str, &str); 5] = [
    ("http.receivepack", "true"),
    ("receive.denyDeleteCurrent", "ignore"),
    // No process goes on in the background once a push is done.
    ("receive.autogc", "false"),
    // As hosts do: a client may fetch a commit by its hash, and without its files.
    ("uploadpack.allowAnySHA1InWant", "true"),
    ("uploadpack.allowFilter", "true"),
];
