//! A control group of our own for the pods of one node, so that two nodes on one machine never meet.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};

const ROOT: &str = "/sys/fs/cgroup";

/// The group of the run whose folder has this name.
pub(crate) fn name_of_run(folder: &str) -> String {
    format!("reeve-{folder}")
}

/// The roots of all hierarchies: one on cgroup v2, one per controller on v1.
pub(crate) fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").exists() {
        return vec![root.to_owned()];
    }
    fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("cgroup.procs").exists())
        .collect()
}

/// Makes the group in every hierarchy.
pub(crate) fn create(group: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let folder = hierarchy.join(group);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create the control group {}", folder.display()))?;
        // On v1 a new cpuset is empty, and an empty one accepts no process and no child.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if let Ok(value) = fs::read_to_string(hierarchy.join(file)) {
                fs::write(folder.join(file), value)
                    .with_context(|| format!("cannot fill {}", folder.join(file).display()))?;
            }
        }
    }
    Ok(())
}

/// Ends what is left in the group and removes it in every hierarchy, deepest first. A group is a folder whose files cannot be deleted.
pub(crate) fn remove(group: &str) {
    fn remove_folder(folder: &Path) {
        // Only a node whose supervisor was killed has left any: its pods.
        let left = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        for pid in left.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_folder(&entry.path());
            }
        }
        let _ = fs::remove_dir(folder);
    }
    for folder in hierarchies().into_iter().map(|hierarchy| hierarchy.join(group)) {
        // What was just killed keeps its group for a moment.
        let limit = Instant::now() + Duration::from_secs(2);
        while folder.exists() && Instant::now() < limit {
            remove_folder(&folder);
        }
    }
}
