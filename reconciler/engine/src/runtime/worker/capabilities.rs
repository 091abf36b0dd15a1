//! Whether the cluster is what the runtime's file says it is.

use reeve_crds::Reason;
use reeve_crds::RuntimeStatus;
use reeve_crds::condition::types;

use super::Worker;
use crate::runtime::capabilities::{CapabilityReport, check};

impl Worker {
    /// Asks the cluster anew.
    pub(super) fn check_capabilities(&mut self) {
        self.capability_checks.abort_all();
        let (cluster, now) = (self.setup.cluster.clone(), self.ctx.now());
        let declared = self.object.spec.capabilities.clone().unwrap_or_default();
        self.capability_checks.spawn(async move { check(&cluster, &declared, now).await });
    }

    /// Takes in what was found. What the runtime's own components may yet bring is no news.
    pub(super) fn on_capabilities(&mut self, capabilities: CapabilityReport) {
        if self.rollout.is_none() {
            let message = capabilities.message();
            let is_new = self.reported_capabilities.as_ref() != Some(&message);
            if is_new && !capabilities.lacking.is_empty() {
                self.status_writer.event(None, true, Reason::Incapable, &message);
            }
            self.reported_capabilities = Some(message);
        }
        if self.capabilities.as_ref() != Some(&capabilities) {
            self.capabilities = Some(capabilities);
            self.report_due = Some(self.ctx.now());
        }
    }
}

/// What was last said of it, perhaps by another process.
pub(super) fn reported_message(status: &RuntimeStatus) -> Option<String> {
    let capable = status.conditions.iter().find(|condition| condition.type_ == types::CAPABLE);
    capable.map(|condition| condition.message.clone())
}
