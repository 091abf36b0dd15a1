//! Reads the state of the proxy from its local socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::{Decision, State};

pub(super) const STATE: &str = "/state";
pub(super) const DECISIONS: &str = "/decisions";
pub(super) const RECORDING: &str = "/recording";
const WITHIN: Duration = Duration::from_secs(5);
const LONGEST: usize = 8 << 20;

/// The state cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("nobody serves {}", .0.display())]
    Connect(PathBuf, #[source] std::io::Error),
    #[error("the call broke off")]
    Broken(#[source] hyper::Error),
    #[error("the answer cannot be read")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the answer is {0}")]
    Status(StatusCode),
    #[error("the answer is no state")]
    Json(#[source] serde_json::Error),
    #[error("cannot write what was read")]
    Write(#[source] std::io::Error),
    #[error("no answer within {} s", WITHIN.as_secs())]
    TimedOut,
}

/// What the proxy that serves `socket` says of itself.
pub async fn read(socket: &Path) -> Result<State, ReadError> {
    tokio::time::timeout(WITHIN, get(socket, STATE)).await.unwrap_or(Err(ReadError::TimedOut))
}

/// What became of the answers of plugins lately, the oldest first.
pub async fn read_decisions(socket: &Path) -> Result<Vec<Decision>, ReadError> {
    tokio::time::timeout(WITHIN, get(socket, DECISIONS)).await.unwrap_or(Err(ReadError::TimedOut))
}

/// Hands the hooked calls from now on to `write`, line by line: so many of them, or for so long, or until the proxy ends.
pub(crate) async fn record(
    socket: &Path,
    calls: Option<u64>,
    duration: Option<Duration>,
    mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Result<(), ReadError> {
    let reading = with_response(socket, RECORDING, async |mut body: Incoming| {
        let mut left = calls;
        while left != Some(0) {
            let Some(frame) = body.frame().await else { break };
            let Ok(line) = frame.map_err(ReadError::Broken)?.into_data() else { continue };
            write(&line).map_err(ReadError::Write)?;
            left = left.map(|left| left - 1);
        }
        Ok(())
    });
    match duration {
        Some(duration) => tokio::time::timeout(duration, reading).await.unwrap_or(Ok(())),
        None => reading.await,
    }
}

async fn get<T: DeserializeOwned>(socket: &Path, path: &'static str) -> Result<T, ReadError> {
    with_response(socket, path, async |body| {
        let body = Limited::new(body, LONGEST).collect().await.map_err(ReadError::Body)?;
        serde_json::from_slice(&body.to_bytes()).map_err(ReadError::Json)
    })
    .await
}

async fn with_response<T>(
    socket: &Path,
    path: &'static str,
    read: impl AsyncFnOnce(Incoming) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let stream = UnixStream::connect(socket).await.map_err(|cause| ReadError::Connect(socket.to_owned(), cause))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ReadError::Broken)?;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = http::Uri::from_static(path);
    request.headers_mut().insert(http::header::HOST, http::HeaderValue::from_static("localhost"));
    let call = async {
        let response = sender.send_request(request).await.map_err(ReadError::Broken)?;
        if response.status() != StatusCode::OK {
            return Err(ReadError::Status(response.status()));
        }
        read(response.into_body()).await
    };
    tokio::pin!(call, connection);
    tokio::select! {
        answer = &mut call => answer,
        // The server closes when it has answered; what it sent is still to be read.
        _closed = &mut connection => call.await,
    }
}
