//! Wires the parts of the proxy together.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use jiff::Timestamp;
use reeve_process::Process;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::Args;
use super::runtime::Runtime;
use crate::hooks::{HookMetrics, Hooks, Identity};
use crate::registry::{self, Registry};
use crate::systemd::notify;
use crate::{handover, socket, state};

pub(super) async fn proxy(args: Args, process: Process) -> anyhow::Result<()> {
    let ready = process.health.check("backend");
    let stop = CancellationToken::new();
    let runtime = Runtime::new(&args);
    let reached = tokio::select! {
        () = runtime.reach() => true,
        () = process.shutdown.draining() => false,
    };
    if !reached {
        return Ok(());
    }
    // Before the first call: none may slip past a plugin that is registered.
    let (places, mut registry) = (args.places(), Registry::default());
    registry::load(&places, &mut registry);
    let hooks = Arc::new(Hooks::new(args.scope(), HookMetrics::register(&process.metrics), registry));
    let listener = if args.take_over {
        handover::inherited().context("cannot take the socket over")?
    } else {
        socket::listen(&args.listen.0, &args.runtime_endpoint.0)?
    };
    let listener = Arc::new(UnixListener::from_std(listener).context("cannot wait for clients")?);
    info!(listen = %args.listen.0.display(), runtime = %args.runtime_endpoint.0.display(), "serving");
    ready.pass();
    report_ready(&args);
    // Neither keeps the socket while the last calls end: were the process that took over to fail, the next must see so.
    let (asked, shutdown, args_of_new, stopping) = (Arc::clone(&listener), &process.shutdown, &args, &stop);
    let ending = async move {
        tokio::select! {
            () = shutdown.draining() => {}
            () = handed_over(args_of_new, &asked) => {}
        }
        stopping.cancel();
    };
    let watching = async {
        let read = || hooks.change(|registry| registry::load(&places, registry));
        tokio::select! {
            () = registry::watch(&places, read) => {}
            () = runtime.update_running(&hooks) => {}
            () = report_state(&args, &hooks, &runtime) => {}
            () = stop.cancelled() => {}
        }
    };
    let serving = runtime.serve(&args, listener, &hooks, stop.clone());
    tokio::join!(serving, ending, watching);
    Ok(())
}

/// What readers of the local socket are told.
#[derive(Clone)]
struct StateSource {
    hooks: Arc<Hooks>,
    identity: Identity,
}

impl state::serve::Source for StateSource {
    fn state(&self) -> state::State {
        self.hooks.state(&self.identity)
    }

    fn decisions(&self) -> Vec<state::Decision> {
        self.hooks.decisions()
    }

    fn record(&self) -> broadcast::Receiver<Bytes> {
        self.hooks.record()
    }
}

/// Answers readers of the local socket. Without it the hooks work all the same.
async fn report_state(args: &Args, hooks: &Arc<Hooks>, runtime: &Runtime) {
    let started_at = Timestamp::now();
    let identity = Identity { started_at, runtime: runtime.version().await };
    match state::serve::listen(&args.state_socket.0) {
        Ok(listener) => {
            state::serve::serve(listener, StateSource { hooks: Arc::clone(hooks), identity }).await;
        }
        Err(error) => error!(error = %reeve_process::error_chain(&error), "nobody can read the state"),
    }
    std::future::pending::<()>().await;
}

fn report_ready(args: &Args) {
    // Whoever starts a process that takes over says so of it.
    let told = if args.take_over { handover::notify_ready() } else { notify(args.notify_socket.as_deref(), "READY=1") };
    if let Err(error) = told {
        warn!(%error, "cannot tell that we serve");
    }
}

/// Returns when another process has taken over, which it is asked to at each SIGHUP.
async fn handed_over(args: &Args, listener: &UnixListener) {
    let Ok(mut asked) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    while asked.recv().await.is_some() {
        info!("handing over");
        match handover::hand_over(listener).await {
            Ok(pid) => {
                info!(pid, "handed over; ending what is under way");
                if let Err(error) = notify(args.notify_socket.as_deref(), &format!("MAINPID={pid}\nREADY=1")) {
                    warn!(%error, "cannot tell systemd who serves now");
                }
                return;
            }
            Err(error) => error!(error = %reeve_process::error_chain(&error), "cannot hand over; serving on"),
        }
    }
}
