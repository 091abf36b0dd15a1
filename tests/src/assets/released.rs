//! Programs of other projects, built in place from a released module; they take long, so only `make e2e` and
//! `make bench` build them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{go, is_executable, pinned};

/// Pins Helm for the conformance cases of the renderer, and so for everything.
const HELM_MOD: &str = include_str!("../../assets/helm/go.mod");

/// Set by `make e2e CACHED=1`: use what is built, build nothing.
const CACHED: &str = "CACHED";

/// A program whose build takes minutes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Released {
    CoreDns,
    Helm,
}

impl Released {
    pub const ALL: [Released; 2] = [Released::CoreDns, Released::Helm];

    pub fn name(self) -> &'static str {
        match self {
            Released::CoreDns => "coredns",
            Released::Helm => "helm",
        }
    }

    /// Module, version and, inside it, package.
    fn source(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Released::CoreDns => ("github.com/coredns/coredns", "v1.12.4", "."),
            Released::Helm => ("helm.sh/helm/v3", pinned(HELM_MOD, "helm.sh/helm/v3"), "./cmd/helm"),
        }
    }

    fn cached(self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.name(), self.source().1))
    }

    /// The program, built if it must be; `None` when it is not built and nothing may be.
    pub(super) fn find(self, base: &Path) -> Result<Option<PathBuf>> {
        let cache = base.join("released");
        let target = self.cached(&cache);
        if is_executable(&target) {
            return Ok(Some(target));
        }
        if std::env::var_os(CACHED).is_some_and(|value| !value.is_empty() && value != "0") {
            return Ok(None);
        }
        go::build_into(&cache, &target, self.name(), |output| self.command(output))
            .with_context(|| format!("cannot build {}", self.name()))?;
        Ok(Some(target))
    }

    fn command(self, output: &Path) -> Result<Command> {
        let (module, version, package) = self.source();
        let folder = module_folder(module, version)?;
        let mut command = go::build_command(output);
        command.arg("-ldflags=-s -w").arg(package).current_dir(folder);
        Ok(command)
    }
}

/// The folder of a module at a version, fetched through the module proxy. Its own `go.mod` and `go.sum` count there.
fn module_folder(module: &str, version: &str) -> Result<PathBuf> {
    let elsewhere = tempfile::tempdir().context("cannot create a folder")?;
    fs::write(elsewhere.path().join("go.mod"), "module fetch\n").context("cannot write go.mod")?;
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{module}@{version}")])
        .env("GOWORK", "off")
        .current_dir(elsewhere.path())
        .output()
        .context("cannot start `go`")?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => bail!("{}", go::explain(&[answer["Error"].as_str().unwrap_or("no answer").to_owned()])),
    }
}
