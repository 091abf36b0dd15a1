//! Annotated tags: objects of their own, which name a commit or, by way of others, lead to one.

use git2::{ObjectType, Oid, Repository};

use crate::git::mirror::MOST_TAGS;
use crate::git::reference::Choice;

/// The tags from this one on to the last that names no further tag; none if it is no tag.
pub(super) fn chain(repository: &Repository, from: Oid) -> Result<Vec<Oid>, git2::Error> {
    let store = repository.odb()?;
    let mut tags = Vec::new();
    let mut next = from;
    while tags.len() < MOST_TAGS && store.read_header(next)?.1 == ObjectType::Tag {
        tags.push(next);
        next = repository.find_tag(next)?.target_id();
    }
    Ok(tags)
}

/// Whether the tag that was chosen is there, if it is one, with all that it names.
pub(super) fn are_there(repository: &Repository, choice: &Choice) -> bool {
    let id = choice.tag.as_deref().map(Oid::from_str);
    id.is_none_or(|id| id.is_ok_and(|id| chain(repository, id).is_ok()))
}
