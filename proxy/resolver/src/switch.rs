//! The switch: leads traffic to the data plane and away from it, and lets targets sleep. Of several, one leads.
//!
//! `machine` decides, from what `snapshot` and `replicas` make of objects and reports; `rule` and `execute` do it.

use std::net::SocketAddr;

use kube::Client;
use reeve_process::lease::LeaseConfig;
use reeve_process::server::Server;
use reeve_process::{Process, Term};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::args::{ClusterArgs, Failure, LEASE};
use crate::scaler::Offers;

mod controller;
mod execute;
mod istio;
mod keda;
pub mod machine;
mod names;
mod objects;
mod observing;
mod ports;
mod probe;
mod quiet;
mod replicas;
mod reports;
mod rule;
mod scaler_place;
mod selection;
mod snapshot;
mod status;
mod target;
mod windows;
mod world;

use controller::{Controller, ScalerPlace};
use reports::Reports;

/// Flags of the switch.
#[derive(Clone, Debug, clap::Args)]
pub struct SwitchArgs {
    /// Where replicas of the data plane report
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9470")]
    pub report_address: SocketAddr,

    /// Where KEDA asks the leader
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9471")]
    pub scaler_address: SocketAddr,

    /// Service without a selector, in the namespace of the lease, by which KEDA finds the leader; without it, KEDA is given
    /// the leader's own address
    #[arg(long, value_name = "NAME")]
    pub scaler_service: Option<String>,
}

/// Runs a contender until it is told to stop.
pub async fn run(args: SwitchArgs, cluster: ClusterArgs, process: Process) -> Result<(), Failure> {
    let ready = process.health.check("configuration");
    let config = cluster.configure().await?;
    let server = Server::bind("reports", args.report_address).await?;
    let bound = server.address().unwrap_or(args.report_address);
    let namespace = cluster.lease_namespace(&config);
    let mut lease = LeaseConfig::new(namespace.clone(), LEASE);
    lease.address = Some(cluster.reachable(bound));
    info!(address = %cluster.reachable(bound), "listening for reports");
    let gate = process.contend(Client::try_from(config.clone())?, lease);
    let reports = Reports::default();
    let (serving, stop) = (reports.clone().serve(server), process.shutdown.draining_token());
    process.spawn("reports", async move {
        tokio::select! { () = serving => {}, () = stop.cancelled() => {} }
    });
    ready.pass();
    let stop = process.shutdown.draining_token();
    loop {
        let term: Term = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            term = gate.wait_for_term() => term?,
        };
        info!(term = term.number(), "leading");
        let client = term.client(&config)?;
        let offers = Offers::default();
        let bound = cluster.reachable(args.scaler_address);
        let place =
            ScalerPlace { address: scaler_place::name(args.scaler_service.as_deref(), &namespace, bound), offers };
        let ends = CancellationToken::new();
        let offers = place.offers.clone();
        {
            let mut answering = std::pin::pin!(scaler_place::answer(args.scaler_address, offers.clone(), ends.clone()));
            let leading = async {
                tokio::join!(
                    scaler_place::announce(client.clone(), &namespace, args.scaler_service.as_deref(), bound),
                    Controller::run(client.clone(), reports.clone(), place),
                )
            };
            tokio::select! {
                () = stop.cancelled() => {}
                _ended = term.run(leading) => {}
                () = &mut answering => {}
            }
            offers.clear();
            ends.cancel();
            answering.await;
        }
        reports.close();
        if stop.is_cancelled() {
            return Ok(());
        }
        info!(term = term.number(), "no longer leading");
    }
}
