//! Tells of pushes to a repository on this machine, as soon as its refs change.
//!
//! Only a quicker way to what polling finds as well: where files cannot be watched, polling is what is left.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{CreateKind, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;
use tracing::warn;

use crate::tree::local_path;

#[cfg(test)]
mod tests;

/// Files in a folder that was just made may have come before the folder was watched: it is looked at once more.
const SETTLED: Duration = Duration::from_millis(200);

/// What an event says of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// Something else happened.
    Nothing,
    /// A ref may have changed.
    Changed,
    /// A folder was made, whose files may have been missed.
    Grown,
}

/// Wakes whoever waits whenever refs of the repository at a `file://` URL may have changed, also when it appears later
/// or is replaced. Goes on until it is dropped; never returns.
pub async fn watch_local(url: &str, wake: Arc<Notify>) {
    if let Some(path) = local_path(url) {
        let Err(error) = watch(&path, &wake).await;
        warn!(%error, path = %path.display(), "cannot watch the repository, it is only looked at from time to time");
    }
    std::future::pending::<()>().await;
}

async fn watch(repository: &Path, wake: &Notify) -> Result<std::convert::Infallible, notify::Error> {
    // One place: what happens while we are busy is one thing to look at afterwards.
    let (tx, mut rx) = mpsc::channel(1);
    let about = repository.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // An overflow tells nothing, and so means everything.
        let news = event.map_or(News::Changed, |event| news(&event, &about));
        if news != News::Nothing {
            let _ = tx.try_send(news);
        }
    })?;
    let mut seen = Watched::default();
    loop {
        if seen.follow(&mut watcher, places(repository))? {
            // What happened before a place was watched went by unseen.
            wake.notify_one();
        }
        let Some(news) = rx.recv().await else { return Err(notify::Error::generic("the watcher has ended")) };
        wake.notify_one();
        if news == News::Grown {
            sleep(SETTLED).await;
            wake.notify_one();
        }
    }
}

/// What is watched: places, and which file or folder was at each.
#[derive(Default)]
struct Watched {
    places: BTreeMap<PathBuf, Identity>,
}

/// Device and number of a file.
type Identity = (u64, u64);

impl Watched {
    /// Watches these places and no others, and says whether something is watched that was not before.
    fn follow(
        &mut self,
        watcher: &mut RecommendedWatcher,
        wanted: Vec<(PathBuf, RecursiveMode)>,
    ) -> Result<bool, notify::Error> {
        let there: BTreeMap<_, _> =
            wanted.into_iter().filter_map(|(path, mode)| Some((identity(&path)?, (path, mode)))).collect();
        let is_same = |path: &PathBuf, now: &Identity| there.get(now).is_some_and(|(wanted, _)| wanted == path);
        for path in self.places.iter().filter(|(path, now)| !is_same(path, now)).map(|(path, _)| path) {
            // What is gone is not watched any more by itself.
            let _ = watcher.unwatch(path);
        }
        self.places.retain(|path, now| is_same(path, now));
        let mut is_new = false;
        for (now, (path, mode)) in there {
            if self.places.contains_key(&path) {
                continue;
            }
            match watcher.watch(&path, mode) {
                Ok(()) => is_new |= self.places.insert(path, now).is_none(),
                // It went in this moment; whoever is above it will tell when it is back.
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) if matches!(&error.kind, notify::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound) =>
                    {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_new)
    }
}

fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Where changes of refs show, and the folder above, where the repository appears and goes.
fn places(repository: &Path) -> Vec<(PathBuf, RecursiveMode)> {
    let inner = repository.join(".git");
    let git = if inner.is_dir() { inner } else { repository.to_owned() };
    let above = repository.ancestors().skip(1).find(|folder| folder.is_dir());
    let mut places: Vec<_> = above.map(|folder| (folder.to_owned(), RecursiveMode::NonRecursive)).into_iter().collect();
    if repository.is_dir() && git != repository {
        places.push((repository.to_owned(), RecursiveMode::NonRecursive));
    }
    if git.is_dir() {
        places.push((git.join("refs"), RecursiveMode::Recursive));
        places.push((git, RecursiveMode::NonRecursive));
    }
    places
}

/// What an event means for a repository. Pure.
fn news(event: &Event, repository: &Path) -> News {
    // Our own reading is an event, too: to act upon it would be to go round in circles.
    if matches!(event.kind, EventKind::Access(_)) {
        return News::Nothing;
    }
    if event.need_rescan() {
        return News::Changed;
    }
    let is_folder = event.kind == EventKind::Create(CreateKind::Folder);
    let concerns = |path: &PathBuf| is_ref(path, repository) || repository.starts_with(path);
    match event.paths.iter().any(concerns) {
        true if is_folder => News::Grown,
        true => News::Changed,
        false => News::Nothing,
    }
}

/// Whether a file of the repository says where refs point to. Git writes beside it first, under a name with `.lock`.
fn is_ref(path: &Path, repository: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(repository) else { return false };
    let inside = inside.strip_prefix(".git").unwrap_or(inside);
    let is_lock = inside.extension().is_some_and(|extension| extension == "lock");
    let named = inside == Path::new("HEAD") || inside == Path::new("packed-refs");
    !is_lock && (named || inside.starts_with("refs") || inside.as_os_str().is_empty())
}
