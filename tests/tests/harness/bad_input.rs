//! What is wrong with the machine is said in one line that tells what to do.

use std::path::Path;
use std::process::Command;

const HARNESS: &str = env!("CARGO_BIN_EXE_reeve-harness");

/// Runs it to its end and returns the last line of its complaint.
fn complaint(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "it went well: {errors}");
    errors.trim().lines().last().unwrap_or_default().to_owned()
}

fn find_etcd(cache: &Path) -> Command {
    let mut command = Command::new(HARNESS);
    command.args(["find", "etcd"]).env("XDG_CACHE_HOME", cache).env_remove("KUBEBUILDER_ASSETS");
    command
}

/// Runs the harness where `folder` is a disk of its own that is nearly full. Only inside its own mount namespace.
fn on_a_tiny_disk(folder: &Path, arguments: &str) -> Command {
    let script = format!("mount -t tmpfs -o size=2m tmpfs {} && exec {HARNESS} {arguments}", folder.display());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).env_remove("KUBEBUILDER_ASSETS");
    command
}

#[test]
fn without_go_it_says_to_install_it() {
    let cache = tempfile::tempdir().unwrap();
    let line = complaint(find_etcd(cache.path()).env("PATH", "/nonexistent"));
    assert!(line.contains("cannot build etcd: `go` is not on PATH: install Go"), "{line}");
}

#[test]
fn without_a_network_it_says_to_check_the_proxy() {
    let (cache, modules) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let only_go = tempfile::tempdir().unwrap();
    let go = String::from_utf8(Command::new("sh").args(["-c", "command -v go"]).output().unwrap().stdout).unwrap();
    std::os::unix::fs::symlink(go.trim(), only_go.path().join("go")).unwrap();
    let line = complaint(
        find_etcd(cache.path())
            .env("PATH", only_go.path())
            .env("GOPROXY", "http://127.0.0.1:1")
            .env("GOMODCACHE", modules.path())
            .env("GOFLAGS", "-modcacherw"),
    );
    assert!(line.contains("cannot build etcd: the Go module proxy cannot be reached"), "{line}");
}

#[test]
fn a_full_disk_for_the_cache_is_named_before_the_build_starts() {
    let cache = tempfile::tempdir().unwrap();
    let line = complaint(
        on_a_tiny_disk(cache.path(), "find etcd")
            .env("XDG_CACHE_HOME", cache.path())
            .env("PATH", path_without_servers()),
    );
    assert!(line.contains("MiB free and building Kubernetes needs"), "{line}");
    assert!(line.contains(&cache.path().display().to_string()), "{line}");
}

#[test]
fn a_full_disk_for_the_servers_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let line = complaint(on_a_tiny_disk(folder.path(), "run -- true").env("TMPDIR", folder.path()));
    assert!(line.contains("is full") || line.contains("No space left on device"), "{line}");
    assert!(line.contains(&folder.path().display().to_string()), "{line}");
}

#[test]
fn a_wrong_kubebuilder_assets_is_named() {
    let line = complaint(Command::new(HARNESS).args(["run", "--", "true"]).env("KUBEBUILDER_ASSETS", "/nonexistent"));
    assert!(line.contains("KUBEBUILDER_ASSETS is /nonexistent but there is no executable etcd in it"), "{line}");
}

/// The search path, less the folders that hold a server: this is about building.
fn path_without_servers() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap();
    std::env::join_paths(std::env::split_paths(&path).filter(|folder| !folder.join("etcd").exists())).unwrap()
}
