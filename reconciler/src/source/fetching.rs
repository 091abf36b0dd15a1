//! Asks the repository, with the credentials that there are at that moment, and whether what it has is signed.

use reeve_crds::{GitSource, Reason};
use reeve_process::secret::scrub;
use reeve_reconciler_engine::clock::since;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_git::{Credentials, FetchError, FetchRequest, Fetched, Proxy};

use super::context::Context;
use super::machine::{Fetch, FetchOrder};
use super::trust;

/// What the repository has now, with what the source's Secrets let us in with.
pub(super) async fn fetch(ctx: Context, order: FetchOrder) -> Fetch {
    let result = match fetch_revision(&ctx, &order).await {
        Ok(fetched) => {
            let verified = trust::verify(&ctx, &order.object, &fetched).await;
            Ok((fetched, verified))
        }
        Err(error) => Err(error),
    };
    Fetch { result }
}

async fn fetch_revision(ctx: &Context, order: &FetchOrder) -> Result<Fetched, ReconcileError> {
    let spec = &order.object.spec;
    let request = FetchRequest {
        url: spec.url.clone(),
        reference: spec.reference.clone(),
        credentials: credentials(ctx, &order.object).await?,
        proxy: proxy(ctx, &order.object).await?,
        timeout: spec.timeout.into(),
        last_seen: order.last_seen.clone(),
    };
    let clock = &ctx.setup.engine.clock;
    let began = clock.now();
    let fetched = ctx.setup.mirrors.fetch(&request).await;
    let outcome = fetched.as_ref().map_or_else(FetchError::reason, |_| Reason::Succeeded);
    ctx.setup.metrics.git.fetched(outcome, since(clock.now(), began));
    fetched
        .map_err(|error| ReconcileError::new(error.reason(), scrub(&reeve_process::error_chain(&error)).into_owned()))
}

async fn credentials(ctx: &Context, object: &GitSource) -> Result<Credentials, ReconcileError> {
    let name = object.spec.secret_ref.as_ref().map(|secret| secret.name.as_str());
    let Some(secret) = ctx.secret(name).await? else { return Ok(Credentials::default()) };
    Credentials::from_secret(&secret.data.unwrap_or_default(), &object.spec.url)
        .map_err(|error| ReconcileError::terminal(error.reason(), error.to_string()))
}

async fn proxy(ctx: &Context, object: &GitSource) -> Result<Option<Proxy>, ReconcileError> {
    let name = object.spec.proxy_secret_ref.as_ref().map(|secret| secret.name.as_str());
    let Some(secret) = ctx.secret(name).await? else { return Ok(None) };
    let proxy = Proxy::from_secret(&secret.data.unwrap_or_default());
    proxy.map(Some).map_err(|error| ReconcileError::terminal(error.reason(), error.to_string()))
}
