//! Hands a revision out to its runtimes, and the source's own status to the cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Resource as _};
use reeve_crds::git_source::SourceDeletion;
use reeve_crds::{GROUP, GitSource, Runtime, State, VERSION};
use serde_json::{Value, json};

use super::Source;
use super::object::is_as;
use super::status::{self, Finding};
use super::workshop::{Changed, Opened};
use crate::FIELD_MANAGER;
use crate::clock::after;
use crate::event::{self, Happening};
use crate::refusal::{Reason, Refusal};
use crate::runtime::{Standing, as_json, put_status, unflipped};

const WRITES_AT_ONCE: usize = 8;
/// What keeps a source until its runtimes are seen to.
const FINALIZER: &str = "reeve.dev/source";

impl Source {
    fn runtimes(&self) -> Result<Api<Runtime>, Finding> {
        let own = self.with.setup.cluster.own();
        let own = own.map_err(|error| Finding::new("Unreachable", reeve_process::error_chain(&error), true))?;
        Ok(Api::namespaced(own, &self.namespace))
    }

    /// Makes the Runtimes what the revision says, and tells their workers what to apply. One that cannot be written
    /// keeps the revision from no other.
    pub(super) async fn hand_out(&mut self, opened: &Opened) -> Result<(), Finding> {
        let api = self.runtimes()?;
        let mut asked = BTreeSet::new();
        for (name, ..) in &opened.changed {
            let is_asked = self.other_named(name).is_none_or(|other| !asked.insert(other));
            // A mistake in Git, unlike all else that may keep a Runtime from being written.
            if !is_asked && let Ok(Some(other)) = self.other_source(name).await {
                return Err(claimed(name, &other));
            }
        }
        let mut left = self.with.runtimes.of_source(&self.namespace, &self.name);
        left.retain(|name| !opened.runtimes.contains(name));
        self.report.unwritten.retain(|name, _| opened.runtimes.contains(name));
        self.write(&api, &opened.changed, &left).await;
        Ok(())
    }

    /// Makes Runtimes anew that somebody deleted although Git has them.
    pub(super) async fn restore(&mut self) {
        let missing = self.workshop.find(|(name, ..)| self.is_missing(name));
        self.write_again(&missing, &[]).await;
        if !self.report.unwritten.is_empty() {
            let soon = after(self.with.setup.clock.now(), self.pause(self.failures.max(1)));
            self.next_poll = self.next_poll.min(soon);
        }
    }

    /// As [`restore`](Self::restore), and writes what could not be written before.
    pub(super) async fn try_again(&mut self) {
        let mut left = self.with.runtimes.of_source(&self.namespace, &self.name);
        left.retain(|name| self.report.unwritten.contains_key(name) && self.workshop.in_force(name).is_none());
        let (workshop, unwritten) = (&self.workshop, &mut self.report.unwritten);
        // Somebody else may have deleted what we could not.
        unwritten.retain(|name, _| left.contains(name) || workshop.in_force(name).is_some());
        let again = self.workshop.find(|(name, ..)| self.report.unwritten.contains_key(name) || self.is_missing(name));
        self.write_again(&again, &left).await;
    }

    fn is_missing(&self, name: &str) -> bool {
        self.with.runtimes.object(&self.namespace, name).is_none()
    }

    async fn write_again(&mut self, again: &[Changed], left: &[Arc<str>]) {
        if self.object.spec.suspend || self.object.metadata.deletion_timestamp.is_some() {
            return;
        }
        let Ok(api) = self.runtimes() else { return };
        let missing: Vec<_> = again.iter().map(|(name, ..)| name).filter(|name| self.is_missing(name)).collect();
        self.write(&api, again, left).await;
        for name in missing.into_iter().filter(|name| !self.report.unwritten.contains_key(*name)) {
            tracing::info!(source = %self.name, runtime = %name, "made anew, since Git has it");
        }
    }

    /// Writes Runtimes and deletes those that are left over, and tells which of them it could not.
    async fn write(&mut self, api: &Api<Runtime>, changed: &[Changed], left: &[Arc<str>]) {
        let suspended = self.object.spec.suspend;
        let mut results = Vec::with_capacity(changed.len() + left.len());
        {
            let work: Vec<_> = changed.iter().map(|changed| self.hand_to(api, changed, suspended)).collect();
            let mut written = stream::iter(work).buffer_unordered(WRITES_AT_ONCE);
            while let Some(result) = written.next().await {
                results.push(result);
            }
        }
        for name in left {
            results.push((name.clone(), self.take_away(api, name).await));
        }
        for (name, result) in results {
            match result {
                Ok(()) => self.report.unwritten.remove(&name),
                Err(finding) => self.report.unwritten.insert(name, finding),
            };
        }
        match self.report.unwritten() {
            Some(finding) => _ = self.tell("runtimes", &finding),
            None => self.recovered("runtimes"),
        }
    }

    async fn hand_to(&self, api: &Api<Runtime>, changed: &Changed, suspended: bool) -> (Arc<str>, Result<(), Finding>) {
        (changed.0.clone(), self.hand_over(api, changed, suspended).await)
    }

    async fn hand_over(&self, api: &Api<Runtime>, changed: &Changed, suspended: bool) -> Result<(), Finding> {
        let (name, desired, object) = changed;
        self.put(api, name, object).await?;
        let is_other = self.report.unwritten.contains_key(name)
            || self.workshop.in_force(name).is_some_and(|before| before.digest != desired.digest);
        let awaited = Standing {
            state: State::Processing,
            message: format!("{} was not looked at yet", desired.revision.shown),
            ..Standing::default()
        };
        if is_other {
            self.rollup.set(name, awaited);
        } else {
            self.rollup.set_first(name, awaited.state, &awaited.message);
        }
        self.with.runtimes.handle(&self.namespace, name).tell(|message| {
            message.desired = Some(desired.clone());
            message.source_suspended = suspended;
        });
        Ok(())
    }

