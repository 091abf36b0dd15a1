//! A disk that is full.

use std::path::Path;
use std::process::Command;

use reeve_tests::GitRepository;
use tempfile::TempDir;

use crate::git::scene::{Scene, main, noise, request};

/// A small disk of its own, while this lives.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// None without the right to mount.
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let option = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(folder.path()).output();
        mount.is_ok_and(|done| done.status.success()).then_some(Self { folder })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

#[tokio::test]
async fn a_full_disk_is_an_error_of_its_own_and_nothing_half_written_is_used() {
    let Some(disk) = SmallDisk::mount("1500k") else {
        eprintln!("skipped: a small disk cannot be mounted without the right to do so");
        return;
    };
    let git = GitRepository::create().unwrap();
    let first = git.publish(&[("a", "1")]).unwrap();
    let http = git.serve_http(None).unwrap();
    for url in [git.file_url(), http.url()] {
        git.reset_to(&first).unwrap();
        git.force_push().unwrap();
        let mirrors = Scene::mirrors_in(disk.path());
        let request = request(&url, main());
        assert_eq!(mirrors.fetch(&request).await.unwrap().commit.id, first.as_str());
        mirrors.keep(&url, "fleet", first.as_str()).unwrap();
        let large = git.publish(&[("big", &noise(3, 300_000))]).unwrap();
        for _ in 0..2 {
            let error = mirrors.fetch(&request).await.unwrap_err();
            assert_eq!((error.reason(), error.is_transient()), ("DiskFull", true), "{url}: {error}");
            assert!(mirrors.tree(&url, first.as_str(), "").is_ok());
            assert!(mirrors.tree(&url, large.as_str(), "").is_err());
        }
        let room = rustix::fs::statvfs(disk.path()).unwrap();
        let room = room.f_bavail * room.f_frsize;
        assert!(room > 1_000_000, "what was half written is still there: {room} bytes left");
        // With less to bring over, there is room again.
        git.reset_to(&first).unwrap();
        let small = git.commit(&[("a", &url)]).unwrap();
        git.force_push().unwrap();
        assert_eq!(mirrors.fetch(&request).await.unwrap().commit.id, small.as_str());
        mirrors.forget(&url).unwrap();
    }
}
