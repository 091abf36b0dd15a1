//! Writes Runtimes, and tells their workers what Git wants of them.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::{Reason, Runtime, State};
use reeve_reconciler_engine::FIELD_MANAGER;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::RuntimeSummary;
use reeve_reconciler_engine::runtime::{DesiredState, Message, Role};
use serde_json::Value;

use super::builder::Changed;
use super::context::Context;
use super::object::is_as;

const WRITES_AT_ONCE: usize = 8;

/// Writes Runtimes. With each comes whether it could not be written the last time.
pub(super) async fn write(ctx: Context, changed: Vec<(Changed, bool)>) -> Vec<(Arc<str>, Result<(), ReconcileError>)> {
    let work = changed.into_iter().map(|(changed, is_retried)| write_runtime(&ctx, changed, is_retried));
    stream::iter(work).buffer_unordered(WRITES_AT_ONCE).collect().await
}

async fn write_runtime(ctx: &Context, changed: Changed, is_retried: bool) -> (Arc<str>, Result<(), ReconcileError>) {
    let written = match ctx.runtimes() {
        Ok(api) => apply_runtime(ctx, &api, &changed.0, &changed.2.read()).await,
        Err(error) => Err(error),
    };
    let sent = written.map(|written| send_desired(ctx, &changed, written.map(Arc::new).as_ref(), is_retried));
    (changed.0, sent)
}

fn send_desired(ctx: &Context, (name, desired, _): &Changed, written: Option<&Arc<Runtime>>, is_retried: bool) {
    let awaited = RuntimeSummary {
        state: State::Processing,
        message: format!("{} was not looked at yet", desired.revision.shown),
        ..RuntimeSummary::default()
    };
    ctx.setup.runtimes.update_message(&ctx.namespace, name, &mut |message| {
        let is_other = match &message.desired {
            DesiredState::Present(before) => before.digest != desired.digest,
            DesiredState::Absent { .. } | DesiredState::Elsewhere => true,
            // After a restart: another one than the process before worked towards.
            DesiredState::Unknown => is_retried || worked_towards(message) != Some(&*desired.digest),
        };
        let is_new = is_other || matches!(message.desired, DesiredState::Unknown);
        if let Some(written) = written {
            // What Git wants is for the Runtime as it is now, which the worker may not have seen yet.
            message.set_object(written.clone());
        }
        message.desired = DesiredState::Present(desired.clone());
        message.source_suspended = false;
        // One that is not served from here says so already, and nobody looks at what Git wants of it.
        let is_served = Role::of(message) != Some(Role::Leave);
        if is_other && is_served {
            // Before the worker hears of it, which then knows better.
            ctx.rollup.set(name, awaited.clone());
        }
        if is_new && is_served {
            ctx.rollup.sending(name);
        }
        true
    });
}

/// The digest of what was worked towards last, as the Runtime says.
fn worked_towards(message: &Message) -> Option<&str> {
    let status = message.object.as_ref()?.status.as_ref()?;
    status.desired.as_ref().map(|desired| desired.digest.as_str())
}

/// The file of a runtime left Git. Its worker takes its objects away, if its policy says so and Git did not say otherwise
/// last, and deletes the Runtime.
pub(super) fn send_removal(ctx: &Context, name: &Arc<str>, keeps_objects: bool) {
    tracing::info!(runtime = %name, "its file left Git");
    ctx.setup.runtimes.update_message(&ctx.namespace, name, &mut |message| {
        message.source_suspended = false;
        !std::mem::replace(&mut message.desired, DesiredState::Absent { keeps_objects }).is_absent()
    });
}

/// Nobody removes a runtime until its worker is told again what Git wants of it.
pub(super) fn hold_removal(ctx: &Context, name: &Arc<str>) {
    ctx.setup.runtimes.update_message(&ctx.namespace, name, &mut |message| {
        let is_held = message.desired.is_absent();
        if is_held {
            message.desired = DesiredState::Unknown;
        }
        is_held
    });
}

/// Everything that comes from a source that is suspended is.
pub(super) fn send_suspend(ctx: &Context, name: &Arc<str>, suspended: bool) {
    ctx.setup.runtimes.update_message(&ctx.namespace, name, &mut |message| {
        std::mem::replace(&mut message.source_suspended, suspended) != suspended
    });
}

/// Deletes Runtimes, since their source goes: what becomes of a runtime's objects is for its own policy to say.
pub(super) async fn delete_runtimes(ctx: &Context, names: &[Arc<str>]) {
    let Ok(api) = ctx.runtimes() else { return };
    for name in names {
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => tracing::debug!("cannot delete Runtime {name}: {}", ApiError::of(&error).message),
        }
    }
}

/// Writes a Runtime, unless it is so. What was written, if so.
async fn apply_runtime(
    ctx: &Context,
    api: &Api<Runtime>,
    name: &str,
    object: &Value,
) -> Result<Option<Runtime>, ReconcileError> {
    if let Some(other) = other_source(ctx, name).await? {
        return Err(claimed(name, &other));
    }
    let there = ctx.setup.runtimes.object(&ctx.namespace, name);
    if there.as_ref().is_some_and(|there| is_as(there, object)) {
        return Ok(None);
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    match api.patch(name, &params, &Patch::Apply(object)).await {
        Ok(written) => Ok(Some(written)),
        Err(error) => {
            let api_error = ApiError::of(&error);
            let is_going = |there: &Arc<Runtime>| there.metadata.deletion_timestamp.is_some();
            let going = there.filter(is_going).filter(|_| api_error.reason == Reason::Invalid);
            let held_by = going.and_then(|there| there.metadata.finalizers.as_ref().map(|all| all.join(", ")));
            let message = match held_by {
                Some(held_by) => format!("cannot write Runtime {name}: it is being deleted, and held by {held_by}"),
                None => format!("cannot write Runtime {name}: {}", api_error.message),
            };
            Err(ReconcileError::of_request(message, api_error))
        }
    }
}

/// The other source that a runtime names, be it there or not.
pub(super) fn other_named(ctx: &Context, name: &str) -> Option<String> {
    let there = ctx.setup.runtimes.object(&ctx.namespace, name)?;
    there.spec.source_ref.as_ref().map(|source| source.name.clone()).filter(|other| **other != *ctx.name)
}

/// The other source that a runtime follows, if so. One whose source is gone may be taken up by another.
pub(super) async fn other_source(ctx: &Context, name: &str) -> Result<Option<String>, ReconcileError> {
    let (Some(other), Ok(api)) = (other_named(ctx, name), ctx.sources()) else { return Ok(None) };
    match api.get_opt(&other).await {
        Ok(there) => Ok(there.map(|_| other)),
        Err(error) => {
            let api_error = ApiError::of(&error);
            let message = format!("cannot read GitSource {other}: {}", api_error.message);
            Err(ReconcileError::of_request(message, api_error))
        }
    }
}

/// A runtime follows one source.
pub(super) fn claimed(name: &str, other: &str) -> ReconcileError {
    let message = format!("Runtime {name} comes from GitSource {other}: rename it in one of the two");
    ReconcileError::terminal(Reason::Conflict, message)
}
