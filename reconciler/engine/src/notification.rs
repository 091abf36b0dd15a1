//! Notifications: what people hear of beyond statuses and events.

use std::sync::Arc;

use reeve_crds::Reason;
use reeve_crds::Runtime;
use tokio::sync::mpsc;

/// Something that happened to a runtime or a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationBody {
    /// It took over a new revision.
    Applied {
        /// Which.
        revision: String,
        /// In a sentence.
        message: String,
    },
    /// It failed repeatedly.
    Failed {
        /// Why, in one word.
        reason: Reason,
        /// In a sentence.
        message: String,
    },
    /// What had failed is well again.
    Recovered {
        /// In a sentence.
        message: String,
    },
    /// Someone changed what Reeve owns.
    Drifted {
        /// In a sentence.
        message: String,
    },
    /// A revision was refused.
    Rejected {
        /// Which.
        revision: String,
        /// In a sentence.
        message: String,
    },
}

/// What happened, and to whom.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Namespace of the source.
    pub namespace: Arc<str>,
    /// The source.
    pub source: Arc<str>,
    /// The runtime, if it is about one.
    pub runtime: Option<Arc<str>>,
    /// What happened.
    pub body: NotificationBody,
}

/// Takes notifications. One that cannot be taken in time is dropped: the engine waits for no receiver.
#[derive(Clone, Debug)]
pub struct NotificationSender(mpsc::Sender<Notification>);

impl NotificationSender {
    /// A sender, and where its notifications arrive.
    pub fn channel() -> (Self, mpsc::Receiver<Notification>) {
        let (tx, rx) = mpsc::channel(256);
        (Self(tx), rx)
    }

    /// Sends what happened to a runtime.
    pub fn send(&self, source: Option<&str>, runtime: &Runtime, body: NotificationBody) {
        let Some(source) = source else { return };
        let _ = self.0.try_send(Notification {
            namespace: runtime.metadata.namespace.as_deref().unwrap_or_default().into(),
            source: source.into(),
            runtime: runtime.metadata.name.as_deref().map(Into::into),
            body,
        });
    }

    /// Sends what happened to a source.
    pub fn send_of_source(&self, namespace: &str, source: &str, body: NotificationBody) {
        let _ =
            self.0.try_send(Notification { namespace: namespace.into(), source: source.into(), runtime: None, body });
    }
}
