//! Hooks after a call: told in the order of the calls, for each pod by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::hook::Hook;
use crate::subject::{Container, Pod};

/// Something that plugins are still to be told.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) pod_id: String,
    pub(super) hook: Hook,
    pub(super) pod: Arc<Pod>,
    pub(super) container: Option<Arc<Container>>,
}

/// What is to be told, by pod.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<HashMap<String, VecDeque<Post>>>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Post>>> {
        self.waiting.lock()
    }

    /// Adds one. True if nobody is telling of this pod yet, so that the caller has to.
    pub(super) fn push(&self, post: Post) -> bool {
        let mut waiting = self.lock();
        let first = !waiting.contains_key(&post.pod_id);
        waiting.entry(post.pod_id.clone()).or_default().push_back(post);
        first
    }

    /// The next of a pod; `None` ends the telling.
    pub(super) fn pop(&self, id: &str) -> Option<Post> {
        let mut waiting = self.lock();
        let next = waiting.get_mut(id)?.pop_front();
        if next.is_none() {
            waiting.remove(id);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(id: &str, hook: Hook) -> Post {
        Post { pod_id: id.to_owned(), hook, pod: Arc::default(), container: None }
    }

    #[test]
    fn hooks_of_one_pod_are_told_in_order_by_one_teller() {
        let queue = Queue::default();
        assert!(queue.push(post("p", Hook::PostStartContainer)));
        assert_eq!(queue.pop("p").unwrap().hook, Hook::PostStartContainer);
        assert!(!queue.push(post("p", Hook::PostStopContainer)), "the first is still being told");
        assert!(queue.push(post("other", Hook::PostStopContainer)));
        assert_eq!(queue.pop("p").unwrap().hook, Hook::PostStopContainer);
        assert!(queue.pop("p").is_none());
        assert!(queue.push(post("p", Hook::PostStopContainer)), "the teller has left");
    }
}
