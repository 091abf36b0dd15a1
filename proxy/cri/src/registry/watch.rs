//! Reads the folder of registrations when something in it changes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tracing::warn;

use super::{Files, Registry};

/// Events can be lost; a look now and then finds what they did not tell.
const SWEEP: Duration = Duration::from_secs(30);
/// More than any registration has.
const LONGEST: u64 = 1 << 20;

/// The registrations as they are now.
pub(crate) fn load(folder: &Path) -> Registry {
    let mut registry = Registry::default();
    update(&mut registry, folder);
    registry
}

/// Calls `on_change` whenever the registry has changed. Never returns.
pub(crate) async fn watch(folder: &Path, mut registry: Registry, mut on_change: impl FnMut(&Registry)) {
    let (sender, mut events) = mpsc::channel(1);
    let mut watcher = None;
    loop {
        if watcher.is_none() {
            watcher = begin(folder, sender.clone());
        }
        let before = registry.clone();
        update(&mut registry, folder);
        if !before.plugins().eq(registry.plugins()) {
            on_change(&registry);
        }
        // A folder that was removed has lost its watch, and a new one of its name has none.
        if !folder.is_dir() {
            watcher = None;
        }
        let _ = tokio::time::timeout(SWEEP, events.recv()).await;
    }
}

fn update(registry: &mut Registry, folder: &Path) {
    for report in registry.update(&read(folder)) {
        warn!(file = %folder.join(&report.file).display(), "{}", report.message);
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

fn read(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with("json") || entry.path().is_dir() {
            continue;
        }
        let text = match entry.metadata() {
            Ok(meta) if meta.len() > LONGEST => Err(format!("longer than {LONGEST} bytes")),
            _ => match fs::read(entry.path()) {
                Ok(text) => Ok(text),
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => Err(format!("cannot be read: {error}")),
            },
        };
        files.insert(name, text);
    }
    files
}
