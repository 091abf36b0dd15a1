//! What becomes of a source that is deleted: its runtimes go first, if it says so.

use std::sync::Arc;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use reeve_crds::git_source::SourceDeletion;
use reeve_crds::{GROUP, GitSource, Runtime, VERSION};
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::error::ReconcileError;
use serde_json::json;

use super::Source;

/// What keeps a source until its runtimes are seen to.
const FINALIZER: &str = "reeve.dev/source";

impl Source {
    /// Makes sure that the source is not gone before its runtimes are seen to.
    pub(super) async fn ensure_finalizer(&self) {
        let finalizers = self.object.metadata.finalizers.as_deref().unwrap_or_default();
        let wants = self.object.spec.deletion_policy == SourceDeletion::Delete
            && self.object.metadata.deletion_timestamp.is_none();
        if !wants || finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return;
        }
        let Ok(own) = self.with.engine.cluster.own() else { return };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "GitSource",
            "metadata": { "name": &*self.name, "finalizers": [FINALIZER] },
        });
        let params = PatchParams::apply("reeve-finalizer").force();
        if let Err(error) = api.patch(&self.name, &params, &Patch::Apply(&object)).await {
            tracing::debug!("cannot add the finalizer: {}", ApiError::of(&error).message);
        }
    }

    /// The source is being deleted: its runtimes go first, if it says so. True when nothing keeps it.
    pub(super) async fn finalize(&self) -> bool {
        let left = self.with.runtimes.of_source(&self.namespace, &self.name);
        if self.object.spec.deletion_policy == SourceDeletion::Delete && !left.is_empty() {
            let is_going = |runtime: &Arc<Runtime>| runtime.metadata.deletion_timestamp.is_some();
            let is_left =
                |name: &Arc<str>| !self.with.runtimes.object(&self.namespace, name).is_some_and(|it| is_going(&it));
            if let Ok(api) = self.runtimes() {
                for name in left.iter().filter(|name| is_left(name)) {
                    let _ = self.remove_runtime(&api, name).await;
                }
            }
            return false;
        }
        let Ok(own) = self.with.engine.cluster.own() else { return false };
        let api: Api<GitSource> = Api::namespaced(own, &self.namespace);
        let finalizers = self.object.metadata.finalizers.iter().flatten();
        let others: Vec<&String> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
        let patch = json!({ "metadata": { "finalizers": others } });
        api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await.is_ok()
    }

    /// The source goes: what becomes of a runtime's objects is for its own policy to say.
    async fn remove_runtime(&self, api: &Api<Runtime>, name: &str) -> Result<(), ReconcileError> {
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => {
                let api_error = ApiError::of(&error);
                let message = format!("cannot delete Runtime {name}: {}", api_error.message);
                Err(ReconcileError::of_request(message, api_error))
            }
        }
    }
}
