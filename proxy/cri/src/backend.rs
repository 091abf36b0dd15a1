//! The connection to a gRPC server behind a unix socket, dialled when it is needed and again when it broke.

use std::path::PathBuf;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tonic::Status;

use crate::body::Body;
use crate::grpc;

/// As much as a connection may carry: a slow stream must not stop the others.
pub(crate) const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
/// What grpc-go allows its peers.
pub(crate) const HEADER_LIST: u32 = 16 << 20;

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("cannot connect to {}", socket.display())]
    Dial {
        socket: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("{} belongs to user {found}, not to {wanted}", socket.display())]
    Peer { socket: PathBuf, wanted: u32, found: u32 },
    #[error("cannot begin HTTP/2 with {}", socket.display())]
    Handshake {
        socket: PathBuf,
        #[source]
        cause: hyper::Error,
    },
    #[error("the call broke off")]
    Broken(#[source] hyper::Error),
}

impl SendError {
    /// What a gRPC client of the backend itself would have been told.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Dial { socket, cause } => Status::unavailable(format!(
                "connection error: desc = \"transport: Error while dialing: dial unix {}: {cause}\"",
                socket.display()
            )),
            Self::Peer { .. } => Status::unauthenticated(self.to_string()),
            Self::Handshake { cause, .. } | Self::Broken(cause) => grpc::lost(cause),
        }
    }
}

/// A server at a unix socket.
#[derive(Debug)]
pub(crate) struct Backend {
    socket: PathBuf,
    /// Who must be at the other end.
    peer: Option<u32>,
    connection: Mutex<Option<SendRequest<Body>>>,
}

impl Backend {
    pub(crate) fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), peer: None, connection: Mutex::new(None) }
    }

    /// Speaks only with a process of this user.
    pub(crate) fn owned_by(mut self, user: u32) -> Self {
        self.peer = Some(user);
        self
    }

    /// Sends a request and waits for the head of its response. Dropping the future resets the stream.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        let failed = match self.connection().await?.try_send_request(request).await {
            Ok(response) => return Ok(response),
            Err(failed) => failed,
        };
        let mut failed = failed;
        // A request comes back only if nothing of it was sent: the connection broke between two calls.
        match failed.take_message() {
            Some(request) => self.connection().await?.send_request(request).await.map_err(SendError::Broken),
            None => Err(SendError::Broken(failed.into_error())),
        }
    }

    /// Tries whether there is a server at all.
    pub(crate) async fn connect(&self) -> Result<(), SendError> {
        self.connection().await.map(drop)
    }

    async fn connection(&self) -> Result<SendRequest<Body>, SendError> {
        let mut slot = self.connection.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.clone());
        }
        let open = self.dial().await?;
        *slot = Some(open.clone());
        Ok(open)
    }

    async fn dial(&self) -> Result<SendRequest<Body>, SendError> {
        let socket = || self.socket.clone();
        let dial = |cause| SendError::Dial { socket: socket(), cause };
        let stream = UnixStream::connect(&self.socket).await.map_err(dial)?;
        let found = stream.peer_cred().map_err(dial)?.uid();
        if let Some(wanted) = self.peer.filter(|wanted| *wanted != found) {
            return Err(SendError::Peer { socket: socket(), wanted, found });
        }
        let (open, connection) = Builder::new(TokioExecutor::new())
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_stream_window_size(STREAM_WINDOW)
            .max_header_list_size(HEADER_LIST)
            .max_concurrent_reset_streams(usize::MAX)
            .max_local_error_reset_streams(None)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| SendError::Handshake { socket: socket(), cause })?;
        let socket = socket();
        // Ends by itself when the last handle and the last stream are gone.
        hyper::rt::Executor::execute(&TokioExecutor::new(), async move {
            if let Err(error) = connection.await {
                tracing::debug!(socket = %socket.display(), error = %reeve_process::error_chain(&error), "connection ended");
            }
        });
        Ok(open)
    }
}
