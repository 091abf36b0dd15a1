//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use reeve_process::{Process, ProcessArgs};

use crate::leader;
use crate::sidecars::{RuntimeName, Scope, Settings};

/// Makes every Dapr sidecar of a cluster run the configuration that is in it
#[derive(Clone, Debug, Parser)]
#[command(name = "reeve-agent", version = reeve_process::version::LONG)]
pub struct Args {
    /// Apply nothing: whoever applies to this cluster, its sidecars are brought up to date
    #[arg(long, required = true)]
    pub no_pull: bool,

    /// Namespace whose workloads are brought up to date; may be repeated. Without it, those of all namespaces
    #[arg(long = "watch-namespace", value_name = "NAMESPACE")]
    pub watch_namespaces: Vec<String>,

    /// Namespace of Dapr's control plane
    #[arg(long, value_name = "NAMESPACE", default_value = "dapr-system")]
    pub dapr_namespace: String,

    /// Runtime of this cluster whose spec.dapr is the policy. Without it, the defaults hold
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub runtime: Option<RuntimeName>,

    /// File with the way to the cluster; without it, that of the pod
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Namespace of the lease, and of the Secret with the key for hashes; without it, that of the pod
    #[arg(long, value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,

    /// Do not contend for a lease: no other agent looks after these namespaces
    #[arg(long)]
    pub no_lease: bool,

    #[command(flatten)]
    pub process: ProcessArgs,
}

impl Args {
    /// Runs the agent until it is told to stop.
    pub fn run(self) -> ExitCode {
        reeve_process::run(&self.process.clone(), "reeve-agent", |process| self.work(process))
    }

    async fn work(self, process: Process) -> anyhow::Result<()> {
        let config = self.configure().await?;
        let namespace = self.lease_namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        leader::run(&process, &config, &self.settings(namespace), self.no_lease).await
    }

    fn settings(&self, own_namespace: String) -> Settings {
        let scope = if self.watch_namespaces.is_empty() {
            Scope::Everywhere
        } else {
            Scope::Namespaces(self.watch_namespaces.iter().cloned().collect())
        };
        Settings { scope, dapr_namespace: self.dapr_namespace.clone(), runtime: self.runtime.clone(), own_namespace }
    }

    async fn configure(&self) -> anyhow::Result<Config> {
        let Some(file) = &self.kubeconfig else {
            return Config::incluster().context("cannot find the way to the cluster: name a --kubeconfig");
        };
        let kubeconfig = Kubeconfig::read_from(file);
        let kubeconfig = kubeconfig.with_context(|| format!("cannot read {}", file.display()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        config.with_context(|| format!("cannot use {}", file.display()))
    }
}
