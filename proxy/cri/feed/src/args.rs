//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, Subcommand};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_process::args::AdminAddress;
use reeve_process::lease::{LeaseConfig, Timing};
use reeve_process::{Process, ProcessArgs};

use crate::metrics::ProxyMetrics;
use crate::{feed, leader, sight};

mod hook_set;

/// The lease of the feed that sums up NodeHooks.
const LEASE: &str = "reeve-cri-feed";

/// Brings the NodeHooks of a node to its CRI proxy, and reports how they do
#[derive(Clone, Debug, Parser)]
#[command(name = "reeve-cri-feed", version = reeve_process::version::LONG)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    /// Without one, the feed runs
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Name of the node
    #[arg(long, env = "NODE_NAME", value_name = "NAME", default_value = "", hide_default_value = true)]
    pub node: String,

    /// File that the proxy reads hooks from
    #[arg(long, value_name = "FILE", default_value = "/var/lib/reeve-cri/hooks.json")]
    pub hook_set: PathBuf,

    /// Unix socket on which the proxy tells how its hooks do
    #[arg(long, value_name = "SOCKET", default_value = "/run/reeve-cri/state.sock")]
    pub state_socket: PathBuf,

    /// Do not write the condition `HooksLive` of the Node
    #[arg(long)]
    pub no_node_condition: bool,

    /// Do not taint the Node, whatever NodeHooks ask for
    #[arg(long)]
    pub no_taints: bool,

    /// File with the way to the cluster; without it, that of the pod
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Namespace of the lease; without it, that of the pod
    #[arg(long, value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,

    /// Where `reeve node` reads the proxy's state, through a port-forward of the API server: on loopback, since whoever
    /// reaches it may read. `none` leaves it out
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9466")]
    pub sight_address: AdminAddress,

    #[command(flatten)]
    pub process: ProcessArgs,
}

/// What else there is to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Print the hook set that a node would get from these NodeHooks, for `reeve-cri replay`
    HookSet(hook_set::HookSetArgs),
}

impl Args {
    /// Runs the feed until it is told to stop.
    pub fn run(self) -> ExitCode {
        if let Some(Command::HookSet(args)) = &self.command {
            return hook_set::print(args);
        }
        reeve_process::run(&self.process.clone(), "reeve-cri-feed", |process| self.work(process))
    }

    async fn work(self, process: Process) -> anyhow::Result<()> {
        anyhow::ensure!(!self.node.is_empty(), "name the node with --node or NODE_NAME");
        let config = self.configure().await?;
        let client = Client::try_from(config.clone()).context("cannot make a client of the cluster")?;
        let namespace = self.lease_namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let mut lease = LeaseConfig::new(namespace, LEASE);
        lease.timing = timing().context("the times of the lease do not fit together")?;
        let gate = process.contend(client.clone(), lease);
        let stop = process.shutdown.draining_token();
        let metrics = ProxyMetrics::register(&process.metrics);
        let feeding = feed::run(&self, client, process.health.check("node"), metrics);
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            fed = feeding => fed,
            led = leader::run(&gate, &config) => led,
            served = sight::serve(self.sight_address, &self.state_socket) => served,
        }
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

/// Every node contends, so each looks seldom: a sum that is two minutes late harms nobody.
fn timing() -> Result<Timing, reeve_process::lease::TimingError> {
    Timing::new(Duration::from_mins(2), Duration::from_secs(80), Duration::from_secs(20))
}
