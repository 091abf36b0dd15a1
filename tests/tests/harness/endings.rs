//! However a test ends, nothing of it is left.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use reeve_tests::{ControlPlane, PATIENCE, Server, Supervisor, eventually};

fn is_running(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

pub(super) fn run_folder(supervisor: &Supervisor) -> PathBuf {
    supervisor.data().parent().unwrap().to_owned()
}

/// A server that starts a process of its own, which outlives it unless somebody cares.
fn server_with_a_child(supervisor: &Supervisor) -> i32 {
    let note = supervisor.data().join("child");
    let script = format!("setsid sleep 1000 & echo $! > {}; wait", note.display());
    supervisor.spawn(Server::new("parent", "/bin/sh").args(["-c", &script])).unwrap();
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit {
        let text = std::fs::read_to_string(&note).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            return pid;
        }
        std::thread::yield_now();
    }
    panic!("the server did not start its child");
}

#[tokio::test]
async fn a_dropped_control_plane_leaves_no_process_and_no_file() {
    let control_plane = ControlPlane::start().await.unwrap();
    let pids = [control_plane.etcd().pid(), control_plane.apiserver().pid()];
    let folder = run_folder(control_plane.supervisor());
    assert!(folder.exists() && pids.into_iter().all(is_running));

    drop(control_plane);
    assert!(!folder.exists(), "{} is left", folder.display());
    assert!(!pids.into_iter().any(is_running), "a server is left");
}

#[test]
fn what_a_server_started_ends_with_it() {
    let supervisor = Supervisor::start("endings").unwrap();
    let child = server_with_a_child(&supervisor);
    assert!(is_running(child));
    drop(supervisor);
    assert!(!is_running(child), "an orphan is left");
}

#[test]
fn a_test_that_panics_ends_its_servers_and_keeps_their_logs() {
    let supervisor = Supervisor::start("endings").unwrap();
    let (folder, log) = (run_folder(&supervisor), supervisor.log_of("parent"));
    let child = server_with_a_child(&supervisor);
    let outcome = std::thread::spawn(move || {
        let _owned = supervisor;
        panic!("a test fails");
    })
    .join();
    assert!(outcome.is_err());
    assert!(!is_running(child), "a server is left");
    assert!(log.exists(), "the log is gone");
    assert!(!folder.join("data").exists(), "data is left");
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_killed_runner_takes_its_cluster_with_it() {
    let mut runner = Command::new(env!("CARGO_BIN_EXE_reeve-harness"))
        .args(["run", "--", "sh", "-c", "echo $REEVE_CLUSTER; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut description = String::new();
    BufReader::new(runner.stdout.take().unwrap()).read_line(&mut description).unwrap();
    let folder = Path::new(description.trim()).parent().unwrap().parent().unwrap().to_owned();
    assert!(folder.join("data").exists(), "no cluster at {}", folder.display());

    runner.kill().unwrap();
    runner.wait().unwrap();
    eventually("the cluster's folder and servers are gone", || async {
        let servers = servers_of(&folder);
        if servers.is_empty() && !folder.exists() { Ok(()) } else { Err(format!("{servers:?}, {}", folder.display())) }
    })
    .await;
}

/// Processes whose arguments name the folder.
pub(super) fn servers_of(folder: &Path) -> Vec<String> {
    let name = folder.to_string_lossy().into_owned();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&name))
        .collect()
}
