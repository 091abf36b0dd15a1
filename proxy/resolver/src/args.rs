//! The command line: one binary, one subcommand for each part.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use reeve_process::ProcessArgs;

use crate::data_plane::DataPlaneArgs;
use crate::switch::SwitchArgs;

/// The lease of the switch.
pub const LEASE: &str = "reeve-resolver";

/// Why a part cannot go on.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Scales services to zero without losing a request
#[derive(Clone, Debug, Parser)]
#[command(name = "reeve-resolver", version = reeve_process::version::LONG)]
pub struct Args {
    #[command(subcommand)]
    pub part: Part,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    #[command(flatten)]
    pub process: ProcessArgs,
}

/// Which part of the resolver this process is.
#[derive(Clone, Debug, Subcommand)]
pub enum Part {
    /// Take the traffic of services that sleep: hold, wake, forward
    DataPlane(DataPlaneArgs),
    /// Lead traffic to the data plane and away from it; of several, one leads
    Switch(SwitchArgs),
}

/// How the cluster is reached.
#[derive(Clone, Debug, clap::Args)]
pub struct ClusterArgs {
    /// File with the way to the cluster; without it, that of the pod
    #[arg(long, value_name = "FILE", global = true)]
    pub kubeconfig: Option<PathBuf>,

    /// Namespace of the lease; without it, that of the pod
    #[arg(long, value_name = "NAMESPACE", global = true)]
    pub lease_namespace: Option<String>,

    /// Address at which other processes reach this one: the pod's
    #[arg(long, env = "POD_IP", value_name = "ADDRESS", global = true)]
    pub pod_address: Option<IpAddr>,
}

impl ClusterArgs {
    pub(crate) async fn configure(&self) -> anyhow::Result<Config> {
        let Some(file) = &self.kubeconfig else {
            return Config::incluster().context("cannot find the way to the cluster: name a --kubeconfig");
        };
        let kubeconfig = Kubeconfig::read_from(file);
        let kubeconfig = kubeconfig.with_context(|| format!("cannot read {}", file.display()))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        config.with_context(|| format!("cannot use {}", file.display()))
    }

    pub(crate) fn lease_namespace(&self, config: &Config) -> String {
        self.lease_namespace.clone().unwrap_or_else(|| config.default_namespace.clone())
    }

    /// Where others find a server of ours that is bound to `bound`.
    pub(crate) fn reachable(&self, bound: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.pod_address.unwrap_or_else(|| bound.ip()), bound.port())
    }
}

impl Args {
    /// Runs the part until it is told to stop.
    pub fn run(self) -> ExitCode {
        let (process, cluster) = (self.process, self.cluster);
        match self.part {
            Part::DataPlane(args) => {
                reeve_process::run(&process, "reeve-resolver", |process| crate::data_plane::run(args, cluster, process))
            }
            Part::Switch(args) => {
                reeve_process::run(&process, "reeve-resolver", |process| crate::switch::run(args, cluster, process))
            }
        }
    }
}
