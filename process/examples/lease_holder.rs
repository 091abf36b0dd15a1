//! Contends for a lease and, while it leads, writes without end, all of it through the gate.
//!
//! The smallest whole user of this room; its tests run it as their second process.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use futures::future;
use http::{HeaderValue, Uri, header::USER_AGENT};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use reeve_process::args::duration;
use reeve_process::lease::{LeaseConfig, Timing};
use reeve_process::{Gate, NotLeader, Process, ProcessArgs, Term};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::BoxError;
use tracing::{info, warn};

/// From eager to slow, so that whenever the process is stopped and resumed, some wake before and some after whoever
/// renews the lease.
const WRITERS: u32 = 7;
const REST: Duration = Duration::from_millis(50);

/// Leads, or waits to lead
#[derive(Clone, Debug, Parser)]
#[command(name = "lease_holder", version = reeve_process::version::LONG)]
struct Args {
    #[command(flatten)]
    process: ProcessArgs,
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Use this server instead of the kubeconfig's
    #[arg(long)]
    server: Option<Uri>,
    /// Who this is: the user agent of its requests
    #[arg(long, default_value = "lease-holder")]
    name: String,
    #[arg(long, default_value = "default")]
    namespace: String,
    #[arg(long, default_value = "lease-holder")]
    lease: String,
    #[arg(long, value_parser = duration, default_value = "15s")]
    lease_duration: Duration,
    #[arg(long, value_parser = duration, default_value = "10s")]
    renew_deadline: Duration,
    #[arg(long, value_parser = duration, default_value = "2s")]
    retry: Duration,
    /// Go on for this long after the signal to stop
    #[arg(long, value_parser = duration, default_value = "0s")]
    linger: Duration,
}

fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Apart from `main` for the tests of this room, which start it by another name.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = Args::parse_from(args);
    let process = args.process.clone();
    reeve_process::run(&process, "lease-holder", |process| work(args, process))
}

async fn work(args: Args, process: Process) -> Result<(), BoxError> {
    let ready = process.health.check("configuration");
    let config = configure(&args).await?;
    let timing = Timing::new(args.lease_duration, args.renew_deadline, args.retry)?;
    let lease = LeaseConfig { timing, ..LeaseConfig::new(&args.namespace, &args.lease) };
    let gate = process.contend(Client::try_from(config.clone())?, lease);
    ready.pass();

    let draining = process.shutdown.draining();
    let led = lead(&gate, &config, &args.namespace);
    match future::select(Box::pin(draining), Box::pin(led)).await {
        future::Either::Left(((), _)) => {
            sleep(args.linger).await;
            Ok(())
        }
        future::Either::Right((result, _)) => result.map(|never| match never {}),
    }
}

/// Term after term.
async fn lead(gate: &Gate, config: &Config, namespace: &str) -> Result<Infallible, BoxError> {
    loop {
        let term = gate.wait_for_term().await?;
        let mut writers = JoinSet::new();
        for number in 0..WRITERS {
            // One of them connects anew for every write.
            let writer = Writer {
                term: term.clone(),
                config: config.clone(),
                reconnects: number == 0,
                rest: REST * (1 << number),
            };
            writers.spawn(writer.write(namespace.to_owned(), format!("written-{number}")));
        }
        if let Some(Ok(Err(error))) = writers.join_next().await
            && !NotLeader::is_cause_of(error.as_ref())
        {
            warn!("cannot write: {}", reeve_process::error_chain(error.as_ref()));
        }
        writers.shutdown().await;
        info!(term = term.number(), over = term.check().is_err(), "stopped writing");
        // Another attempt in the same term if it was the server's fault.
        sleep(REST).await;
    }
}

struct Writer {
    term: Term,
    config: Config,
    reconnects: bool,
    rest: Duration,
}

impl Writer {
    /// Writes until it cannot.
    async fn write(self, namespace: String, name: String) -> Result<Infallible, BoxError> {
        let mut client = self.term.client(&self.config)?;
        for count in 0_u64.. {
            if self.reconnects {
                client = self.term.client(&self.config)?;
            }
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
            let map = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": name },
                "data": { "count": count.to_string() },
            });
            maps.patch(&name, &PatchParams::apply("lease-holder").force(), &Patch::Apply(&map)).await?;
            sleep(self.rest).await;
        }
        Err("counted to the end".into())
    }
}

async fn configure(args: &Args) -> Result<Config, BoxError> {
    let mut config = match &args.kubeconfig {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    if let Some(server) = &args.server {
        config.cluster_url = server.clone();
    }
    config.headers.push((USER_AGENT, HeaderValue::from_str(&args.name)?));
    Ok(config)
}
