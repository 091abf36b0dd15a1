//! Sends notifications, a few times if need be, and never holds anybody up.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::core::v1::Secret as SecretObject;
use kube::client::ConfigExt as _;
use kube::{Api, Client, Config};
use reeve_crds::GitSource;
use reeve_crds::git_source::NotificationFormat;
use reeve_process::secret::{Secret, scrub};
use tokio::sync::mpsc;
use tracing::warn;

use super::{Address, request, wants};
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::news::Item;
use crate::runtime::cut;

const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const WITHIN: Duration = Duration::from_secs(10);
/// More of an answer is not read.
const ANSWER: usize = 64 << 10;

/// Tells whoever the sources name.
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

/// A notification could not be sent.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("cannot read Secret {name}")]
    Read {
        name: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("Secret {name} has no key address: write the URL to post to")]
    NoAddress { name: String },
    #[error("the address in Secret {name} is not a URL that can be posted to")]
    BadAddress { name: String },
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the receiver answered {0}")]
    Refused(http::StatusCode),
    #[error("the receiver did not answer in time")]
    Late,
}

impl Notifier {
    /// Reads sources and Secrets with this client.
    pub fn new(client: Client, clock: Clock, metrics: Metrics) -> Self {
        Self { client, clock, metrics }
    }

    /// Sends what arrives until nobody can tell any more.
    pub async fn run(&self, mut items: mpsc::Receiver<Item>) {
        while let Some(item) = items.recv().await {
            let sources: Api<GitSource> = Api::namespaced(self.client.clone(), &item.namespace);
            // A source that is gone has nobody to tell.
            let Ok(Some(source)) = sources.get_opt(&item.source).await else { continue };
            for notification in source.spec.notifications.iter().filter(|notification| wants(notification, &item.news))
            {
                let sent = self.send(&item, &notification.secret_ref.name, notification.format).await;
                self.metrics.notified(if sent.is_ok() { "Succeeded" } else { "Failed" });
                if let Err(error) = sent {
                    let why = cut(&scrub(&reeve_process::chain(&error)), 300);
                    warn!(source = %item.source, notification = %notification.name, "cannot notify: {why}");
                }
            }
        }
    }

    async fn send(&self, item: &Item, secret: &str, format: NotificationFormat) -> Result<(), SendError> {
        let address = self.address(&item.namespace, secret).await?;
        let now = self.clock.now();
        let id = format!("{}.{}.{}", item.namespace, item.source, now.as_nanosecond());
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            let bad = |_| SendError::BadAddress { name: secret.to_owned() };
            let request = request(item, format, &address, &id, now).map_err(bad)?;
            tries += 1;
            match post(request).await {
                Ok(()) => return Ok(()),
                Err(SendError::Refused(status)) if status.is_client_error() && status.as_u16() != 429 => {
                    return Err(SendError::Refused(status));
                }
                Err(error) if tries == TRIES => return Err(error),
                Err(_) => self.clock.sleep(pause).await,
            }
            pause *= 2;
        }
    }

    async fn address(&self, namespace: &str, name: &str) -> Result<Address, SendError> {
        let secrets: Api<SecretObject> = Api::namespaced(self.client.clone(), namespace);
        let unread = |cause| SendError::Read { name: name.to_owned(), cause: Box::new(cause) };
        let data = secrets.get(name).await.map_err(unread)?.data.unwrap_or_default();
        let text = |key: &str| {
            let value = data.get(key).and_then(|value| std::str::from_utf8(&value.0).ok()).map(str::trim);
            value.filter(|value| !value.is_empty()).map(|value| Secret::new(value.to_owned()))
        };
        let url = text("address").ok_or_else(|| SendError::NoAddress { name: name.to_owned() })?;
        Ok(Address { url, token: text("token") })
    }
}

async fn post(request: http::Request<Vec<u8>>) -> Result<(), SendError> {
    // Trusts what the machine trusts, as the client of a cluster without a CA of its own does.
    let connector = Config::new(request.uri().clone()).rustls_https_connector();
    let connector = connector.map_err(|error| SendError::Connect(error.to_string()))?;
    let client: HttpClient<_, Full<Bytes>> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let (parts, body) = request.into_parts();
    let sent = async {
        let answer = client.request(http::Request::from_parts(parts, Full::from(body))).await;
        let answer = answer.map_err(|error| SendError::Connect(reeve_process::chain(&error)))?;
        let status = answer.status();
        // Read so that the connection can end well; what it says is of no interest.
        let _ = Limited::new(answer.into_body(), ANSWER).collect().await;
        if status.is_success() { Ok(()) } else { Err(SendError::Refused(status)) }
    };
    tokio::time::timeout(WITHIN, sent).await.unwrap_or(Err(SendError::Late))
}
