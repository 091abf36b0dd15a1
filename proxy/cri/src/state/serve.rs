//! Answers readers of the local socket. Whoever may open it is root.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{Either, Full, StreamBody};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinSet;
use tracing::debug;

use super::{Decision, State, client};
use crate::recording::Line;

const MAX_CONNECTIONS: usize = 16;
const WHOLE_WITHIN: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The socket cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {}", path.display())]
pub(crate) struct ListenError {
    path: PathBuf,
    #[source]
    cause: std::io::Error,
}

/// Listens on `path`, in the place of whoever did before: the proxy that this one takes over from.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, ListenError> {
    let bind = || {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        // Renamed when it is ready, so that nobody finds it open to all, or not there.
        let fresh = path.with_extension(format!("{}.new", std::process::id()));
        let _ = fs::remove_file(&fresh);
        let listener = UnixListener::bind(&fresh)?;
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        fs::rename(&fresh, path)?;
        Ok(listener)
    };
    bind().map_err(|cause| ListenError { path: path.to_owned(), cause })
}

/// What readers may ask for.
pub(crate) trait Source: Clone + Send + Sync + 'static {
    fn state(&self) -> State;
    fn decisions(&self) -> Vec<Decision>;
    /// Every hooked call from now on, one JSON document a line.
    fn record(&self) -> broadcast::Receiver<Bytes>;
}

type Lines = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;
type Answer = Response<Either<Full<Bytes>, Lines>>;

/// Serves for ever; dropping the future cuts every connection.
pub(crate) async fn serve(listener: UnixListener, source: impl Source) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(slot) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let source = source.clone();
        connections.spawn(async move {
            answer_one(stream, source).await;
            drop(slot);
        });
    }
}

async fn answer_one(stream: UnixStream, source: impl Source) {
    let recorded = AtomicBool::new(false);
    let service = service_fn(|request| {
        let answer = answer(&request, &source);
        recorded.store(matches!(answer.body(), Either::Right(_)), Ordering::Relaxed);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = match tokio::time::timeout(WHOLE_WITHIN, &mut connection).await {
        Ok(ended) => ended.is_ok(),
        // A recording goes on for as long as somebody reads it.
        Err(_elapsed) if recorded.load(Ordering::Relaxed) => connection.await.is_ok(),
        Err(_elapsed) => false,
    };
    if !ended {
        debug!("a reader of the state went away");
    }
}

fn answer<B>(request: &Request<B>, source: &impl Source) -> Answer {
    let mut response = Response::new(Either::Left(Full::default()));
    let text = match (request.method(), request.uri().path()) {
        (&Method::GET, client::STATE) => serde_json::to_vec(&source.state()),
        (&Method::GET, client::DECISIONS) => serde_json::to_vec(&source.decisions()),
        (&Method::GET, client::RECORDING) => {
            *response.body_mut() = Either::Right(lines(source.record()));
            return response;
        }
        _ => {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        }
    };
    *response.body_mut() = Either::Left(Full::new(text.unwrap_or_default().into()));
    response
}

/// The lines of a recording, and how many the reader was too slow for.
fn lines(calls: broadcast::Receiver<Bytes>) -> Lines {
    let next = async |mut calls: broadcast::Receiver<Bytes>| {
        let line = match calls.recv().await {
            Ok(line) => line,
            Err(RecvError::Lagged(missed)) => Line::Missed(missed).to_text(),
            Err(RecvError::Closed) => return None,
        };
        Some((Ok(Frame::data(line)), calls))
    };
    StreamBody::new(Box::pin(futures::stream::unfold(calls, next)))
}
