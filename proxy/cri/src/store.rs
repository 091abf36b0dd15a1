//! Pods and containers that passed, in memory only. What is not in it is read from the backend, so it may forget anything.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::subject::{Container, Pod};

mod info;
mod read;

/// Far more than a node runs. Beyond it everything is forgotten, and read again when it is needed.
const MOST: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct Store {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pods: HashMap<String, Arc<Pod>>,
    containers: HashMap<String, Arc<Container>>,
    /// Ids of which plugins have heard that they stopped.
    stopped: HashSet<String>,
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    pub(crate) fn find_pod(&self, id: &str) -> Option<Arc<Pod>> {
        self.lock().pods.get(id).cloned()
    }

    pub(crate) fn find_container(&self, id: &str) -> Option<Arc<Container>> {
        self.lock().containers.get(id).cloned()
    }

    pub(crate) fn insert_pod(&self, id: String, pod: Pod) -> Arc<Pod> {
        let pod = Arc::new(pod);
        let mut inner = self.lock();
        inner.make_room();
        inner.pods.insert(id, Arc::clone(&pod));
        pod
    }

    pub(crate) fn insert_container(&self, container: Container) -> Arc<Container> {
        let container = Arc::new(container);
        let mut inner = self.lock();
        inner.make_room();
        inner.containers.insert(container.id.clone(), Arc::clone(&container));
        container
    }

    /// True for the first who says that this pod or container stopped.
    pub(crate) fn mark_stopped(&self, id: &str) -> bool {
        let mut inner = self.lock();
        inner.make_room();
        inner.stopped.insert(id.to_owned())
    }

    pub(crate) fn is_stopped(&self, id: &str) -> bool {
        self.lock().stopped.contains(id)
    }

    pub(crate) fn remove_container(&self, id: &str) {
        let mut inner = self.lock();
        inner.containers.remove(id);
        inner.stopped.remove(id);
    }

    /// Removes a pod and its containers.
    pub(crate) fn remove_pod(&self, id: &str) {
        let inner = &mut *self.lock();
        inner.pods.remove(id);
        inner.stopped.remove(id);
        let stopped = &mut inner.stopped;
        inner.containers.retain(|id_of_container, container| {
            let stays = container.pod_id != id;
            if !stays {
                stopped.remove(id_of_container);
            }
            stays
        });
    }

    /// Forgets everything: for when nobody tells it of what passes.
    pub(crate) fn clear(&self) {
        *self.lock() = Inner::default();
    }
}

impl Inner {
    fn make_room(&mut self) {
        if self.pods.len() + self.containers.len() + self.stopped.len() >= MOST {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests;
