//! Writes one Runtime, and tells its worker what Git wants of it.

use std::sync::Arc;

use kube::Api;
use kube::api::{Patch, PatchParams};
use reeve_crds::Reason;
use reeve_crds::{GitSource, Runtime, State};
use reeve_reconciler_engine::FIELD_MANAGER;
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::RuntimeSummary;
use reeve_reconciler_engine::runtime::{DesiredState, Role};
use serde_json::Value;

use super::Source;
use super::builder::{Changed, RenderedRevision};
use super::object::is_as;

impl Source {
    pub(super) fn runtimes(&self) -> Result<Api<Runtime>, ReconcileError> {
        let own = self.with.engine.cluster.own();
        let own =
            own.map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))?;
        Ok(Api::namespaced(own, &self.namespace))
    }

    /// A revision that has a runtime of another source is a mistake in Git, unlike all else that may keep a Runtime from
    /// being written.
    pub(super) async fn check_claims(&self, rendered: &RenderedRevision) -> Result<(), ReconcileError> {
        let mut asked = std::collections::BTreeSet::new();
        for (name, ..) in &rendered.changed {
            let is_asked = self.other_named(name).is_none_or(|other| !asked.insert(other));
            if !is_asked && let Ok(Some(other)) = self.other_source(name).await {
                return Err(claimed(name, &other));
            }
        }
        Ok(())
    }

    pub(super) async fn write_runtime(&self, changed: Changed) -> (Arc<str>, Result<(), ReconcileError>) {
        let written = match self.runtimes() {
            Ok(api) => self.apply_runtime(&api, &changed.0, &changed.2).await,
            Err(error) => Err(error),
        };
        let told = written.map(|written| self.send_desired(&changed, written.map(Arc::new).as_ref()));
        (changed.0, told)
    }

    fn send_desired(&self, (name, desired, _): &Changed, written: Option<&Arc<Runtime>>) {
        let awaited = RuntimeSummary {
            state: State::Processing,
            message: format!("{} was not looked at yet", desired.revision.shown),
            ..RuntimeSummary::default()
        };
        self.with.runtimes.update_message(&self.namespace, name, &mut |message| {
            let is_other = match &message.desired {
                DesiredState::Present(before) => before.digest != desired.digest,
                DesiredState::Absent => true,
                DesiredState::Unknown => self.report.unwritten.contains_key(name),
            };
            if is_other {
                // Before the worker hears of it, which then knows better.
                self.rollup.set(name, awaited.clone());
            }
            let is_new = is_other || matches!(message.desired, DesiredState::Unknown);
            if let Some(written) = written {
                // What Git wants is for the Runtime as it is now, which the worker may not have seen yet.
                message.set_object(written.clone());
            }
            message.desired = DesiredState::Present(desired.clone());
            message.source_suspended = false;
            if is_new && Role::of(message) != Some(Role::Leave) {
                self.rollup.sending(name);
            }
            true
        });
    }

    /// Its file left Git. Its worker takes its objects away, if its policy says so, and deletes the Runtime.
    pub(super) fn send_removal(&self, name: &Arc<str>) {
        tracing::info!(runtime = %name, "its file left Git");
        self.with.runtimes.update_message(&self.namespace, name, &mut |message| {
            message.source_suspended = false;
            !std::mem::replace(&mut message.desired, DesiredState::Absent).is_absent()
        });
    }

    /// Nobody removes it until it is told again what Git wants of it.
    pub(super) fn hold_removal(&self, name: &Arc<str>) {
        self.with.runtimes.update_message(&self.namespace, name, &mut |message| {
            let is_held = message.desired.is_absent();
            if is_held {
                message.desired = DesiredState::Unknown;
            }
            is_held
        });
    }

    /// Writes a Runtime, unless it is so. What was written, if so.
    async fn apply_runtime(
        &self,
        api: &Api<Runtime>,
        name: &str,
        object: &Value,
    ) -> Result<Option<Runtime>, ReconcileError> {
        if let Some(other) = self.other_source(name).await? {
            return Err(claimed(name, &other));
        }
        let there = self.with.runtimes.object(&self.namespace, name);
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
    fn other_named(&self, name: &str) -> Option<String> {
        let there = self.with.runtimes.object(&self.namespace, name)?;
        there.spec.source_ref.as_ref().map(|source| source.name.clone()).filter(|other| **other != *self.name)
    }

    /// The other source that a runtime follows, if so. One whose source is gone may be taken up by another.
    async fn other_source(&self, name: &str) -> Result<Option<String>, ReconcileError> {
        let (Some(other), Ok(own)) = (self.other_named(name), self.with.engine.cluster.own()) else { return Ok(None) };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        match api.get_opt(&other).await {
            Ok(there) => Ok(there.map(|_| other)),
            Err(error) => {
                let api_error = ApiError::of(&error);
                let message = format!("cannot read GitSource {other}: {}", api_error.message);
                Err(ReconcileError::of_request(message, api_error))
            }
        }
    }
}

/// A runtime follows one source.
fn claimed(name: &str, other: &str) -> ReconcileError {
    let message = format!("Runtime {name} comes from GitSource {other}: rename it in one of the two");
    ReconcileError::terminal(Reason::Conflict, message)
}
