//! Whether a mirror has all that a commit needs.

use git2::{ObjectType, Oid, Repository};

use super::failure::Failure;
use super::tags;
use crate::reference::{Choice, ReferenceError};

/// The commit and its root, which costs next to nothing.
pub(super) fn root(repository: &Repository, commit: Oid) -> Result<(), Failure> {
    let commit = repository.find_commit(commit).map_err(|error| Failure::of_the_mirror(&error))?;
    commit.tree().map(drop).map_err(|error| Failure::of_the_mirror(&error))
}

/// All folders and files of the commit: that they are there, and when `closely` also that they are what they should be.
pub(super) fn whole(repository: &Repository, commit: Oid, choice: &Choice, closely: bool) -> Result<(), Failure> {
    if tags::is_tag(repository, commit) {
        return Err(ReferenceError::unreadable(choice).into());
    }
    let object = repository.find_object(commit, None).map_err(|error| Failure::of_the_mirror(&error))?;
    if object.kind() != Some(ObjectType::Commit) {
        let name = choice.name.clone().unwrap_or_else(|| choice.commit.clone());
        return Err(ReferenceError::NotACommit(name).into());
    }
    let tree = object.peel_to_tree().map_err(|error| Failure::of_the_mirror(&error))?;
    folders(repository, tree.id(), closely).map_err(|error| Failure::of_the_mirror(&error))
}

fn folders(repository: &Repository, root: Oid, closely: bool) -> Result<(), git2::Error> {
    let store = repository.odb()?;
    let mut to_do = vec![root];
    while let Some(folder) = to_do.pop() {
        for entry in &repository.find_tree(folder)? {
            match entry.kind() {
                Some(ObjectType::Tree) => to_do.push(entry.id()),
                Some(ObjectType::Blob) if closely => drop(store.read(entry.id())?),
                Some(ObjectType::Blob) => {
                    store.read_header(entry.id())?;
                }
                // A submodule is a commit of another repository.
                _ => {}
            }
        }
    }
    Ok(())
}
