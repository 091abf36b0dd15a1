//! Keeps one runtime served: one worker at a time, and another one where it failed or its role is over.

use std::sync::Arc;
use std::time::Duration;

use reeve_crds::Reason;
use reeve_crds::State;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::rollup::RuntimeSummary;
use reeve_reconciler_engine::runtime::{End, Handle, Role, Setup};
use tracing::{debug, info, warn};

use super::unsupported;

/// First pause before a worker that failed is started again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// For how long an API server that asks for some time, as right after an installation, gets it without a word.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a runtime until it is gone. Whatever its Runtime says next is looked at when the worker before has ended.
pub(super) async fn supervise(handle: Handle, setup: Setup, name: Arc<str>) {
    let mut pause = FIRST_PAUSE;
    let first = setup.clock.now();
    loop {
        let message = handle.message();
        let (Some(role), Some(object)) = (Role::of(&message), message.object) else { return };
        let began = setup.clock.now();
        let failed = match role {
            Role::Leave => match unsupported::report(&setup, &object, &message.rollup).await {
                Ok(()) => {
                    let is_other = |told: &reeve_reconciler_engine::runtime::Message| {
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
                    info!(runtime = %name, "its target or its source is another one now; the work on it has ended");
                    continue;
                }
                Err(error) => error,
            },
        };
        if failed.reason == Reason::Throttled && since(began, first) < PATIENCE {
            debug!(runtime = %name, reason = %failed.reason, "restarting: {}", failed.message);
        } else {
            warn!(runtime = %name, reason = %failed.reason, "restarting: {}", failed.message);
            let summary = RuntimeSummary { state: State::Error, message: failed.message, ..RuntimeSummary::default() };
            handle.message().rollup.set(&name, summary);
        }
        if since(setup.clock.now(), began) > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = setup.stop.cancelled() => return,
            () = setup.clock.sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
