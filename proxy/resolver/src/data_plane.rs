//! The data plane: takes, counts, holds and forwards requests. It never writes but the scale of a target that sleeps.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kube::Client;
use reeve_process::Process;
use tokio::sync::{Notify, watch as channel};
use tokio::time::timeout;

use crate::args::{ClusterArgs, Failure};

mod answer;
mod connection;
mod deadline;
mod forward;
mod headers;
mod hold;
mod index;
mod lane;
mod listener;
mod metrics;
mod origin;
mod plane;
mod pod_stream;
mod port;
mod prefixed;
mod proxy_protocol;
mod raw;
mod refusal;
mod reporter;
mod request_body;
mod response_body;
mod rule;
mod secret_watch;
mod secrets;
mod settings;
mod table;
mod tap;
mod upstream;
mod wake;
mod watch;

#[cfg(test)]
mod tests;

use metrics::RuleMetrics;
use origin::PodNetworks;
pub use origin::{Network, NetworkError};
use plane::{Bounds, Plane};
use reporter::Identity;

const FAREWELL_WITHIN: Duration = Duration::from_secs(2);

/// Flags of the data plane.
#[derive(Clone, Debug, clap::Args)]
pub struct DataPlaneArgs {
    /// Name of this replica, unique among all: the pod's
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub replica: String,

    /// Addresses of this replica, at most one of each family; without it, --pod-address
    #[arg(long, env = "POD_IPS", value_name = "ADDRESSES", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,

    /// Node on which this replica runs
    #[arg(long, env = "NODE_NAME", value_name = "NAME")]
    pub node: Option<String>,

    /// Where the ports of rules are opened; `::` takes both families
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    pub listen_address: IpAddr,

    /// Ranges of addresses of the cluster's pods, beside those that nodes name
    #[arg(long = "pod-network", value_name = "RANGE", value_delimiter = ',')]
    pub pod_networks: Vec<Network>,

    /// How many connections of clients there may be
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    pub max_connections: usize,

    /// How many of them one port may have
    #[arg(long, value_name = "COUNT", default_value_t = 5_000)]
    pub max_connections_per_port: usize,

    /// How long requests that wait go on waiting after the signal to stop, before they are told to come again
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = reeve_process::args::duration)]
    pub drain_patience: Duration,
}

/// Runs a replica until it is told to stop.
pub async fn run(args: DataPlaneArgs, cluster: ClusterArgs, process: Process) -> Result<(), Failure> {
    let config = cluster.configure().await?;
    let namespace = cluster.lease_namespace(&config);
    let client = Client::try_from(config).context("cannot make a client of the cluster")?;
    let pod_networks = PodNetworks::new(args.pod_networks);
    let plane = Plane::new(Bounds {
        address: args.listen_address,
        pod_networks: Arc::clone(&pod_networks),
        connections: args.max_connections,
        connections_per_port: args.max_connections_per_port,
    });
    process.metrics.register_collector(RuleMetrics(plane.clone()));
    let addresses = if args.addresses.is_empty() { cluster.pod_address.into_iter().collect() } else { args.addresses };
    let identity =
        Identity { replica: args.replica, instance: reeve_process::lease::identity(), addresses, node: args.node };
    let (leader_tx, leader) = channel::channel(None);
    let ready = process.health.check("rules");
    let farewell = Notify::new();

    let edges = async {
        tokio::join!(
            watch::follow(client.clone(), plane.clone(), ready),
            wake::wake(client.clone(), plane.clone()),
            reporter::follow_leader(client.clone(), namespace, leader_tx),
            reporter::report(plane.clone(), identity, process.clone(), leader, &farewell),
            origin::follow_nodes(client.clone(), pod_networks),
            secret_watch::follow(client.clone(), plane.clone()),
            plane.sweep(),
        );
    };
    let ended = async {
        process.shutdown.requested().await;
        plane.leave();
        process.shutdown.draining().await;
        // Whoever leads traffic here knows first, if there is anybody.
        let _ = timeout(FAREWELL_WITHIN, farewell.notified()).await;
        // The edges go on meanwhile: whoever waits may still be woken for.
        plane.drain(args.drain_patience).await;
    };
    tokio::select! {
        () = edges => Err("a part of the data plane has ended by itself".into()),
        () = ended => Ok(()),
    }
}
