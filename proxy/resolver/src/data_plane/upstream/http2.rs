//! HTTP/2 without TLS to a pod: few connections, many streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::uri::Scheme;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::Mutex;

use super::{Endpoint, Load, SendError, Unconnected};
use crate::data_plane::pod_stream::{Spoken, Way};
use crate::data_plane::request_body::RequestBody;

/// As many streams as peers commonly allow on one connection.
const STREAMS: usize = 100;
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const HEADER_LIST: u32 = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Http2 {
    connections: Mutex<Vec<Shared>>,
    /// Set from where nothing may wait; done by the next who has the lock.
    forget: AtomicBool,
}

#[derive(Clone, Debug)]
struct Shared {
    sender: SendRequest<RequestBody>,
    /// One more than there are streams.
    streams: Arc<()>,
}

impl Http2 {
    pub(super) fn forget(&self) {
        self.forget.store(true, Ordering::Release);
        if let Ok(mut connections) = self.connections.try_lock() {
            connections.clear();
        }
    }

    pub(super) async fn send(
        &self,
        endpoint: &Endpoint,
        mut request: Request<RequestBody>,
        way: &Way,
        load: &mut Load,
    ) -> Result<Response<Incoming>, SendError> {
        let address = endpoint.address;
        let mut shared = match self.connection(endpoint, way).await {
            Ok(shared) => shared,
            Err(failed) => return Err(failed.with(address, request)),
        };
        if way.tls.is_some() {
            encrypt(&mut request);
        }
        load.stream = Some(Arc::clone(&shared.streams));
        shared.sender.try_send_request(request).await.map_err(|mut failed| match failed.take_message() {
            Some(request) => SendError::Unsent { address, request: Box::new(request), cause: failed.into_error() },
            None => SendError::Broken { address, cause: failed.into_error() },
        })
    }

    /// One with room, or a new one. Those who come meanwhile wait for the same.
    async fn connection(&self, endpoint: &Endpoint, way: &Way) -> Result<Shared, Unconnected> {
        if !way.is_shared() {
            return begin(endpoint, way).await;
        }
        let mut connections = self.connections.lock().await;
        if self.forget.swap(false, Ordering::AcqRel) {
            connections.clear();
        }
        connections.retain(|shared| !shared.sender.is_closed());
        if let Some(free) = connections.iter().find(|shared| Arc::strong_count(&shared.streams) <= STREAMS) {
            return Ok(free.clone());
        }
        let shared = begin(endpoint, way).await?;
        connections.push(shared.clone());
        Ok(shared)
    }
}

/// The target of a request says that it goes over TLS.
fn encrypt(request: &mut Request<RequestBody>) {
    let mut parts = request.uri().clone().into_parts();
    parts.scheme = parts.scheme.map(|_| Scheme::HTTPS);
    if let Ok(target) = Uri::from_parts(parts) {
        *request.uri_mut() = target;
    }
}

async fn begin(endpoint: &Endpoint, way: &Way) -> Result<Shared, Unconnected> {
    let stream = endpoint.connect_by(way, Spoken::Http2).await?;
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEADER_LIST)
        .max_concurrent_reset_streams(usize::MAX)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Unconnected::Connect(std::io::Error::other(error)))?;
    let address = endpoint.address;
    // Ends by itself when the last handle and the last stream are gone.
    hyper::rt::Executor::execute(&TokioExecutor::new(), async move {
        if let Err(error) = connection.await {
            tracing::debug!(%address, error = %reeve_process::error_chain(&error), "connection ended");
        }
    });
    let shared = Shared { sender, streams: Arc::new(()) };
    Ok(shared)
}
