//! What keeping a cluster to Git costs, next to a bare loop of server-side apply and next to Flux.
//!
//! `COMPONENTS=100 RUNTIMES=100` makes it quick, `-- floor reeve flux webhook many` names contenders to run alone; `REEVE_PEERS` names a folder with
//! Flux's `source-controller` and `kustomize-controller`, without which there is no peer. Each contender has a fresh control
//! plane of its own, one after the other, as often as `ROUNDS` says, and the best of its times counts: a machine that does
//! something else meanwhile only ever makes it worse. Nothing here fails for being slow: it prints ratios.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads the clock, and is told by the environment how much to do"
)]

mod fixture;
mod floor;
mod flux;
mod idle;
mod many;
mod measure;
mod ours;
mod outcome;
mod requests;
mod webhook;
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result};

use workload::Size;

fn main() -> Result<()> {
    let (components, rounds) = (number("COMPONENTS", 1000)?, number("ROUNDS", 2)?);
    let runtimes = number("RUNTIMES", 1000)?.max(2);
    let peers = std::env::var_os("REEVE_PEERS").map(PathBuf::from);
    let size = Size { components, concurrency: 20 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start tokio")?;
    runtime.block_on(run(size, rounds, runtimes, peers))
}

fn number(variable: &str, default: usize) -> Result<usize> {
    match std::env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(default),
    }
}

async fn run(size: Size, rounds: usize, runtimes: usize, peers: Option<PathBuf>) -> Result<()> {
    println!(
        "{} components of ServiceAccount, Service, Deployment without replicas and Ingress, {} writes at once, {rounds} rounds",
        size.components, size.concurrency
    );
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|wanted| wanted == name);
    let mut idle = Ok(());
    let (mut floor, mut ours, mut peer) = (None, None, None);
    for round in 1..=rounds {
        if is_wanted("floor") {
            floor = Some(floor::run(size).await?.or_better(floor));
        }
        if is_wanted("reeve") {
            let (outcome, converged) = ours::run(size).await?;
            ours = Some(outcome.or_better(ours));
            if round == rounds {
                idle = idle::run(size, converged).await;
            }
        }
        if let Some(programs) = peers.as_ref().filter(|_| is_wanted("flux")) {
            peer = Some(flux::run(size, programs).await?.or_better(peer));
        }
    }
    if is_wanted("webhook") {
        webhook::run(size).await?;
    }
    if is_wanted("many") {
        many::run(size, runtimes).await?;
    }
    outcome::compare(floor.as_ref(), ours.as_ref(), peer.as_ref(), size);
    if peers.is_none() {
        println!("  REEVE_PEERS names no folder with Flux's programs: no peer");
    }
    idle
}
