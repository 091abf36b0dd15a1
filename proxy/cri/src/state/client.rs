//! Reads the state of the proxy from its local socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::{Change, State};

pub(super) const STATE: &str = "/state";
pub(super) const CHANGES: &str = "/changes";
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
    #[error("no answer within {} s", WITHIN.as_secs())]
    TimedOut,
}

/// What the proxy that serves `socket` says of itself.
pub async fn read(socket: &Path) -> Result<State, ReadError> {
    tokio::time::timeout(WITHIN, get(socket, STATE)).await.unwrap_or(Err(ReadError::TimedOut))
}

/// What plugins changed lately, the oldest first.
pub async fn read_changes(socket: &Path) -> Result<Vec<Change>, ReadError> {
    tokio::time::timeout(WITHIN, get(socket, CHANGES)).await.unwrap_or(Err(ReadError::TimedOut))
}

async fn get<T: DeserializeOwned>(socket: &Path, path: &'static str) -> Result<T, ReadError> {
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
        let body = Limited::new(response.into_body(), LONGEST).collect().await.map_err(ReadError::Body)?;
        serde_json::from_slice(&body.to_bytes()).map_err(ReadError::Json)
    };
    tokio::pin!(call, connection);
    tokio::select! {
        answer = &mut call => answer,
        // The server closes when it has answered; what it sent is still to be read.
        _closed = &mut connection => call.await,
    }
}
