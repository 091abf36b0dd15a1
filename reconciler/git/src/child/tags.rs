//! Annotated tags: objects of their own, which name a commit or, by way of others, lead to one.
//!
//! They are read as Git reads them. libgit2 is stricter, and takes a tag that somebody's old tool wrote for none at all.

use git2::{ObjectType, Oid, Repository};

use crate::mirror::MOST_TAGS;
use crate::reference::Choice;
use crate::signature::tag_target;

/// Tags that name each other.
pub(super) struct Chain {
    /// From the first one on to the last that names no further tag; none if the first is no tag.
    pub(super) tags: Vec<Oid>,
    /// Where they lead; nowhere if the last of them cannot be read.
    pub(super) end: Option<Oid>,
}

/// The tags from this object on.
pub(super) fn chain(repository: &Repository, from: Oid) -> Result<Chain, git2::Error> {
    let store = repository.odb()?;
    let mut chain = Chain { tags: Vec::new(), end: Some(from) };
    while let Some(next) = chain.end
        && chain.tags.len() < MOST_TAGS
        && store.read_header(next)?.1 == ObjectType::Tag
    {
        chain.tags.push(next);
        chain.end = tag_target(store.read(next)?.data()).map(Oid::from_str).transpose()?;
    }
    Ok(chain)
}

/// Whether the tag that was chosen is there, if it is one, with all that it names.
pub(super) fn are_there(repository: &Repository, choice: &Choice) -> bool {
    let id = choice.tag.as_deref().map(Oid::from_str);
    id.is_none_or(|id| id.is_ok_and(|id| chain(repository, id).is_ok()))
}

/// Whether an object is a tag, be it one that can be read or not.
pub(super) fn is_tag(repository: &Repository, id: Oid) -> bool {
    repository.odb().and_then(|store| store.read_header(id)).is_ok_and(|(_, kind)| kind == ObjectType::Tag)
}
