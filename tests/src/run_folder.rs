//! The folder of one run: `data/` and `logs/` below `${TMPDIR:-/tmp}/reeve-tests-<uid>/`, locked while its supervisor lives.
//!
//! Runs whose supervisor was killed leave their folder behind; the next run that starts sweeps them away.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};

use crate::cgroup;

/// Logs of failed runs stay this long.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// A supervisor locks its folder long before.
const TAKEN_WITHIN: Duration = Duration::from_mins(1);
const LOCK: &str = "lock";
const FAILED: &str = "failed";

pub(crate) fn base() -> PathBuf {
    std::env::temp_dir().join(format!("reeve-tests-{}", rustix::process::geteuid().as_raw()))
}

/// A new folder, for a supervisor to own.
pub(crate) fn create(name: &str) -> Result<PathBuf> {
    let base = base();
    fs::create_dir_all(&base)
        .with_context(|| format!("cannot create {}: set TMPDIR to a folder that can be written", base.display()))?;
    sweep(&base);
    // Short: a unix socket below it must fit into 108 bytes.
    let folder = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .rand_bytes(6)
        // It holds the keys of a cluster.
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(&base)
        .with_context(|| format!("cannot create a folder in {}", base.display()))?
        .keep();
    for part in ["data", "logs"] {
        fs::create_dir(folder.join(part)).with_context(|| format!("cannot create {}", folder.join(part).display()))?;
    }
    Ok(folder)
}

/// Says that a test of this run has failed, so that its logs are kept.
pub(crate) fn mark_failed(folder: &Path) {
    let _ = fs::write(folder.join(FAILED), "");
}

/// A run's folder in the hands of its supervisor.
pub(crate) struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    pub(crate) fn own(path: &Path) -> Result<Self> {
        let lock = File::create(path.join(LOCK)).with_context(|| format!("cannot lock {}", path.display()))?;
        lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the data, and the logs too unless a test has failed.
    pub(crate) fn remove(self) -> Result<()> {
        let gone = if self.path.join(FAILED).exists() { self.path.join("data") } else { self.path.clone() };
        fs::remove_dir_all(&gone).with_context(|| format!("cannot remove {}", gone.display()))
    }
}

/// Kills what a killed supervisor could not: containerd's shims, which detach themselves. Only those that serve this run:
/// they name its folder, and a person who reads its logs is not one of them.
fn end_shims_of(folder: &Path) {
    let name = folder.to_string_lossy().into_owned();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        let is_shim = command.split('\0').next().is_some_and(|program| program.contains("containerd-shim"));
        let pid = entry.file_name().to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| is_shim && command.contains(&name)) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = path.metadata().and_then(|meta| meta.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > age))
}

/// Removes what dead runs left. Best effort: another run may be sweeping too.
fn sweep(base: &Path) {
    for folder in fs::read_dir(base).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_old = is_older(&folder, KEPT_FOR);
        let is_finished = match File::open(folder.join(LOCK)) {
            // A lock that is just made may not be taken yet.
            Ok(_) if !is_older(&folder.join(LOCK), TAKEN_WITHIN) => false,
            Ok(lock) => lock.try_lock().is_ok() && (is_old || folder.join("data").exists()),
            // Without a lock it is just being made, or was never used.
            Err(_) => is_old,
        };
        if is_finished {
            end_shims_of(&folder);
            if let Some(name) = folder.file_name().and_then(|name| name.to_str()) {
                cgroup::remove(&cgroup::name_of_run(name));
            }
            let _ = fs::remove_dir_all(&folder);
        }
    }
}
