//! The admin server: `/livez`, `/readyz` and `/metrics` over HTTP/1.1, one request per connection, all of it bounded.
//!
//! It never waits for a client: what is not over in time is cut, and the end of the process waits for none of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::health::Health;
use crate::metrics::Metrics;

mod answer;
use answer::answer;

const MAX_CONNECTIONS: usize = 64;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const HEAD_WITHIN: Duration = Duration::from_secs(5);
const WHOLE_WITHIN: Duration = Duration::from_secs(10);
/// After `accept` failed, most likely for want of file descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// The admin address cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on the admin address {address}")]
pub struct AdminError {
    address: SocketAddr,
    #[source]
    cause: std::io::Error,
}

/// What is served.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
}

/// A bound admin server that serves while [`Admin::serve`] is polled.
#[derive(Debug)]
pub(crate) struct Admin {
    listener: TcpListener,
    pages: Pages,
}

impl Admin {
    pub(crate) async fn bind(address: SocketAddr, pages: Pages) -> Result<Self, AdminError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| AdminError { address, cause })?;
        Ok(Self { listener, pages })
    }

    /// The address itself, where port 0 was asked for.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves for ever; dropping the future cuts every connection.
    pub(crate) async fn serve(self) {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            // Further clients wait in the listener's own bounded queue.
            let Ok(slot) = Arc::clone(&free).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let pages = self.pages.clone();
                    connections.spawn(async move {
                        serve_connection(stream, pages).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    warn!(%error, "cannot accept an admin connection");
                    sleep(BREATH).await;
                }
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, pages: Pages) {
    let service = service_fn(move |request| {
        let response = answer(request.method(), request.uri().path(), &pages);
        async move { Ok::<_, std::convert::Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(WHOLE_WITHIN, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "admin connection failed"),
        Err(_) => debug!("admin connection took too long"),
    }
}

#[cfg(test)]
mod tests;
