//! Reads registrations and the hook set when something in their folders changes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tracing::warn;

use super::{Files, Registry};

/// Events can be lost; a look now and then finds what they did not tell.
const SWEEP: Duration = Duration::from_secs(30);
/// More than any registration or hook set has.
const LONGEST: u64 = 4 << 20;

/// Where registrations are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) folder: PathBuf,
    pub(crate) hook_set: PathBuf,
}

/// Reads everything as it is now.
pub(crate) fn load(places: &Places, registry: &mut Registry) {
    for report in registry.update_files(&read_folder(&places.folder)) {
        warn!(file = %places.folder.join(&report.file).display(), "{}", report.message);
    }
    if let Some(message) = registry.update_set(read_file(&places.hook_set).as_ref()) {
        warn!(file = %places.hook_set.display(), "{message}");
    }
}

/// Calls `on_change` whenever something may have changed. Never returns.
pub(crate) async fn watch(places: &Places, mut on_change: impl FnMut()) {
    let (sender, mut events) = mpsc::channel(1);
    let folders = [places.folder.as_path(), places.hook_set.parent().unwrap_or(Path::new("/"))];
    let mut watchers = [None, None];
    loop {
        for (folder, watcher) in folders.iter().zip(&mut watchers) {
            if watcher.is_none() {
                *watcher = begin(folder, sender.clone());
            }
        }
        on_change();
        for (folder, watcher) in folders.iter().zip(&mut watchers) {
            // A folder that was removed has lost its watch, and a new one of its name has none.
            if !folder.is_dir() {
                *watcher = None;
            }
        }
        let _ = tokio::time::timeout(SWEEP, events.recv()).await;
    }
}

fn begin(folder: &Path, sender: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(folder);
    let watching = made.map_err(notify::Error::io).and_then(|()| {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // That somebody reads is no change: we do it ourselves. Full means that a look is due already.
            if !event.is_ok_and(|event| is_reading(event.kind)) {
                let _ = sender.try_send(());
            }
        })?;
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    watching
        .inspect_err(
            |error| warn!(folder = %folder.display(), %error, "cannot watch; looking every {} s", SWEEP.as_secs()),
        )
        .ok()
}

fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn read_folder(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with("json") || entry.path().is_dir() {
            continue;
        }
        if let Some(text) = read_file(&entry.path()) {
            files.insert(name, text);
        }
    }
    files
}

/// `None` if there is no such file.
fn read_file(path: &Path) -> Option<Result<Vec<u8>, String>> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > LONGEST => return Some(Err(format!("longer than {LONGEST} bytes"))),
        _ => {}
    }
    match fs::read(path) {
        Ok(text) => Some(Ok(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(format!("cannot be read: {error}"))),
    }
}
