//! The file of the hook set: written whole or not at all.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use reeve_proxy_cri::hook_set::{HookSet, HookSetError};

/// The file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    #[error("{} is no hook set", .0.display())]
    Content(PathBuf, #[source] HookSetError),
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
}

/// The hook set as it is on disk; an empty one if there is none.
pub(crate) fn read(path: &Path) -> Result<HookSet, DiskError> {
    match fs::read(path) {
        Ok(text) => HookSet::parse(&text).map_err(|cause| DiskError::Content(path.to_owned(), cause)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(HookSet::default()),
        Err(cause) => Err(DiskError::Read(path.to_owned(), cause)),
    }
}

/// Puts the set in the place of the one before, at once and for good: the proxy of a node that loses power reads one of both.
pub(crate) fn write(path: &Path, set: &HookSet) -> Result<(), DiskError> {
    let replace = || {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        // Not `.json`, so that nobody takes it for a registration.
        let fresh = path.with_extension("new");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(&set.to_text())?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        File::open(folder)?.sync_all()
    };
    replace().map_err(|cause| DiskError::Write(path.to_owned(), cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_as_it_was_written_and_no_file_is_an_empty_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below").join("hooks.json");
        assert_eq!(read(&path).unwrap(), HookSet::default());
        write(&path, &HookSet::default()).unwrap();
        assert_eq!(read(&path).unwrap(), HookSet::default());
        let names: Vec<_> =
            fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["hooks.json"], "nothing is left beside it");
        fs::write(&path, "{").unwrap();
        assert!(matches!(read(&path), Err(DiskError::Content(..))));
    }
}
