//! Joins the parts of this room: a binary's `main` is a call of [`run`].

use std::error::Error;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::{error, info};

use crate::admin::Pages;
use crate::args::{AdminAddress, ProcessArgs};
use crate::error_chain;
#[cfg(feature = "cluster")]
use crate::gate::RequestMetrics;
use crate::health::Health;
#[cfg(feature = "cluster")]
use crate::lease::LeaseMetrics;
use crate::logs::{self, LogError};
use crate::metrics::Metrics;
use crate::server::{ListenError, Server};
use crate::shutdown::{Limits, Outcome, Shutdown, Stop, signals};
use crate::version;

mod exit;
#[cfg(feature = "cluster")]
mod leadership;
mod tasks;
use exit::{arm_watchdog, exit_now};
use tasks::Tasks;

/// The process cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Logs(#[from] LogError),
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    #[error(transparent)]
    Admin(#[from] ListenError),
}

/// What a binary's own code gets to work with. Clones share everything.
#[derive(Clone, Debug)]
pub struct Process {
    pub metrics: Metrics,
    pub health: Health,
    pub shutdown: Shutdown,
    /// Counts what clients ask of an API server.
    #[cfg(feature = "cluster")]
    pub request_metrics: RequestMetrics,
    #[cfg(feature = "cluster")]
    leases: LeaseMetrics,
    tasks: Tasks,
}

impl Process {
    fn new(binary: &'static str) -> Self {
        let (metrics, shutdown) = (Metrics::new(binary), Shutdown::default());
        let (tasks, health) = (Tasks::new(shutdown.clone()), Health::default());
        Self {
            #[cfg(feature = "cluster")]
            request_metrics: RequestMetrics::register(&metrics),
            #[cfg(feature = "cluster")]
            leases: LeaseMetrics::register(&metrics),
            metrics,
            health,
            shutdown,
            tasks,
        }
    }

    /// Runs `work` beside `main`; the drain waits for it, so it must watch [`Shutdown::draining`]. If it panics the
    /// process stops and reports failure.
    pub fn spawn(&self, name: &str, work: impl Future<Output = ()> + Send + 'static) {
        let guard = self.shutdown.guard(name);
        self.tasks.spawn(name, guard, work);
    }
}

/// Runs a whole binary: logs, signals and the admin server first, then `main`, then the way out.
///
/// `main` returns when [`Shutdown::draining`] resolves, or earlier if it is done; its return begins the shutdown too.
///
/// | exit status | |
/// |---|---|
/// | 0 | `main` succeeded and everything drained |
/// | 1 | it could not start, or `main` failed |
/// | 2 | wrong usage (clap) |
/// | 101 | `main` or a task panicked |
/// | 124 | not drained within the shutdown deadline |
/// | 130, 143 | a second SIGINT or SIGTERM came before the drain was over |
pub fn run<F, E>(args: &ProcessArgs, binary: &'static str, main: impl FnOnce(Process) -> F) -> ExitCode
where
    F: Future<Output = Result<(), E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let runtime = match prepare(args) {
        Ok(runtime) => runtime,
        Err(error) => {
            // There is no log to write to yet.
            let _ = writeln!(std::io::stderr(), "{binary}: {}", error_chain(&error));
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(drive(args, binary, main)).unwrap_or_else(|error| {
        error!("{}", error_chain(&error));
        ExitCode::FAILURE
    });
    // Dropping it would wait for blocking work that nobody waits for any more.
    runtime.shutdown_background();
    code
}

fn prepare(args: &ProcessArgs) -> Result<Runtime, StartError> {
    logs::install(&args.log, args.log_style())?;
    // Two providers may be linked in, and then rustls does not choose by itself. An error says that one is chosen.
    #[cfg(feature = "cluster")]
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = if args.one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build().map_err(StartError::Runtime)
}

async fn drive<F, E>(
    args: &ProcessArgs,
    binary: &'static str,
    main: impl FnOnce(Process) -> F,
) -> Result<ExitCode, StartError>
where
    F: Future<Output = Result<(), E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let process = Process::new(binary);
    let mut edges = JoinSet::new();
    let (signals, forward) = signals().map_err(StartError::Signals)?;
    edges.spawn(forward);
    serve_admin(args, &process, &mut edges).await?;
    info!(binary, version = version::VERSION, commit = version::COMMIT, "started");

    let limits = Limits { drain_delay: args.drain_delay, deadline: args.shutdown_deadline };
    let (shutdown, health) = (process.shutdown.clone(), process.health.clone());
    let stop = Stop { shutdown: shutdown.clone(), health, limits, signals };
    let mut stopping = JoinSet::new();
    stopping.spawn(stop_or_exit(stop, limits.deadline));

    let guard = shutdown.guard("main");
    let tasks = process.tasks.clone();
    // Not on a task, so that it need not be Send; if it blocks its thread, the others do what must be done.
    let result = AssertUnwindSafe(async { main(process).await }).catch_unwind().await;
    drop(guard);
    shutdown.begin();
    let code = exit::code(result.map(|main| main.map_err(Into::into)), &tasks);
    stopping.join_all().await;
    Ok(code)
}

/// Only a drain that ended well returns; everything else exits from here, since `main` may be stuck.
async fn stop_or_exit(stop: Stop, deadline: Duration) {
    match stop.run(|| arm_watchdog(deadline)).await {
        Outcome::Drained => {}
        Outcome::Deadline => exit_now(exit::DEADLINE),
        Outcome::Forced(signal) => exit_now(signal.exit_status()),
    }
}

async fn serve_admin(args: &ProcessArgs, process: &Process, edges: &mut JoinSet<()>) -> Result<(), ListenError> {
    let AdminAddress::At(address) = args.admin_address else { return Ok(()) };
    let pages = Pages { health: process.health.clone(), metrics: process.metrics.clone() };
    let purpose = "admin requests";
    let server = if args.share_admin_address {
        Server::bind_shared(purpose, address)?
    } else {
        Server::bind(purpose, address).await?
    };
    let address = server.address().unwrap_or(address);
    info!(%address, "serving /livez, /readyz and /metrics");
    edges.spawn(pages.serve(server));
    Ok(())
}
