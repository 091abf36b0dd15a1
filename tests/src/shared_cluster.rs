//! A cluster that all test processes of a run share, and the environment in which they find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::assets::{self, Program};
use crate::cluster::{self, Cluster};
use crate::control_plane::ControlPlane;
use crate::harness_binary;

/// A running control plane with its description in a file. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct SharedCluster {
    control_plane: ControlPlane,
    description: PathBuf,
    /// Its folder comes first on `PATH`.
    kubectl: PathBuf,
    /// What the control plane's client belongs to.
    _runtime: tokio::runtime::Runtime,
}

impl SharedCluster {
    pub(crate) fn start() -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
        let control_plane = runtime.block_on(async { ControlPlane::start().await?.controllers().await })?;
        let description = control_plane.supervisor().data().join("cluster.json");
        let cluster: &Cluster = &control_plane;
        let text = serde_json::to_string(cluster).context("cannot describe the cluster")?;
        fs::write(&description, text).with_context(|| format!("cannot write {}", description.display()))?;
        let kubectl = assets::find(Program::Kubectl)?;
        Ok(Self { control_plane, description, kubectl, _runtime: runtime })
    }

    /// A command that finds the cluster. Behind `setpriv` it ends with us: tests whose cluster is gone have nothing to go
    /// on for.
    pub(crate) fn command(&self, program: &str, arguments: &[String]) -> Result<Command> {
        let cluster: &Cluster = &self.control_plane;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = self.kubectl.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&inherited));
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "--", program])
            .args(arguments)
            // `kubectl` means this cluster, never the one that the user is logged in to.
            .env("KUBECONFIG", cluster.kubeconfig())
            .env("KUBECACHEDIR", cluster.kubeconfig().with_extension("cache"))
            .env("PATH", std::env::join_paths(path).context("cannot put kubectl on PATH")?)
            .env(cluster::VARIABLE, &self.description)
            .env(harness_binary::VARIABLE, std::env::current_exe().context("cannot find our own program")?);
        Ok(command)
    }
}
