//! What is told of a source: its status, a line and an event for each changed failure, and news for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Api, Resource as _};
use reeve_crds::{GROUP, GitSource, State, VERSION};
use serde_json::Value;
use tracing::{info, warn};

use super::Source;
use super::status::{self, Finding};
use reeve_reconciler_engine::conditions::keep_transition_times;
use reeve_reconciler_engine::desired::Revision;
use reeve_reconciler_engine::event::{self, Happening};
use reeve_reconciler_engine::news::News;
use reeve_reconciler_engine::patch::{patch_status, to_json};
use reeve_reconciler_engine::rollup::Standing;

/// Failures in a row after which people are told.
const REPEATED: u32 = 3;

impl Source {
    /// There is no new revision to be had; the last good one stays in force.
    pub(super) async fn unfetched(&mut self, finding: Finding) {
        self.failures += 1;
        self.tell("fetch", &finding);
        self.report.unfetched(finding, self.with.engine.clock.now());
        self.fall_back().await;
    }

    /// There is a new revision that cannot be used; the last good one stays in force.
    pub(super) async fn refused(&mut self, revision: &Revision, finding: Finding) {
        let message = format!("{} is refused: {}", revision.shown, finding.message);
        self.tell("revision", &Finding::new(finding.reason, message, false));
        let before = self.report.rejected.as_ref().and_then(|rejected| rejected.commit.as_deref());
        // After a restart it is looked at again, which is no news.
        if before != Some(&*revision.commit) {
            self.news(News::Held { revision: revision.shown.to_string(), message: finding.message.clone() });
        }
        self.report.reject(revision, finding, self.with.engine.clock.now());
        self.fall_back().await;
    }

    /// Tells people once that it fails again and again, and once that it does no longer.
    pub(super) fn tell_people(&mut self) {
        let unread = self.report.trouble().map(|finding| {
            let last_good = self.report.revision.as_deref().unwrap_or("nothing yet");
            let message = format!("{} (last good: {last_good})", finding.message);
            (finding.reason, message, "the repository is read again")
        });
        let unwritten = || self.report.unwritten().map(|it| (it.reason, it.message, "all Runtimes are written again"));
        let news = match (unread.or_else(unwritten), self.failing) {
            (Some((reason, message, well)), None) if self.failures.max(self.writing.failures) >= REPEATED => {
                self.failing = Some(well);
                News::Failed { reason: reason.to_owned(), message }
            }
            (None, Some(well)) => {
                self.failing = None;
                News::Recovered { message: well.to_owned() }
            }
            (Some(_), _) | (None, None) => return,
        };
        self.news(news);
    }

    pub(super) fn news(&self, news: News) {
        self.with.engine.telling.tell_of_source(&self.namespace, &self.name, news);
    }

    /// One line and one event per changed failure. True if it was told now.
    pub(super) fn tell(&mut self, about: &'static str, finding: &Finding) -> bool {
        let is_news = self.is_news(about, finding);
        if is_news {
            warn!(source = %self.name, reason = finding.reason, "{}", finding.message);
            self.report.events.push((true, finding.reason.to_owned(), finding.message.clone()));
        }
        is_news
    }

    /// Whether this was not the last that was told about it. From now on it is.
    pub(super) fn is_news(&mut self, about: &'static str, finding: &Finding) -> bool {
        let line = format!("{}: {}", finding.reason, finding.message);
        self.told.insert(about, line.clone()) != Some(line)
    }

    pub(super) fn recovered(&mut self, about: &'static str) {
        if self.told.remove(about).is_some() {
            info!(source = %self.name, about, "well again");
        }
    }

    /// Writes the status if it changed, and tells what happened.
    pub(super) async fn publish_status(&mut self) {
        let events = std::mem::take(&mut self.report.events);
        for (warning, reason, message) in events {
            self.event(warning, &reason, message).await;
        }
        if self.publication.is_written() {
            self.report.handled = self.request.take().or(self.report.handled.take());
        }
        self.report.left = self.publication.left();
        let status = status::source(&self.report, &self.object, &self.standings(), self.with.engine.clock.now());
        self.standing.set(self.report.facts(status.state.unwrap_or_default()));
        let status = keep_transition_times(&self.written, to_json(&status));
        if status == self.written {
            return;
        }
        let Ok(own) = self.with.engine.cluster.own() else { return };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        match patch_status(&api, &self.name, &status).await {
            Ok(()) => self.written = status,
            Err(refusal) => {
                // It may be said all the same: whatever comes next is written.
                self.written = Value::Null;
                tracing::debug!(source = %self.name, "cannot write the status: {}", refusal.message);
            }
        }
    }

    /// How all runtimes are doing, also those that were not told yet what Git wants, or were not seen yet.
    fn standings(&self) -> BTreeMap<Arc<str>, Standing> {
        let mut standings = self.rollup.all();
        let Some(in_force) = &self.in_force else { return standings };
        let awaited = || Standing {
            state: State::Processing,
            message: format!("{} was not looked at yet", in_force.revision.shown),
            ..Standing::default()
        };
        for name in self.publication.changed() {
            standings.insert(name.clone(), awaited());
        }
        for name in self.workshop.names() {
            standings.entry(name).or_insert_with(awaited);
        }
        standings
    }

    pub(super) async fn event(&self, warning: bool, reason: &str, message: String) {
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
        event::publish(own, reference, &Happening { warning, reason: reason.to_owned(), note: message, at }).await;
    }
}
