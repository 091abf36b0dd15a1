//! Whether a revision is signed as the spec asks, by keys that are trusted at that moment.
//!
//! What is not trusted is never taken up. What is in force stays so, also when its key is trusted no more: to take a
//! running system away is no answer to a doubt.

use reeve_crds::git_source::Verify;
use reeve_crds::{GitSource, Reason};
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_git::{Fetched, MirrorError, TrustedKeys};

use super::context::Context;
use super::machine::{Distrust, Verified};

/// By whom what was fetched is signed, if it has to be.
pub(super) async fn verify(ctx: &Context, object: &GitSource, fetched: &Fetched) -> Verified {
    let Some(Verify { mode, secret_ref }) = object.spec.verify.clone() else { return Ok(None) };
    let name = secret_ref.name;
    let secret = ctx.secret(Some(&name)).await.map_err(Distrust::Keys)?;
    let data = secret.and_then(|secret| secret.data).unwrap_or_default();
    let (mirrors, url, fetched) = (ctx.setup.mirrors.clone(), object.spec.url.clone(), fetched.clone());
    let now = ctx.setup.engine.clock.now();
    let checked = tokio::task::spawn_blocking(move || {
        let keys = TrustedKeys::from_secret(&data).map_err(|error| {
            let message = format!("Secret {name} of spec.verify {error}");
            Distrust::Keys(ReconcileError::terminal(error.reason(), message))
        })?;
        let objects = mirrors.signed_objects(&url, &fetched).map_err(|error| unreadable(&error))?;
        let signed_by = keys.check(mode, &objects, now);
        signed_by.map_err(|error| Distrust::Revision(ReconcileError::terminal(error.reason(), error.to_string())))
    });
    let signed_by = checked.await.unwrap_or_else(|_| Err(broken_off()))?;
    Ok(Some(signed_by.to_string()))
}

/// No signature may break us; one that does is not one to trust.
fn broken_off() -> Distrust {
    let message = "the check of its signature broke off: report it, with the log";
    Distrust::Revision(ReconcileError::terminal(Reason::BadSignature, message))
}

fn unreadable(error: &MirrorError) -> Distrust {
    let message = reeve_process::error_chain(error);
    match error {
        MirrorError::TooLarge { .. } => Distrust::Revision(ReconcileError::terminal(error.reason(), message)),
        MirrorError::Read(_) | MirrorError::NoFolder { .. } | MirrorError::Keep { .. } | MirrorError::Folder { .. } => {
            Distrust::Passing(ReconcileError::transient(error.reason(), message))
        }
    }
}
