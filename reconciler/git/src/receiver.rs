//! The receiver of webhooks: `POST /hooks/<id>`, each with a body of bounded size.
//!
//! A genuine call wakes its source and does nothing else, so a call that is sent twice is harmless. Whoever does not
//! know a token cannot tell a hook that exists from one that does not. A Service in front of several replicas may choose any
//! of them, and only the one that leads knows the hooks: the others hand a call over to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use reeve_crds::git_source::WebhookType;
use reeve_process::Gate;
use reeve_process::secret::Secret;
use reeve_process::server::Server;
use tokio::sync::Notify;

use crate::metrics::Metrics;

mod answer;
mod handover;
#[cfg(test)]
mod tests;

use answer::answer;

/// What a genuine call is known by, and whom it wakes.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Whose form the call has.
    pub kind: WebhookType,
    /// What signs it, or is sent with it.
    pub token: Secret<String>,
    /// Whom to wake.
    pub wake: Arc<Notify>,
}

/// The hooks that there are. Cheap to clone; all clones are the same table.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    table: Arc<RwLock<BTreeMap<String, Hook>>>,
}

impl Hooks {
    /// Adds a hook, or changes it.
    pub fn set(&self, id: impl Into<String>, hook: Hook) {
        self.table.write().insert(id.into(), hook);
    }

    /// Takes a hook away, if it is there.
    pub fn remove(&self, id: &str) {
        self.table.write().remove(id);
    }

    /// Answers calls for ever, and counts them. Whoever does not lead hands them to whoever does.
    pub async fn serve(self, server: Server, gate: Gate, metrics: Metrics) {
        let answers = move |request| {
            let (hooks, gate, metrics) = (self.clone(), gate.clone(), metrics.clone());
            async move {
                let answered = answer(request, &hooks, &gate).await;
                metrics.called(answered.status());
                answered
            }
        };
        server.serve(answers).await;
    }

    fn find(&self, id: &str) -> Option<Hook> {
        self.table.read().get(id).cloned()
    }
}
