//! `reeve render` of a whole fleet to nowhere: its memory must not grow with what it prints.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{measure, repository};

const FEW: usize = 1_000;
const MANY: usize = 10_000;

pub(crate) fn run() -> Result<()> {
    println!("`reeve render` of a whole fleet to /dev/null, all cores");
    let few = measured(FEW)?;
    let many = measured(MANY)?;
    measure::compare("memory, ten times the runtimes", many / few, "");
    Ok(())
}

/// The peak memory of a render of so many runtimes, in MiB.
fn measured(runtimes: usize) -> Result<f64> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    repository::make(folder.path(), runtimes)?;
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .args(["render", "--git"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start reeve")?;
    let mut peak: f64 = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for reeve")? {
            break status;
        }
        // The mark only rises, so that the last look before the end is the peak.
        peak = measure::peak_memory(&child.id().to_string()).unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        bail!("reeve render failed");
    }
    measure::line(&format!("{runtimes} runtimes"), begin.elapsed());
    measure::count(&format!("{runtimes} runtimes: peak memory, MiB"), format!("{peak:.0}"));
    Ok(peak)
}
