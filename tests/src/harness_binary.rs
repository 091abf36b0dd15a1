//! Finds `reeve-harness`, the program that supervises servers, next to whatever test asks for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// Set by `reeve-harness run` for everything below it.
pub(crate) const VARIABLE: &str = "REEVE_HARNESS";

/// The path of the program. A test that runs outside `make test` has it built, which costs nothing when it is fresh.
pub(crate) fn path() -> Result<PathBuf> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let found = match std::env::var_os(VARIABLE) {
        Some(path) => PathBuf::from(path),
        None if is_the_harness_itself() => std::env::current_exe().context("cannot find our own program")?,
        None => build()?,
    };
    Ok(FOUND.get_or_init(|| found).clone())
}

/// Another program of the workspace, next to one of the package that is tested. Cargo builds all of them for
/// `make test`; for a test that is started alone, `cargo build --bin NAME` does.
///
/// # Panics
///
/// If it is not built.
pub fn beside(program: &str, name: &str) -> PathBuf {
    let path = Path::new(program).with_file_name(name);
    assert!(path.exists(), "{} is not built: run `cargo build --bin {name}`", path.display());
    path
}

fn is_the_harness_itself() -> bool {
    std::env::current_exe().is_ok_and(|exe| exe.file_name().is_some_and(|name| name == "reeve-harness"))
}

fn build() -> Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--quiet",
            "--bin",
            "reeve-harness",
            "--message-format=json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(manifest)
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo to build reeve-harness")?;
    if !output.status.success() {
        bail!("cannot build reeve-harness: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo built no reeve-harness")
}
