//! The fetching children that belong to one folder of data.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// The ids of processes whose home is below this folder, which no others' is.
pub(crate) fn children_of(data: &Path) -> Vec<i32> {
    let mark = format!("HOME={}/", data.display());
    let is_ours = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // A process that has ended but was not waited for has neither, and is still there.
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
            && command.windows(11).any(|window| window == b"fetch-child")
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(is_ours).collect()
}

/// Children of this very process that have ended and that nobody has waited for.
pub(crate) fn unreaped() -> Vec<String> {
    let ours = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let stats = entries.filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    let is_unreaped = |stat: &String| {
        let (name, rest) = stat.rsplit_once(')').unwrap_or_default();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        name.contains("(reeve") && fields.first() == Some(&"Z") && fields.get(1) == Some(&ours.as_str())
    };
    stats.filter(is_unreaped).collect()
}

pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}
