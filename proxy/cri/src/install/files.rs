//! Writes and removes the files of an installation, and no file of anybody else.

use std::fs;
use std::path::{Path, PathBuf};

use super::{MARK, OURS, Plan};

/// The host cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error("{} is not ours: remove it first, or merge it by hand", .0.display())]
    NotOurs(PathBuf),
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
    #[error("cannot remove {}", .0.display())]
    Remove(PathBuf, #[source] std::io::Error),
}

/// Writes the files of a plan, or none. Returns those that changed.
pub(crate) fn install(root: &Path, plan: &Plan) -> Result<Vec<PathBuf>, InstallError> {
    for file in &plan.files {
        check(&root.join(file.path))?;
    }
    let mut changed = Vec::new();
    for file in &plan.files {
        let path = root.join(file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            fs::write(&path, &file.text)
        };
        write().map_err(|cause| InstallError::Write(path.clone(), cause))?;
        changed.push(path);
    }
    Ok(changed)
}

/// Removes what an installation wrote. Returns what was there.
pub(crate) fn uninstall(root: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let paths: Vec<PathBuf> = OURS.iter().map(|path| root.join(path)).filter(|path| path.exists()).collect();
    for path in &paths {
        check(path)?;
    }
    for path in &paths {
        fs::remove_file(path).map_err(|cause| InstallError::Remove(path.clone(), cause))?;
        // Only if nothing else is in it.
        let _ = path.parent().map(fs::remove_dir);
    }
    Ok(paths)
}

fn check(path: &Path) -> Result<(), InstallError> {
    match fs::read_to_string(path) {
        Ok(text) if !text.starts_with(MARK) => Err(InstallError::NotOurs(path.to_owned())),
        _ => Ok(()),
    }
}
