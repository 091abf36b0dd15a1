//! The test binaries of the workspace.
//!
//! They are built all at once and then started directly. `cargo test --package` would build the package alone, whose
//! dependencies then have other features and are built once more, which takes minutes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A program with tests in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TestBinary {
    pub(super) package: String,
    /// `lib`, `bin` or `test`.
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Where cargo starts it: the folder of the package.
    pub(super) folder: PathBuf,
}

/// Builds all test binaries, which costs a second when they are fresh.
pub(super) fn build(cargo: &[String]) -> Result<Vec<TestBinary>> {
    let (program, first) = cargo.split_first().context("CARGO is empty")?;
    let output = Command::new(program)
        .args(first)
        .args(["test", "--workspace", "--no-run", "--quiet", "--message-format=json-render-diagnostics"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cannot build the tests");
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| binary(&serde_json::from_str(line).ok()?)).collect())
}

/// What a line of cargo says of a test binary, if it speaks of one.
pub(super) fn binary(message: &Value) -> Option<TestBinary> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    Some(TestBinary {
        package: package(message["package_id"].as_str()?).to_owned(),
        kind: text(&message["target"]["kind"][0])?,
        name: text(&message["target"]["name"])?,
        path: PathBuf::from(message["executable"].as_str()?),
        folder: manifest.parent()?.to_owned(),
    })
}

/// The name in an id such as `path+file:///x/tests#reeve-tests@0.1.0`. One that ends with `#0.1.0` is called as its folder.
fn package(id: &str) -> &str {
    let (place, name) = id.rsplit_once('#').unwrap_or(("", id));
    match name.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}
