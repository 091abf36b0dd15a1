//! One agent of several works: the one that holds the lease.

use anyhow::Context;
use kube::{Client, Config};
use reeve_process::lease::LeaseConfig;
use reeve_process::{Gate, Process};
use reeve_reconciler_engine::clock::Clock;
use tracing::info;

use crate::sidecars::{self, Settings};

/// The lease of the agent.
const LEASE: &str = "reeve-agent";

/// Works whenever this process leads, until it is told to stop.
pub(crate) async fn run(process: &Process, config: &Config, settings: &Settings, no_lease: bool) -> anyhow::Result<()> {
    let ready = process.health.check("configuration");
    let gate = if no_lease {
        Gate::always_open().with_request_metrics(&process.request_metrics)
    } else {
        let client = Client::try_from(config.clone()).context("cannot make a client of the cluster")?;
        process.contend(client, LeaseConfig::new(settings.own_namespace.clone(), LEASE))
    };
    let stop = process.shutdown.draining_token();
    ready.pass();
    loop {
        let term = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            term = gate.wait_for_term() => term.context("the lease is gone")?,
        };
        info!(term = term.number(), "leading");
        let client = term.client(config).context("cannot make a client of the cluster")?;
        let working = term.run(sidecars::run_controller(client, settings.clone(), Clock::system()));
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ended = working => info!(term = term.number(), "no longer leading"),
        }
    }
}
