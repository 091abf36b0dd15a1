//! Servers are built once, whoever asks and whatever happens. `go` is a script here: a real build takes minutes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a `go` that notes each build and then does what `then` says with the output file, `$out`.
struct FakeGo {
    folder: tempfile::TempDir,
}

impl FakeGo {
    fn new(then: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let this = Self { folder };
        this.does(then);
        this
    }

    fn does(&self, then: &str) {
        let notes = self.notes();
        let script = format!(
            "#!/bin/sh\nPATH=/bin:/usr/bin\n[ \"$1\" = build ] || exit 0\necho built >> {}\n\
             while [ \"$1\" != -o ]; do shift; done\nout=$2\n{then}\n",
            notes.display()
        );
        let file = self.folder.path().join("go");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn notes(&self) -> PathBuf {
        self.folder.path().join("notes")
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.notes()).unwrap_or_default().lines().count()
    }

    fn find_etcd(&self, cache: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reeve-harness"));
        command.args(["find", "etcd"]).env("PATH", self.folder.path()).env("XDG_CACHE_HOME", cache);
        command.env_remove("KUBEBUILDER_ASSETS");
        command
    }
}

const MAKE_IT: &str = "echo program > $out; chmod +x $out";

fn found(command: &mut Command) -> PathBuf {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn a_server_is_built_once_though_several_ask_at_once() {
    let cache = tempfile::tempdir().unwrap();
    let go = FakeGo::new(&format!("sleep 0.3; {MAKE_IT}"));
    let asking: Vec<_> = (0..3).map(|_| go.find_etcd(cache.path())).collect();
    let threads: Vec<_> = asking.into_iter().map(|mut one| std::thread::spawn(move || found(&mut one))).collect();
    let paths: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(paths.iter().all(|path| path.starts_with(cache.path()) && path.is_file()), "{paths:?}");
    assert_eq!(go.builds(), 1);
}

#[test]
fn a_build_that_is_killed_leaves_nothing_half_made_and_the_next_one_finishes() {
    let cache = tempfile::tempdir().unwrap();
    let go = FakeGo::new("printf half > $out; kill -KILL $PPID");
    let killed = go.find_etcd(cache.path()).output().unwrap();
    assert!(!killed.status.success());

    go.does(MAKE_IT);
    let path = found(&mut go.find_etcd(cache.path()));
    assert_eq!(fs::read_to_string(path).unwrap(), "program\n");
    assert_eq!(go.builds(), 2);
}

#[test]
fn a_build_that_fails_says_why_and_is_tried_again_by_the_next_who_asks() {
    let cache = tempfile::tempdir().unwrap();
    let go = FakeGo::new("echo 'x.go:1: no such thing' >&2; exit 1");
    let output = go.find_etcd(cache.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let last = errors.lines().last().unwrap();
    assert!(last.ends_with("cannot build etcd: `go build` failed (go said: x.go:1: no such thing)"), "{errors}");

    go.does(MAKE_IT);
    assert!(found(&mut go.find_etcd(cache.path())).is_file());
}
