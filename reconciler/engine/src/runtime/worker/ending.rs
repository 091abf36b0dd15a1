//! How a runtime ends, and how the work on it does.

use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use reeve_crds::Runtime;
use serde_json::json;

use super::{End, Worker, own_client, stores};
use crate::api_error::ApiError;
use crate::error::ReconcileError;
use crate::inventory::Inventory;

/// What keeps a Runtime until its objects are seen to.
pub const FINALIZER: &str = "reeve.dev/runtime";
/// How long writes under way may take when the process stops.
const LAST_WRITES: Duration = Duration::from_secs(10);

impl Worker {
    /// Deletes the Runtime unless that was done, and lets it go. Its components go with it, since it owns them; its
    /// inventory, of which nothing is needed any more, goes before it. A runtime that leaves a cluster for another one
    /// loses its inventory alone.
    pub(super) async fn finalize(&self, delete: bool) -> Result<End, ReconcileError> {
        self.ctx.inventory.flush_last().await?;
        self.status_writer.flush().await;
        let object = self.machine.object();
        let api: Api<Runtime> =
            Api::namespaced(own_client(&self.setup.targets.home.cluster)?, self.ctx.owner.namespace());
        let name = &*self.ctx.runtime;
        let is_former = self.setup.targets.is_former();
        if delete && !is_former {
            let preconditions = Preconditions { uid: object.metadata.uid.clone(), resource_version: None };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            let deleted = api.delete(name, &params).await.map(drop);
            unless_gone(deleted, || format!("cannot delete Runtime {name}"))?;
        }
        let stores = stores(&self.setup.targets, self.ctx.owner.namespace())?;
        for (target, page) in self.ctx.inventory.read(Inventory::stored_pages) {
            let deleted = stores.of(target).delete(&page, &DeleteParams::default()).await.map(drop);
            unless_gone(deleted, || format!("cannot delete the inventory page {page}"))?;
        }
        if is_former {
            return Ok(End::Withdrawn);
        }
        unless_gone(remove_finalizer(&api, name).await, || format!("cannot let Runtime {name} go"))?;
        Ok(End::Gone)
    }

    /// Lets writes under way end, begins nothing more, waits for nothing in the cluster, and stores what is known.
    pub(super) async fn stop(&mut self) {
        self.ctx.budget.close();
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WRITES, rest).await.is_err() {
            // What was written is in the books.
            tracing::warn!(components = self.tasks.len(), "work under way did not end in time and is given up");
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
