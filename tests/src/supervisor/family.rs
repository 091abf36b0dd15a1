//! The processes below this one: adopted when their parents die, ended together.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

/// Orphans of our servers (containerd's shims, the containers themselves) become our children rather than init's, so that
/// they can be ended by id.
pub(super) fn adopt_orphans() -> rustix::io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

/// One child that has ended, if there is one.
pub(super) fn reap() -> Option<(Pid, WaitStatus)> {
    rustix::process::wait(WaitOptions::NOHANG).ok().flatten()
}

/// Kills every descendant, until none is left or the patience is at its end.
pub(super) fn end(patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        let children = children();
        if children.is_empty() {
            return true;
        }
        for child in children {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        // Grandchildren become ours, and so visible, only once their parents are reaped.
        while reap().is_some() {}
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn children() -> Vec<Pid> {
    let own = rustix::process::getpid();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent(*pid) == Some(own.as_raw_nonzero().get()))
        .filter_map(Pid::from_raw)
        .collect()
}

/// The fourth field of `stat`, counted from the last parenthesis: a command name may hold spaces and parentheses.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

pub(super) fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
