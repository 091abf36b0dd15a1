//! A disk that is full.

use std::path::Path;
use std::process::Command;

use reeve_crds::Reason;
use reeve_reconciler_git::Mirrors;
use reeve_tests::GitRepository;
use tempfile::TempDir;

use crate::git::fixture::{Fixture, main, noise, request};

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

    fn room(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.path()).unwrap();
        disk.f_bavail * disk.f_frsize
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
        let mirrors = Fixture::mirrors_in(disk.path());
        let request = request(&url, main());
        assert_eq!(mirrors.fetch(&request).await.unwrap().commit.id, first.as_str());
        mirrors.keep_commit(&url, "fleet", first.as_str()).unwrap();
        let large = git.publish(&[("big", &noise(3, 300_000))]).unwrap();
        for _ in 0..2 {
            let error = mirrors.fetch(&request).await.unwrap_err();
            assert_eq!((error.reason(), error.reason().is_transient()), (Reason::DiskFull, true), "{url}: {error}");
            assert!(mirrors.tree(&url, first.as_str(), "").is_ok());
            assert!(mirrors.tree(&url, large.as_str(), "").is_err());
        }
        assert!(disk.room() > 1_000_000, "what was half written is still there: {} bytes left", disk.room());
        // With less to bring over, there is room again.
        git.reset_to(&first).unwrap();
        let small = git.commit(&[("a", &url)]).unwrap();
        git.force_push().unwrap();
        assert_eq!(mirrors.fetch(&request).await.unwrap().commit.id, small.as_str());
        assert_eq!(mirrors.retain([]).unwrap(), 1);
    }
}

#[tokio::test]
async fn a_child_that_dies_of_a_full_disk_is_understood_and_cleaned_up_after_at_once() {
    let Some(disk) = SmallDisk::mount("1500k") else {
        eprintln!("skipped: a small disk cannot be mounted without the right to do so");
        return;
    };
    // Writing to the memory of a file that the disk has no room for ends a process in this way.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("dies");
    let script =
        "#!/bin/sh\nmkdir -p \"$HOME/../7.git\"\ncat /dev/zero > \"$HOME/../7.git/junk\" 2> /dev/null\nkill -BUS $$\n";
    // By another process: a file that this one has open for writing, if only for a moment, cannot be started.
    let mut write = Command::new("sh");
    write.args(["-c", "printf %s \"$1\" > \"$2\"; chmod 755 \"$2\"", "sh", script]).arg(&program);
    assert!(write.status().unwrap().success());
    let mirrors = Mirrors::new(disk.path().to_owned(), program);
    let error = mirrors.fetch(&request("file:///nowhere", main())).await.unwrap_err();
    assert_eq!(error.reason(), Reason::DiskFull, "{error}");
    assert!(disk.room() > 1_000_000, "{} bytes left", disk.room());
}