    async fn put(&self, api: &Api<Runtime>, name: &str, object: &Value) -> Result<(), Finding> {
        if let Some(other) = self.other_source(name).await? {
            return Err(claimed(name, &other));
        }
        let there = self.with.runtimes.object(&self.namespace, name);
        if there.as_ref().is_some_and(|there| is_as(there, object)) {
            return Ok(());
        }
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match api.patch(name, &params, &Patch::Apply(object)).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let refusal = Refusal::of(&error);
                let is_going = |there: &Arc<Runtime>| there.metadata.deletion_timestamp.is_some();
                let going = there.filter(is_going).filter(|_| refusal.reason == Reason::Invalid);
                let held_by = going.and_then(|there| there.metadata.finalizers.as_ref().map(|all| all.join(", ")));
                let message = match held_by {
                    Some(held_by) => format!("cannot write Runtime {name}: it is being deleted, and held by {held_by}"),
                    None => format!("cannot write Runtime {name}: {}", refusal.message),
                };
                Err(Finding::new(refusal.reason.as_str(), message, refusal.transient))
            }
        }
    }

    /// The other source that a runtime names, be it there or not.
    fn other_named(&self, name: &str) -> Option<String> {
        let there = self.with.runtimes.object(&self.namespace, name)?;
        there.spec.source_ref.as_ref().map(|source| source.name.clone()).filter(|other| **other != *self.name)
    }

    /// The other source that a runtime follows, if so. One whose source is gone may be taken up by another.
    async fn other_source(&self, name: &str) -> Result<Option<String>, Finding> {
        let (Some(other), Ok(own)) = (self.other_named(name), self.with.setup.cluster.own()) else { return Ok(None) };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        match api.get_opt(&other).await {
            Ok(there) => Ok(there.map(|_| other)),
            Err(error) => {
                let refusal = Refusal::of(&error);
                let message = format!("cannot read GitSource {other}: {}", refusal.message);
                Err(Finding::new(refusal.reason.as_str(), message, refusal.transient))
            }
        }
    }

    /// Its file left Git: what becomes of its objects is for its own policy to say.
    async fn take_away(&self, api: &Api<Runtime>, name: &str) -> Result<(), Finding> {
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => {
                let refusal = Refusal::of(&error);
                let message = format!("cannot delete Runtime {name}: {}", refusal.message);
                Err(Finding::new(refusal.reason.as_str(), message, refusal.transient))
            }
        }
    }

    /// Writes the status if it changed, and tells what happened.
    pub(super) async fn publish_status(&mut self) {
        let events = std::mem::take(&mut self.report.events);
        for (warning, reason, message) in events {
            self.event(warning, &reason, message).await;
        }
        let status = status::source(&self.report, &self.object, &self.rollup.all(), self.with.setup.clock.now());
        self.standing.set(self.report.facts(status.state.unwrap_or_default()));
        let status = unflipped(&self.written, as_json(&status));
        if status == self.written {
            return;
        }
        let Ok(own) = self.with.setup.cluster.own() else { return };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        match put_status(&api, &self.name, &status).await {
            Ok(()) => self.written = status,
            Err(refusal) => {
                // It may be said all the same: whatever comes next is written.
                self.written = Value::Null;
                tracing::debug!(source = %self.name, "cannot write the status: {}", refusal.message);
            }
        }
    }

    pub(super) async fn event(&self, warning: bool, reason: &str, message: String) {
        let Ok(own) = self.with.setup.cluster.own() else { return };
        let at = self.with.setup.clock.now();
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

    /// Makes sure that the source is not gone before its runtimes are seen to.
    pub(super) async fn hold_on(&self) {
        let finalizers = self.object.metadata.finalizers.as_deref().unwrap_or_default();
        let wants = self.object.spec.deletion_policy == SourceDeletion::Delete
            && self.object.metadata.deletion_timestamp.is_none();
        if !wants || finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return;
        }
        let Ok(own) = self.with.setup.cluster.own() else { return };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "GitSource",
            "metadata": { "name": &*self.name, "finalizers": [FINALIZER] },
        });
        let params = PatchParams::apply("reeve-finalizer").force();
        if let Err(error) = api.patch(&self.name, &params, &Patch::Apply(&object)).await {
            tracing::debug!(source = %self.name, "cannot add the finalizer: {}", Refusal::of(&error).message);
        }
    }

    /// The source is being deleted: its runtimes go first, if it says so. True when nothing keeps it.
    pub(super) async fn let_go(&self) -> bool {
        let left = self.with.runtimes.of_source(&self.namespace, &self.name);
        if self.object.spec.deletion_policy == SourceDeletion::Delete && !left.is_empty() {
            let is_going = |runtime: &Arc<Runtime>| runtime.metadata.deletion_timestamp.is_some();
            let is_left =
                |name: &Arc<str>| !self.with.runtimes.object(&self.namespace, name).is_some_and(|it| is_going(&it));
            if let Ok(api) = self.runtimes() {
                for name in left.iter().filter(|name| is_left(name)) {
                    let _ = self.take_away(&api, name).await;
                }
            }
            return false;
        }
        let Ok(own) = self.with.setup.cluster.own() else { return false };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        let finalizers = self.object.metadata.finalizers.iter().flatten();
        let others: Vec<&String> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = json!({ "metadata": { "finalizers": others } });
        api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await.is_ok()
    }
}

/// A runtime follows one source.
fn claimed(name: &str, other: &str) -> Finding {
    let message = format!("Runtime {name} comes from GitSource {other}: rename it in one of the two");
    Finding::new("Conflict", message, false)
}
