//! Wires the parts of the proxy together.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use reeve_process::Process;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::Args;
use crate::backend::Backend;
use crate::hooks::{HookMetrics, Hooks};
use crate::systemd::notify;
use crate::{handover, registry, server, socket};

/// Between two tries to reach a backend that is not there yet.
const DIAL_PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn proxy(args: Args, process: Process) -> anyhow::Result<()> {
    let ready = process.health.check("backend");
    let stop = CancellationToken::new();
    let runtime = Backend::new(&args.runtime_endpoint.0);
    let reached = tokio::select! {
        () = reach(&runtime) => true,
        () = process.shutdown.draining() => false,
    };
    if !reached {
        return Ok(());
    }
    // Before the first call: none may slip past a plugin that is registered.
    let hooks = Arc::new(Hooks::new(args.scope(), HookMetrics::register(&process.metrics)));
    let registry = registry::load(&args.hooks_dir);
    hooks.set(&registry);
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
        tokio::select! {
            () = registry::watch(&args.hooks_dir, registry, |registry| hooks.set(registry)) => {}
            () = stop.cancelled() => {}
        }
    };
    let serving = server::serve(listener, args.endpoints(), Arc::clone(&hooks), stop.clone());
    tokio::join!(serving, ending, watching);
    Ok(())
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

/// Waits for the backend: kubelet gives up when its first call fails, and until then it had better find no socket.
async fn reach(backend: &Backend) {
    let mut said = false;
    while let Err(error) = backend.connect().await {
        if !std::mem::replace(&mut said, true) {
            warn!(error = %reeve_process::error_chain(&error), "waiting for the runtime");
        }
        tokio::time::sleep(DIAL_PAUSE).await;
    }
}
