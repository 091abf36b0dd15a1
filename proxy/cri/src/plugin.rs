//! A plugin as it is called: its connection, its circuit and its slots. Lives as long as its registration is the same.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::backend::Backend;
use crate::breaker::{Breaker, Event};
use crate::chain::Answer;
use crate::field::Fields;
use crate::grpc::unary;
use crate::hook::Hook;
use crate::registration::{Origin, Registration};
use crate::settings::{Part, Protocol};
use crate::state::{Circuit, PluginState};
use crate::stats::Stats;
use crate::subject::{Container, Pod};
use crate::{breaker, koordinator, protocol, reeve};

/// The most that an answer may have.
const LONGEST_ANSWER: usize = 4 << 20;

#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) registration: Arc<Registration>,
    connection: Backend,
    breaker: Mutex<(Breaker, Timestamp)>,
    slots: Semaphore,
    stats: Mutex<Stats>,
}

impl Plugin {
    pub(crate) fn new(registration: Registration) -> Self {
        Self {
            connection: Backend::new(&registration.endpoint).owned_by(registration.peer_uid),
            breaker: Mutex::new((Breaker::new(registration.breaker), Timestamp::now())),
            slots: Semaphore::new(registration.concurrency),
            stats: Mutex::default(),
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
            self.call(hook, &self.readable(pod), container, shown, left).await
        };
        let answer = match tokio::time::timeout(timeout, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(status)) => failure(&status),
            Err(_elapsed) => Answer::TimedOut(format!("no answer within {} ms", timeout.as_millis())),
        };
        let is_failure = matches!(answer, Answer::Failed(_) | Answer::TimedOut(_));
        self.note(if is_failure { Event::Failed } else { Event::Answered });
        answer
    }

    async fn call(
        &self,
        hook: Hook,
        pod: &Pod,
        container: Option<&Container>,
        shown: &Fields,
        left: Duration,
    ) -> Result<Answer, Status> {
        let (connection, merge) = (&self.connection, self.registration.merge);
        match (self.registration.protocol, container) {
            (Protocol::Koordinator, None) => {
                let request = koordinator::pod_request(pod, shown);
                let answer = unary(connection, &koordinator::method(hook), &request, left, LONGEST_ANSWER).await?;
                Ok(Answer::Changes(koordinator::pod_changes(shown, answer, merge)))
            }
            (Protocol::Koordinator, Some(container)) => {
                let request = koordinator::container_request(pod, container, shown);
                let answer = unary(connection, &koordinator::method(hook), &request, left, LONGEST_ANSWER).await?;
                Ok(Answer::Changes(koordinator::container_changes(shown, answer, merge)))
            }
            (Protocol::Reeve, _) => {
                let request = reeve::request(hook, pod, container, shown);
                let answer = unary(connection, protocol::METHOD, &request, left, LONGEST_ANSWER).await?;
                Ok(reeve::answer(answer))
            }
        }
    }

    fn note(&self, event: Event) -> bool {
        let mut guard = self.breaker.lock();
        let (breaker, since) = &mut *guard;
        let was_closed = circuit(breaker) == Circuit::Closed;
        let permitted = breaker.step(event, Instant::now());
        // A try that fails is no news.
        if (circuit(breaker) == Circuit::Closed) != was_closed {
            *since = Timestamp::now();
        }
        permitted
    }

    /// What is counted of it.
    pub(crate) fn stats(&self) -> MutexGuard<'_, Stats> {
        self.stats.lock()
    }

    /// How it does.
    pub(crate) fn state(&self) -> PluginState {
        let registration = &self.registration;
        let (source, plugin, revision) = match &registration.origin {
            Origin::File(file) => (file.clone(), registration.name.clone(), String::new()),
            Origin::NodeHook { hook, plugin, revision } => (hook.clone(), plugin.clone(), revision.clone()),
        };
        let (circuit, circuit_since) = {
            let guard = self.breaker.lock();
            (circuit(&guard.0), guard.1)
        };
        let stats = self.stats();
        PluginState {
            source,
            plugin,
            revision,
            endpoint: registration.endpoint.clone(),
            mode: registration.mode,
            hooks: registration.hooks.keys().copied().collect(),
            circuit,
            circuit_since,
            calls: stats.calls(),
            last_error: stats.last_error().cloned(),
        }
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

fn circuit(breaker: &Breaker) -> Circuit {
    match breaker.state() {
        breaker::State::Closed { .. } => Circuit::Closed,
        breaker::State::Open { .. } => Circuit::Open,
        breaker::State::HalfOpen { .. } => Circuit::HalfOpen,
    }
}

/// What an error means: some are a plugin's word, the others its failure.
fn failure(status: &Status) -> Answer {
    match status.code() {
        Code::PermissionDenied | Code::FailedPrecondition => Answer::Denied(status.clone()),
        Code::DeadlineExceeded => Answer::TimedOut(format!("{}: {}", status.code(), status.message())),
        code => Answer::Failed(format!("{code}: {}", status.message())),
    }
}
