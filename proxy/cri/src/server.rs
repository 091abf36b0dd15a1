//! Accepts clients and lets their calls through until it is told to stop, then lets those under way end.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use crate::backend::{CONNECTION_WINDOW, HEADER_LIST, STREAM_WINDOW};
use crate::hooks::Hooks;
use crate::proxy::Session;

/// Before the next try when there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Has `serve_one` serve each client of `listener` until `stop`; returns when the last call is over, however long that takes: a
/// pull or an exec may have no deadline, and to cut it off would be a failure that the backend did not have.
pub(crate) async fn serve<F>(
    listener: Arc<UnixListener>,
    hooks: Arc<Hooks>,
    stop: CancellationToken,
    serve_one: impl Fn(UnixStream, CancellationToken) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let clients = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => drop(clients.spawn(serve_one(stream, stop.clone()))),
            Err(error) => {
                warn!(%error, "cannot accept a client");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    clients.close();
    clients.wait().await;
    hooks.drain().await;
}

/// Serves a client that speaks the CRI.
pub(crate) async fn client(stream: UnixStream, session: Arc<Session>, stop: CancellationToken) {
    let service = service_fn(move |request| {
        let session = Arc::clone(&session);
        async move { session.call(request).await }
    });
    // Peers allow more than hyper's defaults do, and a limit of ours would be a failure that the backend does not have.
    let connection = Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .max_concurrent_streams(None)
        .max_header_list_size(HEADER_LIST)
        .max_local_error_reset_streams(None)
        .max_pending_accept_reset_streams(usize::MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            // The client opens another connection for its next call; those under way end on this one.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(error = %reeve_process::error_chain(&error), "client connection ended");
    }
}
