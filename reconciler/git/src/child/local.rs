//! A repository on this machine, copied from object by object: only what a commit needs and the mirror lacks.

use std::path::PathBuf;

use git2::{ErrorCode, ObjectType, Oid, Repository};
use reeve_crds::Reason;

use super::failure::Failure;
use super::tags;
use crate::reference::{Choice, Head, ReferenceError};

pub(super) struct LocalSource<'a> {
    from: Repository,
    into: &'a Repository,
}

impl<'a> LocalSource<'a> {
    pub(super) fn open(path: &str, into: &'a Repository) -> Result<Self, Failure> {
        let path = PathBuf::from(path.strip_prefix("localhost").unwrap_or(path));
        match Repository::open(&path) {
            Ok(from) => Ok(Self { from, into }),
            Err(error) if error.code() == ErrorCode::NotFound => {
                let message = format!("there is no Git repository at {}", path.display());
                Err(Failure::known(Reason::NotFound, message))
            }
            Err(error) => Err(unreadable(&error)),
        }
    }

    pub(super) fn heads(&self) -> Result<Vec<Head>, Failure> {
        let mut heads = Vec::new();
        for reference in self.from.references().map_err(|error| unreadable(&error))? {
            let reference = reference.map_err(|error| unreadable(&error))?;
            // One that points nowhere is as good as none.
            let Ok(direct) = reference.resolve() else { continue };
            let (Ok(name), Some(id)) = (reference.name(), direct.target()) else { continue };
            heads.push(Head { name: name.to_owned(), id: id.to_string() });
            let peeled = direct.peel(ObjectType::Any).map(|object| object.id()).ok();
            // What libgit2 does not read may be a tag all the same.
            let peeled = peeled.or_else(|| tags::chain(&self.from, id).ok()?.end);
            if let Some(peeled) = peeled.filter(|peeled| *peeled != id) {
                heads.push(Head { name: format!("{name}^{{}}"), id: peeled.to_string() });
            }
        }
        Ok(heads)
    }

    pub(super) fn receive(&self, choice: &Choice) -> Result<(u64, u64), Failure> {
        let commit = Oid::from_str(&choice.commit)?;
        if tags::is_tag(&self.from, commit) {
            return Err(ReferenceError::unreadable(choice).into());
        }
        match self.from.find_object(commit, None) {
            Ok(object) if object.kind() == Some(ObjectType::Commit) => {}
            Ok(_) => {
                let name = choice.name.clone().unwrap_or_else(|| choice.commit.clone());
                return Err(ReferenceError::NotACommit(name).into());
            }
            Err(error) if error.code() == ErrorCode::NotFound && choice.source.is_none() => {
                return Err(ReferenceError::Commit(choice.commit.clone()).into());
            }
            Err(error) => return Err(unreadable(&error)),
        }
        let received = copy(&self.from, self.into, commit)?;
        self.copy_tags(choice)?;
        Ok(received)
    }

    /// Copies the tag that was chosen, if it is one, with those that it names.
    fn copy_tags(&self, choice: &Choice) -> Result<(), Failure> {
        let Some(tag) = &choice.tag else { return Ok(()) };
        let source = self.from.odb().map_err(|error| unreadable(&error))?;
        let target = self.into.odb()?;
        for tag in tags::chain(&self.from, Oid::from_str(tag)?).map_err(|error| unreadable(&error))?.tags {
            let object = source.read(tag).map_err(|error| unreadable(&error))?;
            target.write(ObjectType::Tag, object.data())?;
        }
        Ok(())
    }
}

/// Copies a commit with its history, without what is reached by refs of the other side already.
pub(super) fn copy(from: &Repository, into: &Repository, commit: Oid) -> Result<(u64, u64), Failure> {
    let mut walk = from.revwalk().map_err(|error| unreadable(&error))?;
    walk.push(commit).map_err(|error| unreadable(&error))?;
    for reference in into.references()? {
        let Some(there) = reference?.target() else { continue };
        // What only the other side has cannot be walked here, and hides nothing.
        if let Ok(there) = from.find_object(there, None).and_then(|object| object.peel_to_commit()) {
            walk.hide(there.id()).map_err(|error| unreadable(&error))?;
        }
    }
    let mut pack = from.packbuilder().map_err(|error| unreadable(&error))?;
    pack.insert_walk(&mut walk).map_err(|error| unreadable(&error))?;
    let objects = pack.object_count() as u64;
    if objects > 0 {
        pack.write(&into.path().join("objects/pack"), 0)?;
        into.odb()?.refresh()?;
    }
    Ok((objects, 0))
}

/// It is the repository that is copied from, not the mirror.
fn unreadable(error: &git2::Error) -> Failure {
    Failure::known(Reason::FetchFailed, format!("the repository cannot be read: {}", error.message()))
}
