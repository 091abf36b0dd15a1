//! Tells where the logs are when a test fails.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

/// From now on a panic in this process prints the logs folder of this run.
pub(crate) fn watch(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                crate::run_folder::mark_failed(folder);
                eprintln!("logs of the servers: {}", folder.join("logs").display());
            }
        }));
    });
}

pub(crate) fn forget(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != folder);
}
