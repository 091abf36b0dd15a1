//! Sends notifications, a few times if need be, and never holds anybody up: neither who tells nor other receivers.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::{Api, Client};
use reeve_crds::GitSource;
use reeve_crds::git_source::Notification as Receiver;
use reeve_process::secret::{Secret, scrub};
use reeve_reconciler_engine::backoff::Backoff;
use reeve_reconciler_engine::clock::Clock;
use reeve_reconciler_engine::notification::Notification;
use reeve_reconciler_engine::text::truncate;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::warn;

use super::lanes::{Entry, Lanes};
use super::post::{SendError, WITHIN, post};
use super::{Address, request, wants};
use crate::metrics::Metrics;

const TRIES: u32 = 4;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_mins(1));

/// Tells whoever the sources name.
#[derive(Clone)]
pub struct Notifier {
    client: Client,
    clock: Clock,
    metrics: Metrics,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notifier")
    }
}

/// Something to tell, and when it was heard of.
#[derive(Debug)]
struct QueuedNotification {
    notification: Notification,
    at: Timestamp,
}

#[derive(Debug)]
enum Job {
    /// Find out whom to tell.
    FindReceivers(Arc<QueuedNotification>),
    /// Tell this one.
    Send(Arc<QueuedNotification>, Box<Receiver>),
}

/// Namespace, source, and the notification by name if that is known. So everybody hears things in their order.
type Lane = (Arc<str>, Arc<str>, Option<String>);

impl Job {
    fn lane(&self) -> Lane {
        let of = |queued: &QueuedNotification, name| {
            (queued.notification.namespace.clone(), queued.notification.source.clone(), name)
        };
        match self {
            Self::FindReceivers(queued) => of(queued, None),
            Self::Send(queued, receiver) => of(queued, Some(receiver.name.clone())),
        }
    }
}

impl Notifier {
    /// Reads sources and Secrets with this client.
    pub fn new(client: Client, clock: Clock, metrics: Metrics) -> Self {
        Self { client, clock, metrics }
    }

    /// Sends what arrives until nobody can tell any more.
    pub async fn run(&self, mut notifications: mpsc::Receiver<Notification>) {
        let mut lanes = Lanes::default();
        let mut working = JoinSet::new();
        loop {
            let jobs = tokio::select! {
                Some(notification) = notifications.recv() => vec![Job::FindReceivers(Arc::new(QueuedNotification { notification, at: self.clock.now() }))],
                Some(done) = working.join_next() => {
                    let Ok((lane, jobs)) = done else { continue };
                    if let Some(next) = lanes.done(&lane) {
                        working.spawn(self.clone().work(lane, next));
                    }
                    jobs
                }
                else => return,
            };
            for job in jobs {
                let lane = job.lane();
                match lanes.enter(lane.clone(), job) {
                    Entry::Begin(job) => drop(working.spawn(self.clone().work(lane, job))),
                    Entry::Waits => {}
                    Entry::Instead(_) => self.metrics.notified("dropped"),
                }
            }
        }
    }

    /// Does it, and says what is to be done next.
    async fn work(self, lane: Lane, job: Job) -> (Lane, Vec<Job>) {
        let jobs = match job {
            Job::FindReceivers(queued) => self.find_receivers(&queued).await,
            Job::Send(queued, receiver) => {
                let sent = self.with_retries(|| self.send(&queued, &receiver)).await;
                self.record_outcome(&queued, &receiver.name, sent);
                Vec::new()
            }
        };
        (lane, jobs)
    }

    /// Whom a source wants to be told.
    async fn find_receivers(&self, queued: &Arc<QueuedNotification>) -> Vec<Job> {
        let Notification { namespace, source, body, .. } = &queued.notification;
        match self.with_retries(|| self.read::<GitSource>("GitSource", namespace, source)).await {
            Ok(Some(source)) => {
                let receivers = source.spec.notifications.into_iter().filter(|receiver| wants(receiver, body));
                receivers.map(|receiver| Job::Send(queued.clone(), Box::new(receiver))).collect()
            }
            // A source that is gone has nobody to tell.
            Ok(None) => Vec::new(),
            Err(error) => {
                self.record_outcome(queued, "", Err(error));
                Vec::new()
            }
        }
    }

    fn record_outcome(&self, queued: &QueuedNotification, receiver: &str, sent: Result<(), SendError>) {
        self.metrics.notified(if sent.is_ok() { "Succeeded" } else { "Failed" });
        if let Err(error) = sent {
            let why = truncate(&scrub(&reeve_process::error_chain(&error)), 300);
            warn!(source = %queued.notification.source, notification = receiver, "cannot notify: {why}");
        }
    }

    /// Tries a few times, as long as it may help.
    async fn with_retries<T, F>(&self, work: impl Fn() -> F) -> Result<T, SendError>
    where
        F: Future<Output = Result<T, SendError>>,
    {
        for failure in 0..TRIES - 1 {
            match work().await {
                Err(error) if error.is_transient() => self.clock.sleep(BACKOFF.delay(failure)).await,
                done => return done,
            }
        }
        work().await
    }

    async fn send(&self, queued: &QueuedNotification, receiver: &Receiver) -> Result<(), SendError> {
        let QueuedNotification { notification, at } = queued;
        let name = &receiver.secret_ref.name;
        let address = self.address(&notification.namespace, name).await?;
        // The same each time, so that a receiver knows what it has already.
        let id = format!("{}.{}.{}", notification.namespace, notification.source, at.as_nanosecond());
        let request = request(notification, receiver.format, &address, &id, *at);
        post(request.map_err(|_| SendError::BadAddress { name: name.clone() })?).await
    }

    async fn address(&self, namespace: &str, name: &str) -> Result<Address, SendError> {
        let secret = self.read::<SecretObject>("Secret", namespace, name).await?;
        let secret = secret.ok_or_else(|| SendError::NoSecret { name: name.to_owned() })?;
        let data = secret.data.unwrap_or_default();
        let text = |key: &str| {
            let value = data.get(key).and_then(|value| std::str::from_utf8(&value.0).ok()).map(str::trim);
            value.filter(|value| !value.is_empty()).map(|value| Secret::new(value.to_owned()))
        };
        let url = text("address").ok_or_else(|| SendError::NoAddress { name: name.to_owned() })?;
        Ok(Address { url, token: text("token") })
    }

    async fn read<K>(&self, kind: &'static str, namespace: &str, name: &str) -> Result<Option<K>, SendError>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let read = timeout(WITHIN, api.get_opt(name)).await.map_err(|_elapsed| SendError::Late)?;
        read.map_err(|cause| SendError::Read { kind, name: name.to_owned(), cause: Box::new(cause) })
    }
}
