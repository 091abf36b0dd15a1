//! Where the renderer's files come from: a folder on disk, or a Git tree at some revision.
//!
//! Both name content by Git's own ids, so that a folder can be compared with a commit. Neither follows a symbolic link
//! or enters a submodule, and neither ever writes to the repository it reads.

use git2::Oid;
use reeve_renderer_objects::tree::{ContentId, TreeError};

mod folder;
mod git;

pub use folder::FolderTree;
pub use git::{CommitSummary, GitError, GitRepository, GitTree, UserCredentials, fetch_tree, local_path};

/// A link that is not followed.
const LINK: &str = "a symbolic link";
/// Another repository.
const SUBMODULE: &str = "a submodule";
/// Names are text everywhere else.
const BAD_NAME: &str = "a file whose name is not UTF-8";

/// Git's id, with zeros behind it.
fn content_id(oid: Oid) -> ContentId {
    let mut id = [0; 32];
    for (to, from) in id.iter_mut().zip(oid.as_bytes()) {
        *to = *from;
    }
    ContentId(id)
}

fn unreadable(path: &str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TreeError {
    let path = if path.is_empty() { "the root of the repository" } else { path };
    TreeError { path: path.to_owned(), cause: cause.into() }
}
