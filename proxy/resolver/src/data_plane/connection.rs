//! Serves one client's connection: finds out what it speaks, and bounds what it may send.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use self::entry::Entry;
use super::forward::{Client, handle_http1, handle_http2};
use super::prefixed::Prefixed;
use super::raw;
use super::settings::PathMode;
use super::tap::Socket;

mod entry;

/// How HTTP/2 begins where nobody asked for it first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How TLS begins: a handshake record of version 3.
const HANDSHAKE: &[u8] = &[0x16, 0x03];
/// How a question of the switch begins.
const PROBE: &[u8] = b"GET /.well-known/reeve-probe HTTP/1.1\r\n";
/// Until the first byte, and until the whole head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// Until the first byte of a connection, once the process is to end.
const FIRST_BYTE_WITHIN: Duration = Duration::from_secs(1);
/// How often heads are looked at that do not come to an end.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Longer than clients keep idle connections, so that it is they who close them: a request that crosses our close would
/// be lost.
const IDLE_WITHIN: Duration = Duration::from_mins(10);
/// How long a client of bytes may be silent before the server is let speak first.
const SILENCE: Duration = Duration::from_millis(50);
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
const MAX_STREAMS: u32 = 1000;
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// A client that vanished without a word is noticed.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(20);

/// Serves until the client goes, or until `stop`: then what is under way ends, and nothing new begins.
pub(crate) async fn serve<S>(stream: S, mut client: Client, stop: CancellationToken)
where
    S: Socket,
{
    let speaks = client.lane.speaks();
    if !speaks.accepts_header && speaks.tls.is_none() {
        return serve_plain(stream, client, stop).await;
    }
    let entry = tokio::select! {
        biased;
        entry = timeout(HEAD_WITHIN, entry::enter(stream, &speaks, &client.secrets)) => entry,
        () = last_chance(&stop) => return,
    };
    match entry {
        Ok(Ok(Entry::Plain(stream, from))) => {
            client.sender.address = from.unwrap_or(client.sender.address);
            serve_plain(stream, client, stop).await;
        }
        Ok(Ok(Entry::Tls(stream, from))) => {
            client.sender.address = from.unwrap_or(client.sender.address);
            client.sender.encrypted = true;
            serve_plain(*stream, client, stop).await;
        }
        Ok(Err(error)) => debug!(%error, rule = %client.lane.rule.key, "a connection did not begin as it should"),
        Err(_) => debug!(rule = %client.lane.rule.key, "a connection did not begin in time"),
    }
}

async fn serve_plain<S>(mut stream: S, client: Client, stop: CancellationToken)
where
    S: Socket,
{
    let begin = tokio::select! {
        biased;
        begin = read_begin(&mut stream, client.lane.is_raw()) => begin,
        () = last_chance(&stop) => return,
    };
    let Ok((read, speaks)) = begin else { return };
    let stream = Prefixed::new(read.freeze(), stream);
    let ended = match speaks {
        Speaks::Http1 => serve_http1(stream.tapped(Arc::clone(&client.tap)), client, stop).await,
        Speaks::Http2 => serve_http2(stream, client, stop).await,
        Speaks::Bytes => {
            raw::pass(stream, &client).await;
            Ok(())
        }
    };
    if let Err(error) = ended {
        debug!(error = %reeve_process::error_chain(&error), "client connection ended");
    }
}

/// Resolves some time after `stop`: a client that has just connected is about to say something, and loses it if the
/// connection is closed first.
async fn last_chance(stop: &CancellationToken) {
    stop.cancelled().await;
    sleep(FIRST_BYTE_WITHIN).await;
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Speaks {
    Http1,
    Http2,
    /// TLS, or what the Service says.
    Bytes,
}

/// Reads until it is clear what the client speaks.
async fn read_begin<S: Socket>(stream: &mut S, is_raw: bool) -> std::io::Result<(BytesMut, Speaks)> {
    let mut read = BytesMut::with_capacity(1024);
    if is_raw {
        return match timeout(SILENCE, stream.read_buf(&mut read)).await {
            Ok(Ok(0)) => Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(Err(error)) => Err(error),
            // The switch asks every port alike who answers there.
            Ok(Ok(_)) if read.starts_with(PROBE) => Ok((read, Speaks::Http1)),
            Ok(Ok(_)) | Err(_) => Ok((read, Speaks::Bytes)),
        };
    }
    match timeout(HEAD_WITHIN, detect_protocol(stream, &mut read)).await {
        Ok(told) => told.map(|speaks| (read, speaks)),
        Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
    }
}

async fn detect_protocol<S: Socket>(stream: &mut S, read: &mut BytesMut) -> std::io::Result<Speaks> {
    loop {
        if stream.read_buf(read).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if read.starts_with(HANDSHAKE) {
            return Ok(Speaks::Bytes);
        }
        let known = read.len().min(PREFACE.len());
        if read[..known] == PREFACE[..known] && known == PREFACE.len() {
            return Ok(Speaks::Http2);
        }
        if read[..known] != PREFACE[..known] && *read != HANDSHAKE[..1] {
            return Ok(Speaks::Http1);
        }
    }
}

async fn serve_http1<S>(stream: Prefixed<S>, client: Client, stop: CancellationToken) -> Result<(), hyper::Error>
where
    S: Socket,
{
    let tap = Arc::clone(&client.tap);
    let client = Arc::new(client);
    let service = service_fn(move |request| {
        let client = Arc::clone(&client);
        async move { handle_http1(&client, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_WITHIN)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut looks = interval(LOOK_EVERY);
    let mut stopped = false;
    loop {
        tokio::select! {
            // The connection goes first: one that was not polled yet counts as idle, and what was read of it would be lost.
            biased;
            ended = connection.as_mut() => return ended,
            () = stop.cancelled(), if !stopped => {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = looks.tick() => if tap.head_age() > HEAD_WITHIN {
                return Ok(());
            },
        }
    }
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
        biased;
        ended = connection.as_mut() => return ended,
        // GOAWAY: streams under way end here, the next go where traffic is led by then.
        _ = settings.wait_for(|path| *path == PathMode::Leave) => connection.as_mut().graceful_shutdown(),
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
