//! Whether the cluster is what the runtime's file says it is.

use reeve_crds::RuntimeStatus;
use reeve_crds::condition::{reason, types};

use super::Worker;
use crate::runtime::capabilities::{Offer, look};

impl Worker {
    /// Asks the cluster anew.
    pub(super) fn look_at_offer(&mut self) {
        self.offers.abort_all();
        let (cluster, now) = (self.setup.cluster.clone(), self.ctx.now());
        let declared = self.object.spec.capabilities.clone().unwrap_or_default();
        self.offers.spawn(async move { look(&cluster, &declared, now).await });
    }

    /// Takes in what was found. What the runtime's own components may yet bring is no news.
    pub(super) fn take_offer(&mut self, offer: Offer) {
        if self.rollout.is_none() {
            let message = offer.message();
            let is_news = self.told_offer.as_ref() != Some(&message);
            if is_news && !offer.lacking.is_empty() {
                self.outlet.event(None, true, reason::INCAPABLE, &message);
            }
            self.told_offer = Some(message);
        }
        if self.offer.as_ref() != Some(&offer) {
            self.offer = Some(offer);
            self.owed_whole = Some(self.ctx.now());
        }
    }
}

/// What was last said of it, perhaps by another process.
pub(super) fn told(status: &RuntimeStatus) -> Option<String> {
    let capable = status.conditions.iter().find(|condition| condition.type_ == types::CAPABLE);
    capable.map(|condition| condition.message.clone())
}
