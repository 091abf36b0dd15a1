//! Pushes to a repository on this machine, as its files tell of them.

use std::sync::Arc;

use reeve_reconciler_git::watch_local;
use reeve_tests::{GitRepository, PATIENCE};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::git::fixture::{Fixture, main, request};

struct Watch {
    wake: Arc<Notify>,
    _watching: JoinSet<()>,
}

impl Watch {
    /// Watches from now on.
    async fn start(url: String) -> Self {
        let wake = Arc::new(Notify::new());
        let mut watching = JoinSet::new();
        let woken = Arc::clone(&wake);
        watching.spawn(async move { watch_local(&url, woken).await });
        let this = Self { wake, _watching: watching };
        this.woken("it is watched").await;
        this
    }

    async fn woken(&self, what: &str) {
        tokio::time::timeout(PATIENCE, self.wake.notified()).await.unwrap_or_else(|_| panic!("{what}: not woken"));
    }
}

#[tokio::test]
async fn a_push_wakes_whatever_it_changes() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a", "1")]).unwrap();
    let watch = Watch::start(git.file_url()).await;
    let fixture = Fixture::new();
    let request = request(&git.file_url(), main());
    let fetched_after_push = async |id: &str| loop {
        watch.woken("a push").await;
        if fixture.fetch(&request).await.commit.id == id {
            return;
        }
    };
    for number in 0..3 {
        let id = git.publish(&[("a", &format!("push {number}"))]).unwrap();
        fetched_after_push(id.as_str()).await;
    }
    git.git(&["-C", git.path().to_str().unwrap(), "pack-refs", "--all"]).unwrap();
    let id = git.publish(&[("a", "packed")]).unwrap();
    fetched_after_push(id.as_str()).await;
    git.branch("team/x/y").unwrap();
    git.push().unwrap();
    watch.woken("a branch in a folder of its own").await;
}

#[tokio::test]
async fn a_repository_that_appears_later_or_is_replaced_is_watched_as_well() {
    let git = GitRepository::create().unwrap();
    git.publish(&[("a", "1")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("deep/down/fleet.git");
    let url = format!("file://{}", place.display());
    let watch = Watch::start(url.clone()).await;
    let (fixture, request) = (Fixture::new(), request(&url, main()));
    let found = async |id: &str| loop {
        if fixture.mirrors.fetch(&request).await.is_ok_and(|found| found.commit.id == id) {
            return;
        }
        watch.woken("what is new").await;
    };
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    git.git(&["clone", "--quiet", "--bare", git.path().to_str().unwrap(), place.to_str().unwrap()]).unwrap();
    found(git.head().unwrap().as_str()).await;
    let pushed = git.publish(&[("a", "2")]).unwrap();
    git.git(&["push", "--quiet", place.to_str().unwrap(), "main"]).unwrap();
    found(pushed.as_str()).await;

    let replacement = folder.path().join("replacement.git");
    git.git(&["commit", "--quiet", "--allow-empty", "--message", "Another"]).unwrap();
    git.push().unwrap();
    git.git(&["clone", "--quiet", "--bare", git.path().to_str().unwrap(), replacement.to_str().unwrap()]).unwrap();
    std::fs::rename(&place, folder.path().join("gone.git")).unwrap();
    std::fs::rename(&replacement, &place).unwrap();
    found(git.head().unwrap().as_str()).await;
    git.git(&["commit", "--quiet", "--allow-empty", "--message", "And one more"]).unwrap();
    git.git(&["push", "--quiet", place.to_str().unwrap(), "main"]).unwrap();
    found(git.head().unwrap().as_str()).await;
}
