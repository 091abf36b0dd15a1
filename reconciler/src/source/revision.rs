//! Reads, checks and renders a revision from its mirror, which also knows what was in force before.

use std::collections::BTreeSet;
use std::sync::Arc;

use reeve_crds::Reason;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::hash;
use reeve_reconciler_git::MirrorError;
use reeve_renderer::tree::Tree;

use super::builder::{BuildError, RenderedRevision, RevisionBuilder};
use super::context::Context;
use super::machine::{ActiveRevision, BuildOrder, Built};
use super::write;

/// Builds a revision as ordered.
pub(super) async fn build(ctx: Context, builder: Arc<RevisionBuilder>, order: BuildOrder) -> Built {
    let kept = is_kept(&ctx, &order).await;
    if order.only_if_kept && !kept {
        let message = "it was not in force here with this url and path, and spec.verify asks for a signature";
        return Built { result: Err(ReconcileError::terminal(Reason::Unsigned, message)), kept };
    }
    let clock = ctx.setup.engine.clock.clone();
    let began = clock.now();
    let result = render(&ctx, builder, order).await;
    ctx.setup.metrics.rendered(since(clock.now(), began));
    let result = match result {
        Ok(rendered) => check_claims(&ctx, &rendered).await.map(|()| rendered),
        Err(error) => Err(error),
    };
    Built { result, kept }
}

/// Has the mirror keep what is in force, which a force-push must not take away.
pub(super) async fn keep_commit(ctx: &Context, active: ActiveRevision) {
    let (mirrors, name) = (ctx.setup.mirrors.clone(), kept_as(ctx, &active.path));
    let kept =
        tokio::task::spawn_blocking(move || mirrors.keep_commit(&active.url, &name, &active.revision.commit)).await;
    if let Ok(Err(error)) = kept {
        tracing::debug!("cannot keep the commit: {}", reeve_process::error_chain(&error));
    }
}

/// Under which name what is in force is kept. The path is part of it: another one makes another fleet of a commit.
fn kept_as(ctx: &Context, path: &str) -> String {
    hash::of(&serde_json::json!([&*ctx.namespace, &*ctx.name, path]))
}

/// Whether the mirror says that a revision was in force here with this url and path.
async fn is_kept(ctx: &Context, order: &BuildOrder) -> bool {
    let (mirrors, name) = (ctx.setup.mirrors.clone(), kept_as(ctx, &order.path));
    let (url, commit) = (order.url.clone(), order.revision.commit.clone());
    tokio::task::spawn_blocking(move || mirrors.keeps(&url, &name, &commit)).await.unwrap_or(false)
}

async fn render(
    ctx: &Context,
    builder: Arc<RevisionBuilder>,
    order: BuildOrder,
) -> Result<RenderedRevision, ReconcileError> {
    let mirrors = ctx.setup.mirrors.clone();
    let (namespace, source) = (ctx.namespace.clone(), ctx.name.clone());
    let rendered = tokio::task::spawn_blocking(move || {
        let unreadable =
            |error: MirrorError| ReconcileError::terminal(error.reason(), reeve_process::error_chain(&error));
        let tree = mirrors.tree(&order.url, &order.revision.commit, &order.path).map_err(unreadable)?;
        let before = order.active.as_ref();
        let before = before.and_then(|it| mirrors.tree(&it.url, &it.revision.commit, &it.path).ok());
        let before = before.as_ref().map(|tree| tree as &dyn Tree);
        let built = builder.build(&tree, before, &order.in_force, &order.revision, (&namespace, &source));
        built.map_err(|error| refusal(&error))
    });
    rendered.await.unwrap_or_else(|_| Err(ReconcileError::transient(Reason::Unreadable, "the render broke off")))
}

fn refusal(error: &BuildError) -> ReconcileError {
    match error {
        BuildError::Refused { findings } => {
            let errors = findings.iter().filter(|error| error.is_error());
            // A finding of another kind says more of what to do about the commit.
            let reason = if errors.clone().all(|error| error.code == "released-chart") {
                Reason::ReleasedChartChanged
            } else {
                Reason::Invalid
            };
            ReconcileError { count: errors.count(), ..ReconcileError::terminal(reason, error.to_string()) }
        }
        BuildError::Read(_) => ReconcileError::transient(Reason::Unreadable, reeve_process::error_chain(error)),
    }
}

/// A revision that has a runtime of another source is a mistake in Git, unlike all else that may keep a Runtime from
/// being written.
async fn check_claims(ctx: &Context, rendered: &RenderedRevision) -> Result<(), ReconcileError> {
    let mut asked = BTreeSet::new();
    for (name, ..) in &rendered.changed {
        let is_asked = write::other_named(ctx, name).is_none_or(|other| !asked.insert(other));
        if !is_asked && let Ok(Some(other)) = write::other_source(ctx, name).await {
            return Err(write::claimed(name, &other));
        }
    }
    Ok(())
}
