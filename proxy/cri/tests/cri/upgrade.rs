//! A new process takes the socket over while calls are under way.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use reeve_tests::assets::{self, Peer};
use reeve_tests::{ContainerRuntime, eventually};
use rustix::process::{Pid, Signal};

use crate::place::{listening, start_proxy};

#[tokio::test]
async fn three_upgrades_by_hand_over_under_load_fail_no_call() {
    let runtime = ContainerRuntime::start().await.unwrap();
    let supervisor = runtime.supervisor();
    let (proxy, socket) =
        start_proxy(supervisor, "proxy", Some(runtime.inside()), &runtime.socket(), &supervisor.data().join("hooks"));
    listening(&socket).await;
    let mut load = Command::new(assets::peer(Peer::Cri).unwrap())
        .args(["load", "-socket", socket.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let log = || std::fs::read_to_string(proxy.log()).unwrap();
    let pid_after = |hand_over: usize| {
        let handed_over: Vec<i32> = log()
            .lines()
            .filter(|line| line.contains("handed over"))
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["pid"].as_i64()?.try_into().ok())
            .collect();
        handed_over.get(hand_over).copied().ok_or_else(|| format!("{handed_over:?}"))
    };
    let mut pid = proxy.pid();
    let mut pids = vec![pid];
    for upgrade in 0..3 {
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::HUP).unwrap();
        pid = eventually("the next process has taken over", || async { pid_after(upgrade) }).await;
        pids.push(pid);
    }
    for old in &pids[..3] {
        let exists = || rustix::process::test_kill_process(Pid::from_raw(*old).unwrap()).is_ok() && !is_zombie(*old);
        eventually("the old process has ended", || async { if exists() { Err("it is there") } else { Ok(()) } }).await;
    }
    drop(load.stdin.take());
    let mut said = String::new();
    BufReader::new(load.stdout.take().unwrap()).read_line(&mut said).unwrap();
    load.wait().unwrap();
    println!("upgrades=3 {said}");
    assert!(said.contains("failed=0"), "{said}");
    assert_ne!(said.split_whitespace().next(), Some("calls=0"));
}

fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}
