//! dockerd as it is called: with hooked requests of clients, and with our own questions.

use std::path::PathBuf;
use std::time::Duration;

use bytes::BytesMut;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

use super::head::{HeadError, Request, Response};

/// What a question of our own may take.
const WITHIN: Duration = Duration::from_secs(10);

/// dockerd behind a unix socket.
#[derive(Debug)]
pub(crate) struct Engine {
    socket: PathBuf,
}

/// dockerd did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("cannot connect to {}: {cause}", socket.display())]
    Connect { socket: PathBuf, cause: std::io::Error },
    #[error("cannot send to dockerd")]
    Send(#[source] std::io::Error),
    #[error("cannot read the answer of dockerd")]
    Answer(#[from] HeadError),
    #[error("dockerd answers {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("dockerd did not answer within {} s", WITHIN.as_secs())]
    TimedOut,
}

/// What dockerd made of a request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// For the client, as it came.
    pub(crate) bytes: Vec<u8>,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it is so now, be it that it was so before.
    pub(crate) fn is_done(&self) -> bool {
        self.is_success() || self.status == 304
    }

    fn message(&self) -> String {
        let said: Option<Value> = serde_json::from_slice(&self.body).ok();
        said.and_then(|said| Some(said.get("message")?.as_str()?.to_owned())).unwrap_or_default()
    }
}

impl Engine {
    pub(crate) fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    pub(crate) async fn connect(&self) -> Result<UnixStream, EngineError> {
        let connecting = UnixStream::connect(&self.socket).await;
        connecting.map_err(|cause| EngineError::Connect { socket: self.socket.clone(), cause })
    }

    /// Sends a client's request, with this body. As long as dockerd takes.
    pub(crate) async fn send(&self, mut request: Request, body: &[u8]) -> Result<Answer, EngineError> {
        let headers = &mut request.headers;
        headers.remove("Transfer-Encoding");
        headers.remove("Expect");
        headers.set("Content-Length", &body.len().to_string());
        headers.set("Connection", "close");
        let mut bytes = request.to_bytes();
        bytes.extend_from_slice(body);
        let mut stream = self.connect().await?;
        stream.write_all(&bytes).await.map_err(EngineError::Send)?;
        let mut buffer = BytesMut::new();
        let response = Response::read(&mut stream, &mut buffer).await?;
        let body = response.body(&mut stream, &mut buffer).await?;
        let mut bytes = response.bytes.clone();
        bytes.extend(super::reframed(&response, body.clone()));
        Ok(Answer { bytes, status: response.status, body })
    }

    /// Asks something of our own. `None` for a container that is not there.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Value>, EngineError> {
        let mut request =
            Request { method: method.to_owned(), target: path.to_owned(), headers: super::head::Headers::default() };
        request.headers.set("Host", "docker");
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            request.headers.set("Content-Type", "application/json");
        }
        let answer = tokio::time::timeout(WITHIN, self.send(request, body.as_bytes())).await;
        let answer = answer.map_err(|_elapsed| EngineError::TimedOut)??;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_success() => Ok(Some(serde_json::from_slice(&answer.body).unwrap_or_default())),
            status => Err(EngineError::Refused { status, message: answer.message() }),
        }
    }

    /// Name and version.
    pub(crate) async fn version(&self) -> Result<String, EngineError> {
        let said = self.ask("GET", "/version", None).await?.unwrap_or_default();
        Ok(format!("docker {}", said.get("Version").and_then(Value::as_str).unwrap_or("of no version")))
    }
}

/// An answer that dockerd did not give, as it would give it.
pub(crate) fn refusal(status: StatusCode, message: &str) -> Vec<u8> {
    let body = json!({ "message": message }).to_string();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
