//! The switch: leads traffic to the data plane and away from it, and lets targets sleep. Of several, one leads.
//!
//! `machine` decides, from what `snapshot` and `replicas` make of objects and reports; `rule` and `execute` do it.

use std::net::SocketAddr;

use kube::Client;
use reeve_process::lease::LeaseConfig;
use reeve_process::server::Server;
use reeve_process::{Process, Term};
use tracing::info;

use crate::args::{ClusterArgs, Failure, LEASE};

mod controller;
mod execute;
pub mod machine;
mod names;
mod objects;
mod ports;
mod probe;
mod quiet;
mod replicas;
mod reports;
mod rule;
mod snapshot;
mod status;
mod target;
mod windows;
mod world;

use controller::Controller;
use reports::Reports;

/// Flags of the switch.
#[derive(Clone, Debug, clap::Args)]
pub struct SwitchArgs {
    /// Where replicas of the data plane report
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9470")]
    pub report_address: SocketAddr,
}

/// Runs a contender until it is told to stop.
pub async fn run(args: SwitchArgs, cluster: ClusterArgs, process: Process) -> Result<(), Failure> {
    let ready = process.health.check("configuration");
    let config = cluster.configure().await?;
    let server = Server::bind("reports", args.report_address).await?;
    let bound = server.address().unwrap_or(args.report_address);
    let mut lease = LeaseConfig::new(cluster.lease_namespace(&config), LEASE);
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
        let leading = term.run(Controller::run(client, reports.clone()));
        tokio::select! {
            () = stop.cancelled() => {}
            _ended = leading => {}
        }
        reports.close();
        if stop.is_cancelled() {
            return Ok(());
        }
        info!(term = term.number(), "no longer leading");
    }
}
