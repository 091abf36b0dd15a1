//! Keeps one runtime served: one worker at a time, and another one where it failed, its role is over or its cluster is
//! another one.

use std::sync::Arc;
use std::time::Duration;

use reeve_crds::{Reason, Runtime};
use reeve_reconciler_engine::backoff::Backoff;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::runtime::{End, Handle, Message, Role, Setup};
use reeve_reconciler_engine::target::Targets;
use tracing::{debug, info, warn};

use super::not_served::NotServed;
use super::place::{Place, Way, find_place, forget_cluster};
use crate::remote::{Lost, RemoteClusters};

/// Pauses before a worker that failed is started again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_mins(1));
/// From this pause on a failure lasts, and is told on the Runtime.
const LASTING: Duration = Duration::from_secs(1);
/// For how long an API server that asks for some time, as right after an installation, gets it without a word.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a runtime until it is gone. Whatever its Runtime says next is looked at when the worker before has ended.
pub(super) async fn supervise(handle: Handle, setup: Setup, clusters: RemoteClusters, name: Arc<str>) {
    let mut failures = 0;
    let first = setup.clock.now();
    loop {
        let message = handle.message();
        let (Some(role), Some(object)) = (Role::of(&message), message.object.clone()) else { return };
        let began = setup.clock.now();
        let ended = if role == Role::Leave {
            Box::pin(leave(&handle, &setup, &object)).await
        } else {
            Box::pin(serve(&handle, &setup, &clusters, &message, &object)).await
        };
        let failed = match ended {
            Ok(End::Gone | End::Stopped) => return,
            Ok(End::Moved | End::Withdrawn) => continue,
            Err(failed) => failed,
        };
        if since(setup.clock.now(), began) > BACKOFF.longest {
            failures = 0;
        }
        let pause = BACKOFF.delay(failures);
        failures += 1;
        if failed.error.reason == Reason::Throttled && since(began, first) < PATIENCE {
            debug!(reason = %failed.error.reason, "restarting: {}", failed.error.message);
        } else {
            warn!(reason = %failed.error.reason, "restarting: {}", failed.error.message);
            failed.report(&handle, &setup, &name, pause >= LASTING).await;
        }
        let is_other = |told: &Message| is_other(told, &message, &object);
        tokio::select! {
            () = setup.stop.cancelled() => return,
            () = setup.clock.sleep(pause) => {}
            () = failed.may_be_over(&clusters, &object) => {}
            () = handle.until(is_other) => {}
        }
    }
}

/// Whether what is told may end what keeps a runtime from being worked on.
fn is_other(told: &Message, before: &Message, object: &Runtime) -> bool {
    let asks = |runtime: &Runtime| {
        let metadata = &runtime.metadata;
        (metadata.uid.clone(), metadata.annotations.clone(), metadata.deletion_timestamp.is_some())
    };
    told.desired.is_absent() != before.desired.is_absent()
        || told.object.as_ref().is_none_or(|other| other.spec != object.spec || asks(other) != asks(object))
}

/// Why nobody works on a runtime, for now.
struct Failed {
    error: ReconcileError,
    /// Whether its cluster is not reached.
    is_unreachable: bool,
}

impl From<ReconcileError> for Failed {
    fn from(error: ReconcileError) -> Self {
        Self { error, is_unreachable: false }
    }
}

impl Failed {
    fn unreachable(error: ReconcileError) -> Self {
        Self { error, is_unreachable: true }
    }

    /// Says so in the roll-up and, if it lasts, on the Runtime.
    async fn report(&self, handle: &Handle, setup: &Setup, name: &str, is_lasting: bool) {
        let not_served =
            if self.is_unreachable { NotServed::unreachable(&self.error) } else { NotServed::failing(&self.error) };
        let message = handle.message();
        not_served.summarize(name, &message.rollup);
        // One that works again a moment later has nothing to say.
        if (is_lasting || self.is_unreachable)
            && let Some(object) = &message.object
            && let Err(error) = Box::pin(not_served.patch_status(setup, object)).await
        {
            debug!(reason = %error.reason, "{}", error.message);
        }
    }

    /// Resolves when a Secret changed that may have been the cause.
    async fn may_be_over(&self, clusters: &RemoteClusters, object: &Runtime) {
        match &object.spec.target.kube_config_secret_ref {
            Some(reference) if self.is_unreachable => {
                clusters.secret_changed(object.metadata.namespace.as_deref().unwrap_or_default(), reference).await;
            }
            Some(_) | None => std::future::pending().await,
        }
    }
}

/// Has a worker keep the runtime in its cluster, or take it away from the one that it was in.
async fn serve(
    handle: &Handle,
    setup: &Setup,
    clusters: &RemoteClusters,
    message: &Message,
    object: &Arc<Runtime>,
) -> Result<End, Failed> {
    let place = find_place(clusters, &setup.targets, message, object).await.map_err(Failed::unreachable)?;
    if let Some(written) = place.record(setup, object).await? {
        handle.send(|message| message.set_object(Arc::new(written)));
    }
    let Place { targets, way, .. } = place;
    let end = match way {
        Some(way) => Box::pin(serve_remote(handle, setup, clusters, targets, way, object)).await?,
        None => handle.work(Setup { targets, ..setup.clone() }).await?,
    };
    match end {
        End::Moved => info!("its target or its source is another one now; the work on it has ended"),
        End::Withdrawn => {
            info!("nothing is left of it in the cluster that it was in");
            if let Some(written) = forget_cluster(setup, object).await? {
                handle.send(|message| message.set_object(Arc::new(written)));
            }
        }
        End::Gone | End::Stopped => {}
    }
    Ok(end)
}

/// The same, for as long as its cluster, which is not the one of its Runtime, can be reached.
async fn serve_remote(
    handle: &Handle,
    setup: &Setup,
    clusters: &RemoteClusters,
    targets: Targets,
    (reference, cluster): Way,
    object: &Runtime,
) -> Result<End, Failed> {
    let (stop, writes) = (setup.stop.child_token(), cluster.writes.clone());
    let own = Setup { targets, writes, stop: stop.clone(), ..setup.clone() };
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let mut work = std::pin::pin!(handle.work(own));
    let lost = tokio::select! {
        end = &mut work => return Ok(end?),
        lost = clusters.lost(namespace, &reference, &cluster) => lost,
    };
    stop.cancel();
    let end = work.await?;
    if end != End::Stopped || setup.stop.is_cancelled() {
        return Ok(end);
    }
    info!("its cluster is looked for anew: {}", lost.why());
    match lost {
        Lost::Changed => Ok(End::Moved),
        Lost::Silent | Lost::Refused => Err(Failed::unreachable(ReconcileError::transient(lost.reason(), lost.why()))),
    }
}

/// Says of a runtime that it is not served from here, for as long as it is so.
async fn leave(handle: &Handle, setup: &Setup, object: &Arc<Runtime>) -> Result<End, Failed> {
    let elsewhere = NotServed::elsewhere(object);
    elsewhere.summarize(object.metadata.name.as_deref().unwrap_or_default(), &handle.message().rollup);
    elsewhere.patch_status(setup, object).await?;
    let is_other = |told: &Message| {
        Role::of(told) != Some(Role::Leave) || told.object.as_ref().is_none_or(|other| !Arc::ptr_eq(other, object))
    };
    tokio::select! {
        () = setup.stop.cancelled() => Ok(End::Stopped),
        () = handle.until(is_other) => Ok(End::Moved),
    }
}
