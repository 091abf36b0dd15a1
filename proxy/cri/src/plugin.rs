//! A plugin as it is called: its connection, its circuit and its slots. Lives as long as its registration is the same.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::backend::Backend;
use crate::breaker::{Breaker, Event};
use crate::chain::Answer;
use crate::field::Fields;
use crate::grpc::unary;
use crate::hook::Hook;
use crate::koordinator;
use crate::registration::{Part, Registration};
use crate::subject::{Container, Pod};

/// The most that an answer may have.
const LONGEST_ANSWER: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) registration: Arc<Registration>,
    connection: Backend,
    breaker: Mutex<Breaker>,
    slots: Semaphore,
}

impl Plugin {
    pub(crate) fn new(registration: Registration) -> Self {
        Self {
            connection: Backend::new(&registration.endpoint).owned_by(registration.peer_uid),
            breaker: Mutex::new(Breaker::new(registration.breaker)),
            slots: Semaphore::new(registration.concurrency),
            registration: Arc::new(registration),
        }
    }

    /// Asks it about a pod, or about one of the pod's containers.
    pub(crate) async fn ask(
        &self,
        hook: Hook,
        pod: &Pod,
        container: Option<&Container>,
        shown: &Fields,
        timeout: Duration,
    ) -> Answer {
        if timeout.is_zero() {
            return Answer::Failed("the time that all plugins have together was over".to_owned());
        }
        if !self.note(Event::Ask) {
            return Answer::Failed("it is not asked because it keeps failing".to_owned());
        }
        let begun = Instant::now();
        let call = async {
            let _slot = self.slots.acquire().await.map_err(|_| Status::unavailable("it is being taken away"))?;
            let left = timeout.saturating_sub(begun.elapsed());
            let merge = self.registration.merge;
            match container {
                None => {
                    let request = koordinator::pod_request(&self.readable(pod), shown);
                    let answer = self.unary(hook, &request, left).await?;
                    Ok(koordinator::pod_changes(shown, answer, merge))
                }
                Some(container) => {
                    let request = koordinator::container_request(&self.readable(pod), container, shown);
                    let answer = self.unary(hook, &request, left).await?;
                    Ok(koordinator::container_changes(shown, answer, merge))
                }
            }
        };
        let outcome = tokio::time::timeout(timeout, call).await.unwrap_or_else(|_elapsed| {
            Err(Status::deadline_exceeded(format!("no answer within {} ms", timeout.as_millis())))
        });
        self.judge(outcome)
    }

    fn judge(&self, outcome: Result<crate::field::Changes, Status>) -> Answer {
        let answer = match outcome {
            Ok(changes) => Answer::Changes(changes),
            Err(status) if matches!(status.code(), Code::PermissionDenied | Code::FailedPrecondition) => {
                Answer::Denied(status)
            }
            Err(status) => Answer::Failed(format!("{}: {}", status.code(), status.message())),
        };
        self.note(if matches!(answer, Answer::Failed(_)) { Event::Failed } else { Event::Answered });
        answer
    }

    async fn unary<A: Message + Default>(
        &self,
        hook: Hook,
        request: &impl Message,
        left: Duration,
    ) -> Result<A, Status> {
        unary(&self.connection, &koordinator::method(hook), request, left, LONGEST_ANSWER).await
    }

    fn note(&self, event: Event) -> bool {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner).step(event, Instant::now())
    }

    /// Of the pod's labels and annotations, those that the plugin may see.
    fn readable(&self, pod: &Pod) -> Pod {
        let mut pod = pod.clone();
        if !self.registration.may_read(Part::PodLabels) {
            pod.labels.clear();
        }
        if !self.registration.may_read(Part::PodAnnotations) {
            pod.annotations.clear();
        }
        pod
    }
}
