//! How a runtime ends, and how the work on it does.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use reeve_crds::Reason;
use reeve_crds::Runtime;
use reeve_crds::runtime::policy::DeletionPolicy;
use serde_json::json;

use super::Worker;
use crate::api_error::ApiError;
use crate::desired::{Desired, Revision};
use crate::error::ReconcileError;

/// What keeps a Runtime until its objects are seen to.
pub const FINALIZER: &str = "reeve.dev/runtime";
/// How long writes under way may take when the process stops.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// A runtime that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    why: Departure,
    policy: DeletionPolicy,
}

/// Why a runtime goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// Its file left Git. The Runtime is deleted when nothing is left of it, and stays if Git wants it again before.
    Removed,
    /// Somebody deleted the Runtime, which cannot be taken back.
    Deleted,
}

impl Worker {
    /// The runtime goes: its objects first, if its policy says so.
    pub(super) fn leave(&mut self, why: Departure) {
        let policy = self.ctx.spec.deletion_policy;
        let leaving = Leaving { why, policy };
        if self.leaving.replace(leaving) == Some(leaving) {
            return;
        }
        let objects = self.ctx.inventory.read(|inventory| inventory.iter().count());
        let cause = match why {
            Departure::Removed => "its file left Git",
            Departure::Deleted => "the Runtime goes",
        };
        let fate = match policy {
            DeletionPolicy::Orphan => "stay",
            DeletionPolicy::Delete => "are deleted",
        };
        tracing::info!(runtime = %self.ctx.runtime, objects, "{cause}; its objects {fate}");
        self.status_writer.event(None, false, Reason::Deleting, &format!("{cause}; its {objects} objects {fate}"));
        match policy {
            DeletionPolicy::Orphan => {
                self.tasks.abort_all();
                self.running.clear();
                self.components.clear();
            }
            DeletionPolicy::Delete => {
                let nothing = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
                self.assigned = None;
                self.reconcile_towards(&Arc::new(nothing));
            }
        }
    }

    /// Stops taking away a runtime whose file left Git, until it is known what Git wants of it now.
    pub(super) fn pause_leaving(&mut self) {
        if self.leaving.take_if(|leaving| leaving.why == Departure::Removed).is_none() {
            return;
        }
        self.assigned = None;
        self.desired = None;
        let names: Vec<Arc<str>> = self.components.keys().cloned().collect();
        for name in &names {
            self.begin(name);
        }
    }

    /// Whether nothing is left of a runtime that goes.
    pub(super) fn is_gone(&self) -> bool {
        self.components.is_empty()
            && self.leaving.is_some_and(|leaving| match leaving.why {
                Departure::Removed => !self.suspended,
                Departure::Deleted => true,
            })
    }

    /// Deletes the Runtime unless that was done, and lets it go. Its components and its inventory go with it, since it
    /// owns them.
    pub(super) async fn finalize(&self) -> Result<(), ReconcileError> {
        self.ctx.inventory.flush_last().await?;
        self.status_writer.flush().await;
        let own = self
            .setup
            .cluster
            .own()
            .map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))?;
        let api: Api<Runtime> = Api::namespaced(own, self.object.metadata.namespace.as_deref().unwrap_or_default());
        let name = &*self.ctx.runtime;
        if self.leaving.is_some_and(|leaving| leaving.why == Departure::Removed) {
            let preconditions = Preconditions { uid: self.object.metadata.uid.clone(), resource_version: None };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            let deleted = api.delete(name, &params).await.map(drop);
            unless_gone(deleted, || format!("cannot delete Runtime {name}"))?;
        }
        unless_gone(remove_finalizer(&api, name).await, || format!("cannot let Runtime {name} go"))
    }

    /// Lets writes under way end, begins nothing more, waits for nothing in the cluster, and stores what is known.
    pub(super) async fn stop(&mut self) {
        self.ctx.budget.close();
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WRITES, rest).await.is_err() {
            // What was written is in the books.
            tracing::warn!(runtime = %self.ctx.runtime, components = self.tasks.len(), "work under way did not end in time and is given up");
        }
        self.tasks.abort_all();
        let _ = tokio::time::timeout(LAST_WRITES, async {
            let _ = self.ctx.inventory.flush().await;
            self.status_writer.flush().await;
        })
        .await;
    }
}

/// What is gone needs no more to go.
fn unless_gone(result: Result<(), kube::Error>, doing: impl Fn() -> String) -> Result<(), ReconcileError> {
    match result {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => {
            let api_error = ApiError::of(&error);
            Err(ReconcileError::transient(api_error.reason, format!("{}: {}", doing(), api_error.message)))
        }
    }
}

/// Takes our finalizer away. The object is read first, since our own last status moved its version.
async fn remove_finalizer(api: &Api<Runtime>, name: &str) -> Result<(), kube::Error> {
    let metadata = api.get_metadata(name).await?.metadata;
    let finalizers = metadata.finalizers.iter().flatten();
    let left: Vec<&String> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
    let patch = json!({ "metadata": { "finalizers": left, "resourceVersion": metadata.resource_version } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.map(drop)
}
