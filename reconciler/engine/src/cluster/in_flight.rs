//! Writes that were sent and are not answered yet. Whoever sent one may give it up; the API server may do it all the same.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use reeve_renderer_objects::key::ObjectKey;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// All writes under way in one cluster. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlightWrites(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    under_way: Mutex<HashMap<ObjectKey, usize>>,
    ended: Notify,
    tasks: TaskTracker,
}

/// One write under way, until it is dropped.
#[derive(Debug)]
struct InFlightWrite(InFlightWrites, ObjectKey);

impl InFlightWrites {
    /// Carries a write of this object out, also if nobody waits for it any more.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        key: &ObjectKey,
        write: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let in_flight = self.begin(key);
        self.0.tasks.spawn(async move {
            let _in_flight = in_flight;
            write.await
        })
    }

    /// A write of this object begins.
    fn begin(&self, key: &ObjectKey) -> InFlightWrite {
        *self.lock().entry(key.clone()).or_default() += 1;
        InFlightWrite(self.clone(), key.clone())
    }

    /// Whether a write of this object is under way.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        self.lock().contains_key(key)
    }

    /// Resolves when no write of this object is under way.
    pub(crate) async fn settled(&self, key: &ObjectKey) {
        loop {
            let mut ended = std::pin::pin!(self.0.ended.notified());
            ended.as_mut().enable();
            if !self.has(key) {
                return;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, usize>> {
        self.0.under_way.lock()
    }
}

impl Drop for InFlightWrite {
    fn drop(&mut self) {
        let mut under_way = self.0.lock();
        if let Some(count) = under_way.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.1);
            }
        }
        drop(under_way);
        self.0.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_object_has_landed_when_the_last_of_its_own_writes_has() {
        let key = |name: &str| ObjectKey { group: "".into(), kind: "A".into(), namespace: None, name: name.into() };
        let in_flight = InFlightWrites::default();
        let (first, second, other) =
            (in_flight.begin(&key("a")), in_flight.begin(&key("a")), in_flight.begin(&key("b")));
        let (a, b) = (key("a"), key("b"));
        let mut settled = Box::pin(in_flight.settled(&a));
        for write in [first, second] {
            assert!(futures::poll!(settled.as_mut()).is_pending());
            drop(write);
        }
        assert!(futures::poll!(settled.as_mut()).is_ready());
        assert!(in_flight.has(&b));
        drop(other);
        assert!(!in_flight.has(&b));
    }
}
