//! Connections to pods: an own small pool for each, and the sending of one request.
//!
//! A request that a pod never saw comes back with its error, to be sent elsewhere; any other failure is final.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response, Version};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::pod_stream::{PodStream, Spoken, Way};
use super::request_body::RequestBody;

mod http1;
mod http2;
use http1::Http1;
pub(crate) use http1::{Http1Body, Tunnel};
use http2::Http2;

/// A pod on the same network answers within milliseconds, or its node is gone.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// Shorter than what servers keep idle connections for, so that they seldom close one under a request.
const IDLE_FOR: Duration = Duration::from_secs(4);
/// How many idle connections are kept for one pod.
const IDLE_AT_MOST: usize = 256;

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// No connection could be had; the pod saw nothing.
    #[error("cannot connect to {address}")]
    Connect {
        address: SocketAddr,
        request: Box<Request<RequestBody>>,
        #[source]
        cause: std::io::Error,
    },
    /// There is a connection, and what comes first on it went wrong: another pod would be no better.
    #[error("cannot begin a connection to {address}")]
    Begin {
        address: SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    /// The connection ended before anything was written; the pod saw nothing.
    #[error("the connection to {address} ended before the request was sent")]
    Unsent {
        address: SocketAddr,
        request: Box<Request<RequestBody>>,
        #[source]
        cause: hyper::Error,
    },
    /// The pod may have seen it.
    #[error("the request to {address} broke off")]
    Broken {
        address: SocketAddr,
        #[source]
        cause: hyper::Error,
    },
}

/// Why there is no connection to speak on.
#[derive(Debug)]
pub(crate) enum Unconnected {
    Connect(std::io::Error),
    /// There is one, and no TLS on it.
    Begin(std::io::Error),
}

impl Unconnected {
    /// The request for which it was wanted was not sent.
    fn with(self, address: SocketAddr, request: Request<RequestBody>) -> SendError {
        match self {
            Self::Connect(cause) => SendError::Connect { address, request: Box::new(request), cause },
            Self::Begin(cause) => SendError::Begin { address, cause },
        }
    }
}

/// A response and what it comes over.
#[derive(Debug)]
pub(crate) enum Answer {
    Http1(Response<Http1Body>),
    Upgraded(Response<()>, Box<Tunnel>),
    Http2(Response<Incoming>, Load),
}

/// One port of one pod.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    load: AtomicUsize,
    idle: Mutex<Vec<Idle>>,
    /// A connection that a probe made and nobody used yet.
    spare: Mutex<Option<TcpStream>>,
    http2: Http2,
}

#[derive(Debug)]
struct Idle {
    connection: Box<Http1>,
    since: Instant,
}

impl Endpoint {
    pub(crate) fn new(address: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            address,
            load: AtomicUsize::new(0),
            idle: Mutex::default(),
            spare: Mutex::default(),
            http2: Http2::default(),
        })
    }

    /// Requests that it has now, from us.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Sends a request in the version that it has. Dropping the future ends it at the pod too.
    pub(crate) async fn send(self: &Arc<Self>, request: Request<RequestBody>, way: &Way) -> Result<Answer, SendError> {
        let mut load = Load::new(self);
        if request.version() == Version::HTTP_2 {
            let response = self.http2.send(self, request, way, &mut load).await?;
            return Ok(Answer::Http2(response, load));
        }
        http1::send(self, request, way, load).await
    }

    pub(crate) async fn connect(&self) -> std::io::Result<TcpStream> {
        let spare = self.spare.lock().take();
        if let Some(stream) = spare {
            return Ok(stream);
        }
        let stream = timeout(CONNECT_WITHIN, TcpStream::connect(self.address)).await;
        let stream = stream.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// A connection on which all that comes first was said.
    pub(crate) async fn connect_by(&self, way: &Way, spoken: Spoken) -> Result<PodStream, Unconnected> {
        let stream = self.connect().await.map_err(Unconnected::Connect)?;
        way.begin(stream, spoken).await.map_err(|cause| match way.tls {
            Some(_) => Unconnected::Begin(cause),
            None => Unconnected::Connect(cause),
        })
    }

    /// Keeps what a probe opened for the next request.
    pub(crate) fn keep(&self, stream: TcpStream) {
        *self.spare.lock() = Some(stream);
    }

    /// Forgets connections that nobody uses; those in use are not touched.
    pub(crate) fn close_idle(&self) {
        self.idle.lock().clear();
        self.spare.lock().take();
        self.http2.forget();
    }

    /// Closes connections that were idle for long.
    pub(crate) fn sweep(&self, now: Instant) {
        self.idle.lock().retain(|idle| now.duration_since(idle.since) < IDLE_FOR);
    }

    /// The connection that was used last: the others may grow old and be closed.
    fn take_idle(&self) -> Option<Box<Http1>> {
        let now = Instant::now();
        let mut idle = self.idle.lock();
        let last = idle.pop()?;
        if now.duration_since(last.since) < IDLE_FOR {
            return Some(last.connection);
        }
        // Those below it are older still.
        idle.clear();
        None
    }

    fn put_idle(&self, connection: Box<Http1>) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_AT_MOST {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }
}

/// Counts a request at its endpoint until it is dropped.
#[derive(Debug)]
pub(crate) struct Load {
    endpoint: Arc<Endpoint>,
    /// Its part of an HTTP/2 connection.
    stream: Option<Arc<()>>,
}

impl Load {
    fn new(endpoint: &Arc<Endpoint>) -> Self {
        endpoint.load.fetch_add(1, Ordering::Relaxed);
        Self { endpoint: Arc::clone(endpoint), stream: None }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.endpoint.load.fetch_sub(1, Ordering::Relaxed);
    }
}
