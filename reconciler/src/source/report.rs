//! What is told of a source: its status, a line and an event for each changed failure, and news for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Api, Resource as _};
use reeve_crds::Reason;
use reeve_crds::{GROUP, GitSource, State, VERSION};
use reeve_reconciler_engine::conditions::keep_transition_times;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::event::{self, EventDraft};
use reeve_reconciler_engine::notification::NotificationBody;
use reeve_reconciler_engine::patch::{patch_status, to_json};
use reeve_reconciler_engine::rollup::RuntimeSummary;
use serde_json::Value;
use tracing::{info, warn};

use super::Source;
use super::status;

/// Failures in a row after which people are told.
const REPEATED: u32 = 3;

impl Source {
    /// There is no new revision to be had; the last good one stays in force.
    pub(super) async fn unfetched(&mut self, error: ReconcileError) {
        self.failures += 1;
        self.record_failure("fetch", &error);
        self.report.unfetched(error, self.with.engine.clock.now());
        self.restore_last_good().await;
    }

    /// There is a new revision that cannot be used; the last good one stays in force.
    pub(super) async fn refused(&mut self, revision: &Revision, error: ReconcileError) {
        let message = format!("{} is refused: {}", revision.shown, error.message);
        self.record_failure("revision", &ReconcileError::terminal(error.reason, message));
        let before = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        // After a restart it is looked at again, which is no news.
        if before != Some(&*revision.commit) {
            self.notify(NotificationBody::Rejected {
                revision: revision.shown.to_string(),
                message: error.message.clone(),
            });
        }
        self.report.reject(revision, &error, self.with.engine.clock.now());
        self.restore_last_good().await;
    }

    /// Tells people once that it fails again and again, and once that it does no longer.
    pub(super) fn notify_failure(&mut self) {
        let unread = self.report.fetch_error().map(|error| {
            let last_good = self.report.revision.as_deref().unwrap_or("nothing yet");
            let message = format!("{} (last good: {last_good})", error.message);
            (error.reason, message, "the repository is read again")
        });
        let unwritten = || self.report.unwritten().map(|it| (it.reason, it.message, "all Runtimes are written again"));
        let body = match (unread.or_else(unwritten), self.failing) {
            (Some((reason, message, well)), None) if self.failures.max(self.writing.failures) >= REPEATED => {
                self.failing = Some(well);
                NotificationBody::Failed { reason, message }
            }
            (None, Some(well)) => {
                self.failing = None;
                NotificationBody::Recovered { message: well.to_owned() }
            }
            (Some(_), _) | (None, None) => return,
        };
        self.notify(body);
    }

    pub(super) fn notify(&self, body: NotificationBody) {
        self.with.engine.notifications.send_of_source(&self.namespace, &self.name, body);
    }

    /// One line and one event per changed failure. True if it was told now.
    pub(super) fn record_failure(&mut self, about: &'static str, error: &ReconcileError) -> bool {
        let is_new = self.is_new(about, error);
        if is_new {
            warn!(reason = %error.reason, "{}", error.message);
            self.report.events.push((true, error.reason, error.message.clone()));
        }
        is_new
    }

    /// Whether this was not the last that was told about it. From now on it is.
    pub(super) fn is_new(&mut self, about: &'static str, error: &ReconcileError) -> bool {
        let line = format!("{}: {}", error.reason, error.message);
        self.told.insert(about, line.clone()) != Some(line)
    }

    pub(super) fn recovered(&mut self, about: &'static str) {
        if self.told.remove(about).is_some() {
            info!(about, "well again");
        }
    }

    /// Writes the status if it changed, and tells what happened.
    pub(super) async fn publish_status(&mut self) {
        let events = std::mem::take(&mut self.report.events);
        for (warning, reason, message) in events {
            self.event(warning, reason, message).await;
        }
        if self.publication.is_written() {
            self.report.handled = self.request.take().or(self.report.handled.take());
        }
        self.report.left = self.publication.left();
        let status = status::source(&self.report, &self.object, &self.summaries(), self.with.engine.clock.now());
        self.summary.set(self.report.facts(status.state.unwrap_or_default()));
        let status = keep_transition_times(&self.written, to_json(&status));
        if status == self.written {
            return;
        }
        let Ok(own) = self.with.engine.cluster.own() else { return };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        match patch_status(&api, &self.name, &status).await {
            Ok(()) => self.written = status,
            Err(api_error) => {
                // It may be said all the same: whatever comes next is written.
                self.written = Value::Null;
                tracing::debug!("cannot write the status: {}", api_error.message);
            }
        }
    }

    /// How all runtimes are doing, also those that were not told yet what Git wants, or were not seen yet.
    fn summaries(&self) -> BTreeMap<Arc<str>, RuntimeSummary> {
        let mut summaries = self.rollup.all();
        let Some(active) = &self.active else { return summaries };
        let awaited = || RuntimeSummary {
            state: State::Processing,
            message: format!("{} was not looked at yet", active.revision.shown),
            ..RuntimeSummary::default()
        };
        for name in self.publication.changed() {
            summaries.insert(name.clone(), awaited());
        }
        for name in self.builder.names() {
            summaries.entry(name).or_insert_with(awaited);
        }
        summaries
    }

    pub(super) async fn event(&self, warning: bool, reason: Reason, message: String) {
        let Ok(own) = self.with.engine.cluster.own() else { return };
        let at = self.with.engine.clock.now();
        let reference = ObjectReference {
            api_version: Some(format!("{GROUP}/{VERSION}")),
            kind: Some(GitSource::kind(&()).into_owned()),
            name: Some(self.name.to_string()),
            namespace: Some(self.namespace.to_string()),
            uid: self.object.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        event::publish(own, reference, &EventDraft { warning, reason, note: message, at }).await;
    }
}
