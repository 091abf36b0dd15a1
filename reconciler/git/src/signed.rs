//! Reads a revision from its mirror as it was signed.

use std::sync::atomic::Ordering;

use git2::{ObjectType, Odb, Oid};
use reeve_process::secret::scrub;

use super::fetch::Fetched;
use super::mirror::{LARGEST_SIGNED, MOST_TAGS, MirrorError, Mirrors};
use super::signature::{SignedObjects, tag_target};
use crate::tree::GitError;

impl Mirrors {
    /// A revision that was fetched, and the tag that was followed, if it was one. Blocks.
    pub fn signed_objects(&self, url: &str, fetched: &Fetched) -> Result<SignedObjects, MirrorError> {
        let mirror = self.mirror(url);
        read(|| mirror.store.open(), fetched).map_err(|failure| match failure {
            Failure::TooLarge(id) => MirrorError::TooLarge { id: id.to_string() },
            Failure::Git(error) => {
                mirror.damaged.store(true, Ordering::Relaxed);
                let repository = scrub(url).into_owned();
                MirrorError::Read(GitError::Revision {
                    revision: fetched.revision.clone(),
                    repository,
                    cause: error.into(),
                })
            }
        })
    }
}

enum Failure {
    TooLarge(Oid),
    Git(git2::Error),
}

impl From<git2::Error> for Failure {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

fn read(
    open: impl FnOnce() -> Result<git2::Repository, git2::Error>,
    fetched: &Fetched,
) -> Result<SignedObjects, Failure> {
    let repository = open()?;
    let store = repository.odb()?;
    let id = Oid::from_str(&fetched.commit.id)?;
    let mut objects = SignedObjects {
        id: fetched.commit.id.clone(),
        commit: bounded(&store, id)?,
        tag_name: fetched.tag.as_ref().map(|tag| tag.name.clone()),
        tags: Vec::new(),
    };
    let Some(first) = fetched.tag.as_ref().and_then(|tag| tag.id.as_deref()) else { return Ok(objects) };
    let mut next = Oid::from_str(first)?;
    while objects.tags.len() < MOST_TAGS && store.read_header(next)?.1 == ObjectType::Tag {
        let raw = bounded(&store, next)?;
        // As Git reads it, which is less strict than libgit2. What cannot be read is for those to judge who ask for a tag.
        let target = tag_target(&raw).map(Oid::from_str).transpose()?;
        objects.tags.push((next.to_string(), raw));
        match target {
            Some(target) => next = target,
            None => break,
        }
    }
    Ok(objects)
}

/// An object, unless somebody made it so large that looking at it would hurt.
fn bounded(store: &Odb<'_>, id: Oid) -> Result<Vec<u8>, Failure> {
    if store.read_header(id)?.0 > LARGEST_SIGNED {
        return Err(Failure::TooLarge(id));
    }
    Ok(store.read(id)?.data().to_vec())
}
