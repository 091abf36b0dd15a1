//! Writes the status of a source, and events about it.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource as _;
use reeve_crds::git_source::GitSourceStatus;
use reeve_crds::{GROUP, GitSource, Reason, VERSION};
use reeve_reconciler_engine::conditions::keep_transition_times;
use reeve_reconciler_engine::event::{self, EventDraft};
use reeve_reconciler_engine::patch::{patch_status, to_json};
use serde_json::Value;

use super::context::Context;

/// The status as it was last written.
#[derive(Debug)]
pub(super) struct StatusWriter {
    written: Value,
}

impl StatusWriter {
    /// For a source that has this status.
    pub(super) fn new(object: &GitSource) -> Self {
        Self { written: to_json(&object.status.clone().unwrap_or_default()) }
    }

    /// Writes a status if it differs.
    pub(super) async fn patch_status(&mut self, ctx: &Context, status: &GitSourceStatus) {
        let status = keep_transition_times(&self.written, to_json(status));
        if status == self.written {
            return;
        }
        let Ok(api) = ctx.sources() else { return };
        match patch_status(&api, &ctx.name, &status).await {
            Ok(()) => self.written = status,
            Err(api_error) => {
                // It may be said all the same: whatever comes next is written.
                self.written = Value::Null;
                tracing::debug!("cannot write the status: {}", api_error.message);
            }
        }
    }
}

/// Emits an event about a source.
pub(super) async fn emit(ctx: &Context, object: &GitSource, warning: bool, reason: Reason, note: String) {
    let Some(own) = ctx.client() else { return };
    let at = ctx.setup.engine.clock.now();
    let reference = ObjectReference {
        api_version: Some(format!("{GROUP}/{VERSION}")),
        kind: Some(GitSource::kind(&()).into_owned()),
        name: Some(ctx.name.to_string()),
        namespace: Some(ctx.namespace.to_string()),
        uid: object.metadata.uid.clone(),
        ..ObjectReference::default()
    };
    event::publish(own, reference, &EventDraft { warning, reason, note, at }).await;
}
