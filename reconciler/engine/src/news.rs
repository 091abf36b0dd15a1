//! What people are told of beyond statuses and events.

use std::sync::Arc;

use reeve_crds::Runtime;
use tokio::sync::mpsc;

/// Something that happened to a runtime or a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
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
        reason: String,
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
    Held {
        /// Which.
        revision: String,
        /// In a sentence.
        message: String,
    },
}

/// News and whom it is about.
#[derive(Clone, Debug)]
pub struct Item {
    /// Namespace of the source.
    pub namespace: Arc<str>,
    /// The source.
    pub source: Arc<str>,
    /// The runtime, if it is about one.
    pub runtime: Option<Arc<str>>,
    /// What happened.
    pub news: News,
}

/// Takes news. What nobody can take in time is dropped: nobody waits for a listener.
#[derive(Clone, Debug)]
pub struct Telling(mpsc::Sender<Item>);

impl Telling {
    /// A way to tell, and where it arrives.
    pub fn channel() -> (Self, mpsc::Receiver<Item>) {
        let (tx, rx) = mpsc::channel(256);
        (Self(tx), rx)
    }

    /// Tells something of a runtime.
    pub fn tell(&self, source: Option<&str>, runtime: &Runtime, news: News) {
        let Some(source) = source else { return };
        let _ = self.0.try_send(Item {
            namespace: runtime.metadata.namespace.as_deref().unwrap_or_default().into(),
            source: source.into(),
            runtime: runtime.metadata.name.as_deref().map(Into::into),
            news,
        });
    }

    /// Tells something of a source.
    pub fn tell_of_source(&self, namespace: &str, source: &str, news: News) {
        let _ = self.0.try_send(Item { namespace: namespace.into(), source: source.into(), runtime: None, news });
    }
}
