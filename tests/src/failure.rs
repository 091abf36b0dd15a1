//! Tells where the logs are when a test fails.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread::ThreadId;

use parking_lot::Mutex;

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

struct Watched {
    folder: PathBuf,
    /// The thread of the test that it belongs to; none if it is shared by all.
    owner: Option<ThreadId>,
}

/// From now on a panic of the current test prints the logs folder of this run and keeps it.
pub(crate) fn watch(folder: &Path) {
    add(Watched { folder: folder.to_owned(), owner: Some(std::thread::current().id()) });
}

/// As [`watch`], for a run that serves every test of this process.
pub(crate) fn watch_shared(folder: &Path) {
    forget(folder);
    add(Watched { folder: folder.to_owned(), owner: None });
}

pub(crate) fn forget(folder: &Path) {
    WATCHED.lock().retain(|other| other.folder != folder);
}

fn add(watched: Watched) {
    WATCHED.lock().push(watched);
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            let current = std::thread::current();
            // A test runs on a thread that bears its name; what a nameless one does is the business of whoever joins it.
            let is_of_a_test = current.name().is_some();
            let watched = WATCHED.lock();
            for run in watched.iter().filter(|run| run.owner.map_or(is_of_a_test, |owner| owner == current.id())) {
                crate::run_folder::mark_failed(&run.folder);
                eprintln!("logs of the servers: {}", run.folder.join("logs").display());
            }
        }));
    });
}
