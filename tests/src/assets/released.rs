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

/// Pins KEDA for its client in the peer, for its CRDs and for its operator.
const KEDA_MOD: &str = include_str!("../../assets/keda/go.mod");
const KEDA: &str = "github.com/kedacore/keda/v2";
/// The newest that speaks to the dockerd of Debian 12.
const CRI_DOCKERD: &str = "v0.3.17";
/// The module with the kinds of Istio, and its version.
const ISTIO: (&str, &str) = ("istio.io/api", "v1.29.2");
/// The module of KEDA's add-on for HTTP, and its version.
const HTTP_ADD_ON: (&str, &str) = ("github.com/kedacore/http-add-on", "v0.15.0");
/// Pins Dapr.
const DAPRD_MOD: &str = include_str!("../../assets/daprd/go.mod");

/// Set by `make e2e CACHED=1`: use what is built, build nothing.
const CACHED: &str = "CACHED";

/// A program whose build takes minutes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Released {
    /// Makes packages for Debian.
    #[serde(rename = "cargo-deb")]
    CargoDeb,
    /// Makes packages for Red Hat.
    #[serde(rename = "cargo-generate-rpm")]
    CargoGenerateRpm,
    CoreDns,
    /// The server of the CRI that speaks to dockerd.
    #[serde(rename = "cri-dockerd")]
    CriDockerd,
    /// The sidecar of Dapr, with few components.
    Daprd,
    /// `reeve` of an earlier version, from the history of this repository, with its CRDs beside it.
    Earlier,
    Helm,
    /// The interceptor of KEDA's add-on for HTTP: the peer of `reeve-resolver`.
    #[serde(rename = "http-add-on")]
    HttpAddOn,
    /// KEDA's operator, with every cloud's client in it.
    #[serde(rename = "keda")]
    Keda,
    /// The peer of `reeve-cri`.
    #[serde(rename = "koord-runtime-proxy")]
    KoordRuntimeProxy,
    Registry,
}

/// The version whose leavings are taken up: the last one with one field manager for all runtimes.
const EARLIER: &str = "3972c38";

impl Released {
    pub const ALL: [Released; 11] = [
        Released::CargoDeb,
        Released::CargoGenerateRpm,
        Released::CoreDns,
        Released::CriDockerd,
        Released::Daprd,
        Released::Earlier,
        Released::Helm,
        Released::HttpAddOn,
        Released::Keda,
        Released::KoordRuntimeProxy,
        Released::Registry,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Released::CargoDeb => "cargo-deb",
            Released::CargoGenerateRpm => "cargo-generate-rpm",
            Released::CoreDns => "coredns",
            Released::CriDockerd => "cri-dockerd",
            Released::Daprd => "daprd",
            Released::Earlier => "earlier",
            Released::Helm => "helm",
            Released::HttpAddOn => "http-add-on",
            Released::Keda => "keda",
            Released::KoordRuntimeProxy => "koord-runtime-proxy",
            Released::Registry => "registry",
        }
    }

    fn source(self) -> Source {
        let module = |module, version, package| Source::Module { module, version, package };
        match self {
            Released::CargoDeb => Source::Crate { version: "3.8.0" },
            Released::CargoGenerateRpm => Source::Crate { version: "0.21.1" },
            Released::CoreDns => module("github.com/coredns/coredns", "v1.12.4", "."),
            Released::CriDockerd => module("github.com/Mirantis/cri-dockerd", CRI_DOCKERD, "."),
            Released::Daprd => {
                Source::Own { module: "github.com/dapr/dapr", version: pinned(DAPRD_MOD, "github.com/dapr/dapr") }
            }
            Released::Earlier => Source::History { commit: EARLIER },
            Released::Helm => module("helm.sh/helm/v3", pinned(HELM_MOD, "helm.sh/helm/v3"), "./cmd/helm"),
            Released::HttpAddOn => module(HTTP_ADD_ON.0, HTTP_ADD_ON.1, "./interceptor"),
            Released::Keda => module(KEDA, pinned(KEDA_MOD, KEDA), "./cmd/operator"),
            Released::KoordRuntimeProxy => {
                module("github.com/koordinator-sh/koordinator", "v1.8.0", "./cmd/koord-runtime-proxy")
            }
            Released::Registry => module("github.com/distribution/distribution/v3", "v3.0.0", "./cmd/registry"),
        }
    }

    fn cached(self, cache: &Path) -> PathBuf {
        let (Source::Module { version, .. }
        | Source::Own { version, .. }
        | Source::History { commit: version }
        | Source::Crate { version }) = self.source();
        cache.join(format!("{}-{version}", self.name()))
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
        go::build_into(&cache, &target, self.name(), |output| self.command(output, &target))
            .with_context(|| format!("cannot build {}", self.name()))?;
        Ok(Some(target))
    }

    fn command(self, output: &Path, target: &Path) -> Result<Command> {
        match self.source() {
            Source::Module { module, version, package } => {
                let mut command = go::build_command(output);
                command.arg("-ldflags=-s -w").arg(package).current_dir(module_folder(module, version)?);
                Ok(command)
            }
            Source::Own { module, version } => {
                let mut command = go::build_command(output);
                let version = version.trim_start_matches('v');
                command.arg(format!("-ldflags=-s -w -X {module}/pkg/buildinfo.version={version}")).arg(".");
                command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(self.name()));
                Ok(command)
            }
            Source::History { commit } => Ok(build_from_history(commit, output, target)),
            Source::Crate { version } => Ok(build_crate(self.name(), version, output)),
        }
    }
}

