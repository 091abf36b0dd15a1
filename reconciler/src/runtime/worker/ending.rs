//! How a runtime ends, and how the work on it does.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{Patch, PatchParams};
use reeve_crds::Runtime;
use reeve_crds::runtime::policy::DeletionPolicy;
use serde_json::json;

use super::Worker;
use crate::desired::{Desired, Revision};
use crate::refusal::Refusal;
use crate::runtime::Trouble;

/// What keeps a Runtime until its objects are seen to.
pub const FINALIZER: &str = "reeve.dev/runtime";
/// How long writes under way may take when the process stops.
const LAST_WRITES: Duration = Duration::from_secs(10);

impl Worker {
    /// The Runtime is being deleted: its objects go first, if its policy says so.
    pub(super) fn dissolve(&mut self) {
        if std::mem::replace(&mut self.dissolving, true) {
            return;
        }
        let objects = self.ctx.keeper.read(|ledger| ledger.iter().count());
        let fate = match self.ctx.spec.deletion_policy {
            DeletionPolicy::Orphan => "stay",
            DeletionPolicy::Delete => "are deleted",
        };
        tracing::info!(runtime = %self.ctx.runtime, objects, "the Runtime goes; its objects {fate}");
        self.outlet.event(None, false, "Deleting", &format!("the Runtime goes; its {objects} objects {fate}"));
        match self.ctx.spec.deletion_policy {
            DeletionPolicy::Orphan => {
                self.tasks.abort_all();
                self.running.clear();
                self.records.clear();
            }
            DeletionPolicy::Delete => {
                let nothing = Desired { revision: Revision::default(), digest: "".into(), components: Vec::new() };
                self.work_towards(&Arc::new(nothing));
            }
        }
    }

    /// Whether nothing is left of a Runtime that is being deleted.
    pub(super) fn is_gone(&self) -> bool {
        self.dissolving && self.records.is_empty()
    }

    /// Lets the Runtime go. Its components and its inventory go with it, since it owns them.
    pub(super) async fn let_go(&self) -> Result<(), Trouble> {
        self.ctx.keeper.flush().await?;
        self.outlet.flush().await;
        let own = self
            .setup
            .cluster
            .own()
            .map_err(|error| Trouble::passing("Unreachable", reeve_process::error_chain(&error)))?;
        let api: Api<Runtime> = Api::namespaced(own, self.object.metadata.namespace.as_deref().unwrap_or_default());
        match release(&api, &self.ctx.runtime).await {
            Ok(()) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => {
                let refusal = Refusal::of(&error);
                let message = format!("cannot let the runtime go: {}", refusal.message);
                Err(Trouble::passing(refusal.reason.as_str(), message))
            }
        }
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
            let _ = self.ctx.keeper.flush().await;
            self.outlet.flush().await;
        })
        .await;
    }
}

/// Takes our finalizer away. The object is read first, since our own last status moved its version.
pub(crate) async fn release(api: &Api<Runtime>, name: &str) -> Result<(), kube::Error> {
    let metadata = api.get_metadata(name).await?.metadata;
    let finalizers = metadata.finalizers.iter().flatten();
    let left: Vec<&String> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
    let patch = json!({ "metadata": { "finalizers": left, "resourceVersion": metadata.resource_version } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.map(drop)
}
