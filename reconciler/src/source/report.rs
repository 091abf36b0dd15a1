//! Writes the status of a source and events about it, beside the work: nothing that Git wants waits for them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource as _;
use reeve_crds::git_source::GitSourceStatus;
use reeve_crds::{GROUP, GitSource, VERSION};
use reeve_reconciler_engine::clock::after;
use reeve_reconciler_engine::conditions::keep_transition_times;
use reeve_reconciler_engine::event::{self, EventDraft};
use reeve_reconciler_engine::hash;
use reeve_reconciler_engine::patch::{patch_status, to_json, version_of};
use reeve_reconciler_engine::runtime::SeenStatuses;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::context::Context;

/// How many events may wait to be written. What comes on top of them is in the log alone.
const EVENTS: usize = 64;
/// When a status that somebody else wrote is put right: whoever writes it again and again is not kept up with.
const OVERWRITTEN: Duration = Duration::from_secs(10);

/// Writes what a source says of itself. Ends with it.
#[derive(Debug)]
pub(super) struct Reporter {
    status: watch::Sender<Option<Arc<GitSourceStatus>>>,
    events: mpsc::Sender<EventDraft>,
    _task: JoinSet<()>,
}

impl Reporter {
    /// For a source that is like this now.
    pub(super) fn start(ctx: &Context, object: &GitSource, seen: SeenStatuses) -> Self {
        let (status, statuses) = watch::channel(None);
        let (events, drafts) = mpsc::channel(EVENTS);
        let writer = Writer {
            ctx: ctx.clone(),
            uid: object.metadata.uid.clone(),
            written: to_json(&object.status.clone().unwrap_or_default()),
            version: version_of(&object.metadata),
            seen,
        };
        let mut task = JoinSet::new();
        task.spawn(writer.run(statuses, drafts).in_current_span());
        Self { status, events, _task: task }
    }

    /// Has a status written, if it differs. The latest counts.
    pub(super) fn patch_status(&self, status: GitSourceStatus) {
        self.status.send_replace(Some(Arc::new(status)));
    }

    /// Has an event written.
    pub(super) fn emit(&self, event: EventDraft) {
        if let Err(refused) = self.events.try_send(event) {
            let event = refused.into_inner();
            tracing::warn!(reason = %event.reason, "too many events at once: {}", event.note);
        }
    }
}

struct Writer {
    ctx: Context,
    uid: Option<String>,
    written: Value,
    /// Version of the object after our last write.
    version: u64,
    /// The status as a watch sees it.
    seen: SeenStatuses,
}

impl Writer {
    async fn run(
        mut self,
        mut statuses: watch::Receiver<Option<Arc<GitSourceStatus>>>,
        mut events: mpsc::Receiver<EventDraft>,
    ) {
        let mut again = Timestamp::MAX;
        loop {
            tokio::select! {
                biased;
                () = self.ctx.setup.engine.clock.sleep_until(again) => {
                    again = Timestamp::MAX;
                    let status = statuses.borrow_and_update().clone();
                    if let Some(status) = status {
                        self.patch_status(&status).await;
                    }
                }
                () = self.seen.changed() => {
                    if self.is_overwritten() {
                        again = again.min(after(self.ctx.setup.engine.clock.now(), OVERWRITTEN));
                    }
                }
                Some(event) = events.recv() => self.emit(&event).await,
                Ok(()) = statuses.changed() => {
                    let status = statuses.borrow_and_update().clone();
                    if let Some(status) = status {
                        self.patch_status(&status).await;
                    }
                }
                else => return,
            }
        }
    }

    /// Whether somebody else wrote the status since, which is forgotten then.
    fn is_overwritten(&mut self) -> bool {
        let ours = hash::of(&self.written);
        let is_foreign = self.seen.take_seen().values().any(|seen| seen.is_foreign(self.version, &ours));
        if is_foreign && !self.written.is_null() {
            tracing::info!("somebody else wrote the status: it is put right");
            self.written = Value::Null;
        }
        is_foreign
    }

    async fn patch_status(&mut self, status: &GitSourceStatus) {
        let status = keep_transition_times(&self.written, to_json(status));
        if status == self.written {
            return;
        }
        let Ok(api) = self.ctx.sources() else { return };
        match patch_status(&api, &self.ctx.name, &status).await {
            Ok(version) => {
                self.written = status;
                self.version = version.unwrap_or(self.version);
            }
            Err(api_error) => {
                // It may be said all the same: whatever comes next is written.
                self.written = Value::Null;
                tracing::debug!("cannot write the status: {}", api_error.message);
            }
        }
    }

    async fn emit(&self, event: &EventDraft) {
        let Some(own) = self.ctx.client() else { return };
        let reference = ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some(GitSource::kind(&()).into_owned()),
            name: Some(self.ctx.name.to_string()),
            namespace: Some(self.ctx.namespace.to_string()),
            uid: self.uid.clone(),
            ..ObjectReference::default()
        };
        event::publish(own, reference, event).await;
    }
}
