//! The receiver of webhooks: `POST /hooks/<id>` over HTTP/1.1, one request per connection, all of it bounded.
//!
//! A genuine call wakes its source and does nothing else, so a call that is sent twice is harmless. Whoever does not
//! know a token cannot tell a hook that exists from one that does not.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use reeve_crds::git_source::WebhookType;
use reeve_process::secret::Secret;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

mod answer;
#[cfg(test)]
mod tests;

use answer::answer;

const MAX_CONNECTIONS: usize = 64;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
const HEAD_WITHIN: Duration = Duration::from_secs(5);
const WHOLE_WITHIN: Duration = Duration::from_secs(15);
/// After `accept` failed, most likely for want of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// What a genuine call is known by, and whom it wakes.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Whose form the call has.
    pub kind: WebhookType,
    /// What signs it, or is sent with it.
    pub token: Secret<String>,
    /// Whom to wake.
    pub wake: Arc<Notify>,
}

/// The hooks that there are. Cheap to clone; all clones are the same table.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    table: Arc<RwLock<BTreeMap<String, Hook>>>,
}

impl Hooks {
    /// Adds a hook, or changes it.
    pub fn set(&self, id: impl Into<String>, hook: Hook) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).insert(id.into(), hook);
    }

    /// Takes a hook away, if it is there.
    pub fn remove(&self, id: &str) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn find(&self, id: &str) -> Option<Hook> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

/// The receiver's address cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for webhooks on {address}")]
pub struct ReceiverError {
    address: SocketAddr,
    #[source]
    cause: std::io::Error,
}

/// A bound receiver that serves while [`Receiver::serve`] is polled.
#[derive(Debug)]
pub struct Receiver {
    listener: TcpListener,
    hooks: Hooks,
}

impl Receiver {
    /// Listens, without answering yet.
    pub async fn bind(address: SocketAddr, hooks: Hooks) -> Result<Self, ReceiverError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| ReceiverError { address, cause })?;
        Ok(Self { listener, hooks })
    }

    /// The address itself, where port 0 was asked for.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves for ever; dropping the future cuts every connection.
    pub async fn serve(self) {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            // Further clients wait in the listener's own bounded queue.
            let Ok(slot) = Arc::clone(&free).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let hooks = self.hooks.clone();
                    connections.spawn(async move {
                        serve_connection(stream, hooks).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    warn!(%error, "cannot accept a webhook connection");
                    sleep(BREATH).await;
                }
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, hooks: Hooks) {
    let service = service_fn(move |request| {
        let hooks = hooks.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(request, &hooks).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(WHOLE_WITHIN, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "webhook connection failed"),
        Err(_) => debug!("webhook connection took too long"),
    }
}
