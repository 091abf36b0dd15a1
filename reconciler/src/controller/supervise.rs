//! Keeps one runtime served: one worker at a time, and another one where it failed or its role is over.

use std::sync::Arc;
use std::time::Duration;

use reeve_crds::{Reason, Runtime};
use reeve_reconciler_engine::backoff::Backoff;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::Rollup;
use reeve_reconciler_engine::runtime::{End, Handle, Message, Role, Setup};
use tracing::{debug, info, warn};

use super::not_served::NotServed;

/// Pauses before a worker that failed is started again.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_mins(1));
/// From this pause on a failure lasts, and is told on the Runtime.
const LASTING: Duration = Duration::from_secs(1);
/// For how long an API server that asks for some time, as right after an installation, gets it without a word.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a runtime until it is gone. Whatever its Runtime says next is looked at when the worker before has ended.
pub(super) async fn supervise(handle: Handle, setup: Setup, name: Arc<str>) {
    let mut failures = 0;
    let first = setup.clock.now();
    loop {
        let message = handle.message();
        let (Some(role), Some(object)) = (Role::of(&message), message.object) else { return };
        let began = setup.clock.now();
        let failed = match role {
            Role::Leave => match Box::pin(leave(&setup, &object, &message.rollup)).await {
                Ok(()) => {
                    let is_other = |told: &Message| {
                        Role::of(told) != Some(Role::Leave)
                            || told.object.as_ref().is_none_or(|other| !Arc::ptr_eq(other, &object))
                    };
                    tokio::select! {
                        () = setup.stop.cancelled() => return,
                        () = handle.until(is_other) => continue,
                    }
                }
                Err(error) => error,
            },
            Role::Reconcile { .. } | Role::Dissolve => match Box::pin(handle.work(setup.clone())).await {
                Ok(End::Gone | End::Stopped) => return,
                Ok(End::Moved) => {
                    info!("its target or its source is another one now; the work on it has ended");
                    continue;
                }
                Err(error) => error,
            },
        };
        if since(setup.clock.now(), began) > BACKOFF.longest {
            failures = 0;
        }
        let pause = BACKOFF.delay(failures);
        failures += 1;
        if failed.reason == Reason::Throttled && since(began, first) < PATIENCE {
            debug!(reason = %failed.reason, "restarting: {}", failed.message);
        } else {
            warn!(reason = %failed.reason, "restarting: {}", failed.message);
            let not_served = NotServed::failing(&failed);
            let message = handle.message();
            not_served.summarize(&name, &message.rollup);
            // One that works again a moment later has nothing to say.
            if pause >= LASTING
                && let Some(object) = &message.object
                && let Err(error) = Box::pin(not_served.patch_status(&setup, object)).await
            {
                debug!(reason = %error.reason, "{}", error.message);
            }
        }
        tokio::select! {
            () = setup.stop.cancelled() => return,
            () = setup.clock.sleep(pause) => {}
        }
    }
}

/// Says of a runtime that it is not served from here.
async fn leave(setup: &Setup, object: &Runtime, rollup: &Rollup) -> Result<(), ReconcileError> {
    let elsewhere = NotServed::elsewhere(object);
    elsewhere.summarize(object.metadata.name.as_deref().unwrap_or_default(), rollup);
    elsewhere.patch_status(setup, object).await
}
