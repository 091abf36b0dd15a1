//! The statuses of Reeve's own objects as the cluster has them, whoever wrote them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

use super::{StatusWriter, Subject};
use crate::hash;
use crate::patch::{to_json, version_of};

/// What a watch saw last of the status of an object, and of those of its components. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SeenStatuses(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    seen: Mutex<BTreeMap<Option<Arc<str>>, SeenStatus>>,
    news: Notify,
}

/// A status as it was seen.
#[derive(Debug)]
pub struct SeenStatus {
    version: u64,
    hash: String,
}

impl SeenStatuses {
    /// Takes in a status: of a component, or of the object itself.
    pub fn see(&self, component: Option<Arc<str>>, metadata: &ObjectMeta, status: &impl Serialize) {
        let seen = SeenStatus { version: version_of(metadata), hash: hash::of(&to_json(status)) };
        self.0.seen.lock().insert(component, seen);
        self.0.news.notify_one();
    }

    /// Resolves when there is something to take.
    pub async fn changed(&self) {
        self.0.news.notified().await;
    }

    /// What was seen since the last time.
    pub fn take_seen(&self) -> BTreeMap<Option<Arc<str>>, SeenStatus> {
        std::mem::take(&mut *self.0.seen.lock())
    }
}

impl SeenStatus {
    /// Whether somebody else wrote it after us, who left the object in this version, with a status of this hash.
    pub fn is_foreign(&self, version: u64, ours: &str) -> bool {
        self.version > version && self.hash != ours
    }
}

impl StatusWriter {
    /// Finds out whose statuses somebody else wrote. No write is under way.
    pub(super) fn compare_seen(&self) {
        let seen = self.0.seen.take_seen();
        let mut queue = self.lock();
        for (component, seen) in seen {
            let subject = component.clone().map_or(Subject::Runtime, Subject::Component);
            let is_foreign = queue.written.get_mut(&subject).is_some_and(|written| written.on_seen(&seen));
            if is_foreign && !queue.pending.contains_key(&subject) {
                queue.overwritten.insert(component);
                self.0.overwritten.notify_one();
            }
        }
    }

    /// Resolves when somebody else wrote statuses: the runtime's, which has no name here, or those of components.
    pub(in crate::runtime) async fn overwritten(&self) -> BTreeSet<Option<Arc<str>>> {
        self.0.overwritten.notified().await;
        std::mem::take(&mut self.lock().overwritten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_our_own_write_or_says_the_same_is_nobody_elses() {
        let seen = SeenStatus { version: 7, hash: "theirs".to_owned() };
        assert!(seen.is_foreign(6, "ours"));
        assert!(!seen.is_foreign(7, "ours"), "we wrote it since");
        assert!(!seen.is_foreign(6, "theirs"), "something else of the object changed");
    }
}
