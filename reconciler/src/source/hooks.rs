//! How pushes are noticed before the next poll: webhooks, and changes of a repository on this machine.

use std::sync::Arc;

use reeve_crds::GitSource;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_git::{Hook, Hooks, hook_id, watch_local, webhook_token};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::context::Context;

/// What a source listens to. Ends with it.
#[derive(Debug)]
pub(super) struct WebhookRegistration {
    hooks: Hooks,
    /// Rings when somebody pushed.
    wake: Arc<Notify>,
    /// The webhook that is registered.
    hook: Option<String>,
    /// The repository that is watched.
    local: Option<String>,
    watch: JoinSet<()>,
}

impl WebhookRegistration {
    pub(super) fn new(hooks: Hooks) -> Self {
        Self { hooks, wake: Arc::default(), hook: None, local: None, watch: JoinSet::new() }
    }

    /// What rings when somebody pushed.
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Listens for pushes as the spec says, and says under which path. The Secret is read each time, so that a changed
    /// token counts.
    pub(super) async fn register(
        &mut self,
        ctx: &Context,
        object: &GitSource,
    ) -> Result<Option<String>, ReconcileError> {
        let url = object.spec.url.clone();
        if self.local.as_ref() != Some(&url) {
            self.watch.abort_all();
            let wake = self.wake.clone();
            self.local = Some(url.clone());
            self.watch.spawn(async move { watch_local(&url, wake).await });
        }
        let Some(webhook) = &object.spec.webhook else {
            self.unregister();
            return Ok(None);
        };
        let name = &webhook.secret_ref.name;
        let secret = ctx.secret(Some(name)).await?.and_then(|secret| secret.data).unwrap_or_default();
        let token = webhook_token(&secret)
            .map_err(|error| ReconcileError::terminal(error.reason(), format!("Secret {name}: {error}")))?;
        let id = hook_id(&ctx.namespace, &ctx.name, &token);
        if self.hook.as_ref() != Some(&id) {
            self.unregister();
            self.hook = Some(id.clone());
        }
        let path = format!("/hooks/{id}");
        self.hooks.set(id, Hook { kind: webhook.kind, token, wake: self.wake.clone() });
        Ok(Some(path))
    }

    /// Takes the webhook away.
    fn unregister(&mut self) {
        if let Some(id) = self.hook.take() {
            self.hooks.remove(&id);
        }
    }
}

impl Drop for WebhookRegistration {
    fn drop(&mut self) {
        self.unregister();
    }
}
