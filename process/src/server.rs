//! A small HTTP/1.1 server: one request per connection, all of it bounded.
//!
//! It never waits for a client: what is not over in time is cut, and the end of the process waits for none of it. What is
//! answered, and how much of a body is read, is for its user to say.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

const MAX_CONNECTIONS: usize = 64;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
const HEAD_WITHIN: Duration = Duration::from_secs(5);
const WHOLE_WITHIN: Duration = Duration::from_secs(15);
/// After `accept` failed, most likely for want of file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// As tokio has it where it is not asked.
const BACKLOG: u32 = 1024;

/// An address cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for {purpose} on {address}")]
pub struct ListenError {
    purpose: &'static str,
    address: SocketAddr,
    #[source]
    cause: std::io::Error,
}

/// A bound server that answers while [`Server::serve`] is polled.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    purpose: &'static str,
}

impl Server {
    /// Listens, without answering yet. The purpose is named in errors and lines: `webhooks`.
    pub async fn bind(purpose: &'static str, address: SocketAddr) -> Result<Self, ListenError> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|cause| ListenError { purpose, address, cause })?;
        Ok(Self { listener, purpose })
    }

    /// As [`Server::bind`], beside another process of ours that has the same address and is about to end.
    pub fn bind_shared(purpose: &'static str, address: SocketAddr) -> Result<Self, ListenError> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let listener = socket.and_then(|socket| {
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        });
        let listener = listener.map_err(|cause| ListenError { purpose, address, cause })?;
        Ok(Self { listener, purpose })
    }

    /// The address itself, where port 0 was asked for.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves for ever; dropping the future cuts every connection.
    pub async fn serve<A, F>(self, answer: A)
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            // Further clients wait in the listener's own bounded queue.
            let Ok(slot) = Arc::clone(&free).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (purpose, answer) = (self.purpose, answer.clone());
                    connections.spawn(async move {
                        serve_connection(purpose, stream, answer).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    warn!(purpose = self.purpose, %error, "cannot accept a connection");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}

async fn serve_connection<A, F>(purpose: &'static str, stream: TcpStream, answer: A)
where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(move |request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
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
        Ok(Err(error)) => debug!(purpose, %error, "a connection failed"),
        Err(_) => debug!(purpose, "a connection took too long"),
    }
}

#[cfg(test)]
mod tests;
