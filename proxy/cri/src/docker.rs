//! The Docker Engine API in the place of the CRI, for cri-dockerd: the same hooks on the calls that make, start, change and end
//! containers, and every other byte as it is.
//!
//! A connection carries one request: both sides are told that it closes after the answer, as HTTP/1.1 provides for, so what is
//! not hooked is copied both ways without a look, hijacked streams with their half-closes included. Owns the wire; who is asked
//! and what is noted is in `hooks::docker`.

use std::sync::Arc;

use bytes::BytesMut;
use http::StatusCode;
use tokio::io::{AsyncWriteExt, copy};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::hooks::Hooks;

pub(crate) mod config;
mod engine;
mod head;
mod route;

pub(crate) use engine::{Answer, Engine, EngineError, refusal};
pub(crate) use head::Request;
use head::{HeadError, Response};
pub(crate) use route::Call;

/// Answers the one request of a client.
pub(crate) async fn serve(stream: UnixStream, engine: Arc<Engine>, hooks: Arc<Hooks>, stop: CancellationToken) {
    if let Err(error) = answer(stream, &engine, &hooks, &stop).await {
        debug!(error = %reeve_process::error_chain(&error), "client connection ended");
    }
}

async fn answer(
    mut stream: UnixStream,
    engine: &Arc<Engine>,
    hooks: &Arc<Hooks>,
    stop: &CancellationToken,
) -> Result<(), HeadError> {
    let mut buffer = BytesMut::with_capacity(8 << 10);
    let read = tokio::select! {
        read = Request::read(&mut stream, &mut buffer) => read,
        // Who has not asked anything yet asks whoever took over.
        () = stop.cancelled() => return Ok(()),
    };
    let request = match read {
        Ok(Some(request)) => request,
        Ok(None) => return Ok(()),
        Err(error) => {
            let answer = refusal(StatusCode::BAD_REQUEST, &error.to_string());
            return stream.write_all(&answer).await.map_err(HeadError::Read);
        }
    };
    let call = Call::find(&request.method, &request.target).filter(|_| hooks.has_plugins());
    let Some(call) = call else { return pass(stream, buffer, request, engine).await };
    if request.headers.has("expect", "100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(HeadError::Read)?;
    }
    let answer = match request.body(&mut stream, &mut buffer).await {
        Ok(body) => hooks.docker(engine, call, request, body).await,
        Err(error) => refusal(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    stream.write_all(&answer).await.map_err(HeadError::Read)
}

/// Sends a request on and its answer back, without a look at either.
async fn pass(mut stream: UnixStream, read: BytesMut, mut request: Request, engine: &Engine) -> Result<(), HeadError> {
    let mut backend = match engine.connect().await {
        Ok(backend) => backend,
        Err(error) => {
            let answer = refusal(StatusCode::BAD_GATEWAY, &error.to_string());
            return stream.write_all(&answer).await.map_err(HeadError::Read);
        }
    };
    let is_upgrade = request.is_upgrade();
    if !is_upgrade {
        request.headers.set("Connection", "close");
    }
    let mut first = request.to_bytes();
    first.extend_from_slice(&read);
    backend.write_all(&first).await.map_err(HeadError::Read)?;
    if is_upgrade { upgrade(stream, backend).await } else { exchange(stream, backend).await }
}

/// Copies both ways until the server has answered and closed.
async fn exchange(mut stream: UnixStream, mut backend: UnixStream) -> Result<(), HeadError> {
    let (mut from_client, mut to_client) = stream.split();
    let (mut from_server, mut to_server) = backend.split();
    let up = async {
        copy(&mut from_client, &mut to_server).await?;
        // The client is gone, or done: dockerd takes both for the end of the request, as it would without us.
        to_server.shutdown().await
    };
    let down = async {
        copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::pin!(up, down);
    tokio::select! {
        ended = &mut down => ended,
        ended = &mut up => match ended {
            Ok(()) => down.await,
            // What the server still has to say, such as why it reads no more, is worth more.
            Err(_broken) => down.await,
        },
    }
    .map_err(HeadError::Read)
}

/// Hands the connection over if the server agrees. If it does not, nothing more of the client may reach it: it would be a
/// request that no hook has seen.
async fn upgrade(mut stream: UnixStream, mut backend: UnixStream) -> Result<(), HeadError> {
    let (mut from_client, mut to_client) = stream.split();
    let (mut from_server, mut to_server) = backend.split();
    let mut buffer = BytesMut::new();
    let up = async {
        let ended = copy(&mut from_client, &mut to_server).await;
        let _ = to_server.shutdown().await;
        ended
    };
    tokio::pin!(up);
    let mut is_up_done = false;
    let response = {
        let reading = Response::read(&mut from_server, &mut buffer);
        tokio::pin!(reading);
        tokio::select! {
            response = &mut reading => response?,
            _ended = &mut up => {
                is_up_done = true;
                reading.await?
            }
        }
    };
    to_client.write_all(&response.bytes).await.map_err(HeadError::Read)?;
    if !response.is_hijacked() {
        let body = response.body(&mut from_server, &mut buffer).await;
        return match body {
            // As it was framed, but for chunks, which are given as they were read: the connection ends here.
            Ok(body) => to_client.write_all(&reframed(&response, body)).await.map_err(HeadError::Read),
            Err(error) => Err(error),
        };
    }
    to_client.write_all(&buffer).await.map_err(HeadError::Read)?;
    let down = async {
        copy(&mut from_server, &mut to_client).await?;
        to_client.shutdown().await
    };
    if is_up_done {
        return down.await.map_err(HeadError::Read);
    }
    let (up, down) = tokio::join!(up, down);
    up.map(drop).and(down).map_err(HeadError::Read)
}

/// The body as the head of its response says that it is framed.
fn reframed(response: &Response, body: Vec<u8>) -> Vec<u8> {
    if !matches!(response.headers.framing(), Ok(head::Framing::Chunked)) {
        return body;
    }
    let mut framed = Vec::new();
    if !body.is_empty() {
        framed = format!("{:x}\r\n", body.len()).into_bytes();
        framed.extend(body);
        framed.extend_from_slice(b"\r\n");
    }
    framed.extend_from_slice(b"0\r\n\r\n");
    framed
}
