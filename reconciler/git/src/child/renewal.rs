//! A new generation of a mirror, in place of one that is damaged or has too many packs.

use std::fs;
use std::path::PathBuf;

use git2::{Oid, Repository};

use super::failure::Failure;
use super::local::copy;
use super::tags;
use crate::mirror::point;
use crate::store::{IN_FORCE, Store};

/// All refs of ours.
const OURS: &str = "refs/reeve/*";

/// A generation that is being made. It is removed again when it is dropped unfinished.
pub(super) struct Renewal {
    path: PathBuf,
    repository: Repository,
    finished: bool,
}

impl Renewal {
    pub(super) fn start(store: &Store) -> Result<Self, Failure> {
        let (path, repository) = store.start_generation()?;
        Ok(Self { path, repository, finished: false })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Takes over all that refs of the old generation reach, in one pack.
    pub(super) fn packed(self, old: &Repository) -> Result<Self, Failure> {
        let refs = refs_of(old, OURS)?;
        let mut walk = old.revwalk()?;
        let mut pack = old.packbuilder()?;
        for (_, id) in &refs {
            let chain = tags::chain(old, *id)?;
            for tag in chain.tags {
                pack.insert_object(tag, None)?;
            }
            if let Some(commit) = chain.end {
                walk.push(old.find_object(commit, None)?.peel_to_commit()?.id())?;
            }
        }
        pack.insert_walk(&mut walk)?;
        pack.write(&self.path.join("objects/pack"), 0)?;
        self.repository.odb()?.refresh()?;
        for (name, id) in refs {
            point(&self.repository, &name, &id.to_string())?;
        }
        Ok(self)
    }

    /// Makes it the generation in use, with all that was kept in the old one and can still be read.
    pub(super) fn finish(mut self, store: &Store, old: Option<&Repository>) -> Result<(), Failure> {
        let _held = store.lock_switch()?;
        let kept = old.map(|old| refs_of(old, &format!("{IN_FORCE}*")).unwrap_or_default()).unwrap_or_default();
        for (name, id) in kept {
            if self.repository.find_commit(id).is_err() {
                match old.map(|old| copy(old, &self.repository, id)) {
                    Some(Ok(_)) => {}
                    Some(Err(failure)) if failure.is_for_want_of_room() => return Err(failure),
                    // What cannot be read any more is lost, and the rest is not worth less for it.
                    Some(Err(_)) | None => continue,
                }
            }
            point(&self.repository, &name, &id.to_string())?;
        }
        store.switch_to(&self.path)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        if !self.finished {
            // The next fetch tries it again.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn refs_of(repository: &Repository, glob: &str) -> Result<Vec<(String, Oid)>, git2::Error> {
    let mut found = Vec::new();
    for reference in repository.references_glob(glob)? {
        let reference = reference?;
        if let (Ok(name), Some(id)) = (reference.name(), reference.target()) {
            found.push((name.to_owned(), id));
        }
    }
    Ok(found)
}