/// Where a program comes from.
enum Source {
    /// A package of a Go module at a version.
    Module { module: &'static str, version: &'static str, package: &'static str },
    /// A program of ours in `tests/assets`, over the public packages of a module that it pins.
    Own { module: &'static str, version: &'static str },
    /// An earlier commit of this repository.
    History { commit: &'static str },
    /// A crate of the program's name.
    Crate { version: &'static str },
}

/// Builds a subcommand of cargo, apart from what is built of ours.
fn build_crate(name: &str, version: &str, output: &Path) -> Command {
    const BUILD: &str = r#"
        set -eu
        folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
        cargo install "$1" --version "$2" --locked --debug --root "$folder" --target-dir "$folder/target"
        cp "$folder/bin/$1" "$3"
    "#;
    let mut command = Command::new("sh");
    command.args(["-c", BUILD, "sh", name, version]).arg(output);
    command
}

/// Builds `reeve` as it was at a commit, and puts the CRDs of that commit beside it.
fn build_from_history(commit: &str, output: &Path, target: &Path) -> Command {
    const BUILD: &str = r#"
        set -eu
        folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
        git archive "$1" | tar -x -C "$folder"
        cargo build --manifest-path "$folder/Cargo.toml" --target-dir "$folder/target" --package reeve-reconciler --bin reeve
        rm -rf "$3"; cp -r "$folder/crds/yaml" "$3"
        cp "$folder/target/debug/reeve" "$2"
    "#;
    let mut command = Command::new("sh");
    command.args(["-c", BUILD, "sh", commit]).arg(output).arg(target.with_extension("crds"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// The folder with KEDA's CRDs, as KEDA has released them.
pub(super) fn keda_crds() -> Result<PathBuf> {
    Ok(module_folder(KEDA, pinned(KEDA_MOD, KEDA))?.join("config/crd/bases"))
}

/// The folder with Istio's CRDs, as Istio has released them.
pub(super) fn istio_crds() -> Result<PathBuf> {
    Ok(module_folder(ISTIO.0, ISTIO.1)?.join("kubernetes"))
}

/// The folder with the CRDs of KEDA's add-on for HTTP, as it has released them.
pub(super) fn http_add_on_crds() -> Result<PathBuf> {
    Ok(module_folder(HTTP_ADD_ON.0, HTTP_ADD_ON.1)?.join("config/crd/bases"))
}

/// The folder of a module at a version, fetched through the module proxy. Its own `go.mod` and `go.sum` count there.
pub fn module_folder(module: &str, version: &str) -> Result<PathBuf> {
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
