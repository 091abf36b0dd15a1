//! Serves one client's connection: finds out what it speaks, and bounds what it may send.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::forward::{Client, handle_http1, handle_http2};
use super::prefixed::Prefixed;
use super::settings::PathMode;
use super::tap::Socket;

/// How HTTP/2 begins where nobody asked for it first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Until the first byte, and until the whole head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
const MAX_STREAMS: u32 = 1000;
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// A client that vanished without a word is noticed.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(20);

/// Serves until the client goes, or until `stop`: then what is under way ends, and nothing new begins.
pub(crate) async fn serve<S>(mut stream: S, client: Client, stop: CancellationToken)
where
    S: Socket,
{
    let begin = tokio::select! {
        begin = timeout(HEAD_WITHIN, read_begin(&mut stream)) => begin,
        () = stop.cancelled() => return,
    };
    let Ok(Ok((read, is_http2))) = begin else { return };
    let stream = Prefixed::new(read.freeze(), stream);
    let ended = if is_http2 {
        serve_http2(stream, client, stop).await
    } else {
        serve_http1(stream.tapped(Arc::clone(&client.tap)), client, stop).await
    };
    if let Err(error) = ended {
        debug!(error = %reeve_process::error_chain(&error), "client connection ended");
    }
}

/// Reads until it is clear whether this is HTTP/2.
async fn read_begin<S: AsyncRead + Unpin>(stream: &mut S) -> std::io::Result<(BytesMut, bool)> {
    let mut read = BytesMut::with_capacity(1024);
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let known = read.len().min(PREFACE.len());
        if read[..known] != PREFACE[..known] {
            return Ok((read, false));
        }
        if known == PREFACE.len() {
            return Ok((read, true));
        }
    }
}

async fn serve_http1<S>(stream: Prefixed<S>, client: Client, stop: CancellationToken) -> Result<(), hyper::Error>
where
    S: Socket,
{
    let client = Arc::new(client);
    let service = service_fn(move |request| {
        let client = Arc::clone(&client);
        async move { handle_http1(&client, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

async fn serve_http2<S>(stream: Prefixed<S>, client: Client, stop: CancellationToken) -> Result<(), hyper::Error>
where
    S: Socket,
{
    let client = Arc::new(client);
    let mut settings = client.lane.rule.watch();
    let service = service_fn(move |request| {
        let client = Arc::clone(&client);
        async move { handle_http2(&client, request).await }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        // GOAWAY: streams under way end here, the next go where traffic is led by then.
        _ = settings.wait_for(|path| *path == PathMode::Leave) => connection.as_mut().graceful_shutdown(),
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
