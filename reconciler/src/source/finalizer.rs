//! What keeps a source until its runtimes are seen to.

use kube::api::{Patch, PatchParams};
use reeve_crds::{GROUP, GitSource, VERSION};
use reeve_reconciler_engine::api_error::ApiError;
use serde_json::json;

use super::context::Context;

/// What keeps a source until its runtimes are seen to.
pub(super) const FINALIZER: &str = "reeve.dev/source";

/// Makes sure that the source is not gone before its runtimes are seen to.
pub(super) async fn ensure_finalizer(ctx: &Context) {
    let Ok(api) = ctx.sources() else { return };
    let object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "GitSource",
        "metadata": { "name": &*ctx.name, "finalizers": [FINALIZER] },
    });
    let params = PatchParams::apply("reeve-finalizer").force();
    if let Err(error) = api.patch(&ctx.name, &params, &Patch::Apply(&object)).await {
        tracing::debug!("cannot add the finalizer: {}", ApiError::of(&error).message);
    }
}

/// Lets the source go. True if nothing of ours keeps it any more.
pub(super) async fn remove_finalizer(ctx: &Context, object: &GitSource) -> bool {
    let Ok(api) = ctx.sources() else { return false };
    let finalizers = object.metadata.finalizers.iter().flatten();
    let others: Vec<&String> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
    let patch = json!({ "metadata": { "finalizers": others } });
    api.patch(&ctx.name, &PatchParams::default(), &Patch::Merge(&patch)).await.is_ok()
}
