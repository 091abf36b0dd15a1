//! How pushes are noticed before the next poll: webhooks, and changes of a repository on this machine.

use std::sync::Arc;

use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_git::{Hook, hook_id, watch_local, webhook_token};
use tokio::task::JoinSet;

use super::Source;

/// What a source listens to. Ends with it.
#[derive(Debug, Default)]
pub(super) struct WebhookRegistration {
    /// The webhook that is registered.
    hook: Option<String>,
    /// The repository that is watched.
    local: Option<String>,
    watch: JoinSet<()>,
}

impl Source {
    /// Listens for pushes as the spec says. The Secret is read each time, so that a changed token counts.
    pub(super) async fn register_webhook(&mut self) -> Result<(), ReconcileError> {
        let url = self.object.spec.url.clone();
        if self.webhook.local.as_ref() != Some(&url) {
            self.webhook.watch.abort_all();
            let wake = self.wake.clone();
            self.webhook.local = Some(url.clone());
            self.webhook.watch.spawn(async move { watch_local(&url, wake).await });
        }
        let Some(webhook) = self.object.spec.webhook.clone() else {
            self.unregister_webhook();
            self.report.webhook_path = None;
            return Ok(());
        };
        let name = &webhook.secret_ref.name;
        let secret = self.secret(Some(name)).await?.and_then(|secret| secret.data).unwrap_or_default();
        let token = webhook_token(&secret)
            .map_err(|error| ReconcileError::terminal(error.reason(), format!("Secret {name}: {error}")))?;
        let id = hook_id(&self.namespace, &self.name, &token);
        if self.webhook.hook.as_ref() != Some(&id) {
            self.unregister_webhook();
            self.webhook.hook = Some(id.clone());
        }
        self.report.webhook_path = Some(format!("/hooks/{id}"));
        self.with.hooks.set(id, Hook { kind: webhook.kind, token, wake: Arc::clone(&self.wake) });
        Ok(())
    }

    /// Takes the webhook away.
    pub(super) fn unregister_webhook(&mut self) {
        if let Some(id) = self.webhook.hook.take() {
            self.with.hooks.remove(&id);
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.unregister_webhook();
    }
}
