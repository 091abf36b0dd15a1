//! `reeve render` of a whole fleet to nowhere: its memory must not grow with what it prints.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{measure, repository};

const FEW: usize = 1_000;
const MANY: usize = 10_000;

pub(crate) fn run() -> Result<()> {
    println!("`reeve render` of a fleet of {MANY} runtimes to /dev/null, all cores");
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    repository::make(folder.path(), MANY)?;
    let few = measured(folder.path(), FEW)?;
    let many = measured(folder.path(), MANY)?;
    measure::compare("memory, ten times the runtimes printed", many / few, "");
    Ok(())
}

/// The peak memory of a render of so many of the runtimes, in MiB.
fn measured(folder: &Path, runtimes: usize) -> Result<f64> {
    let names = (0..runtimes).map(repository::runtime_name);
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .args(["render", "--git"])
        .arg(folder)
        .args(names.flat_map(|name| ["--runtime".to_owned(), name]))
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
    measure::line(&format!("{runtimes} runtimes printed"), begin.elapsed());
    measure::count(&format!("{runtimes} runtimes printed: peak memory, MiB"), format!("{peak:.0}"));
    Ok(peak)
}
