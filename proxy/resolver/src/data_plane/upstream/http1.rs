//! HTTP/1.1 to a pod. The connection has no task of its own: whoever waits for its response drives it, so that a request
//! crosses no queue between tasks.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::{Answer, Endpoint, Load, SendError, Unconnected};
use crate::data_plane::pod_stream::{PodStream, Spoken, Way};
use crate::data_plane::prefixed::Prefixed;
use crate::data_plane::request_body::RequestBody;

type Connection = hyper::client::conn::http1::Connection<TokioIo<PodStream>, RequestBody>;

const MAX_HEADERS: usize = 256;
const MAX_HEAD_BYTES: usize = 256 * 1024;

/// A connection to a pod.
pub(crate) struct Http1 {
    sender: SendRequest<RequestBody>,
    connection: Connection,
    ended: bool,
    /// Whether another client may have it next.
    is_shared: bool,
}

pub(super) async fn send(
    endpoint: &Arc<Endpoint>,
    request: Request<RequestBody>,
    way: &Way,
    load: Load,
) -> Result<Answer, SendError> {
    let address = endpoint.address;
    let idle = if way.is_shared() { reuse(endpoint).await } else { None };
    let mut connection = match idle {
        Some(connection) => connection,
        None => match Http1::connect(endpoint, way).await {
            Ok(connection) => connection,
            Err(failed) => return Err(failed.with(address, request)),
        },
    };
    let response = match connection.send(request).await {
        Ok(response) => response,
        Err(mut failed) => {
            return Err(match failed.take_message() {
                Some(request) => SendError::Unsent { address, request: Box::new(request), cause: failed.into_error() },
                None => SendError::Broken { address, cause: failed.into_error() },
            });
        }
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let tunnel = Tunnel { connection, _load: load };
        return Ok(Answer::Upgraded(response.map(drop), Box::new(tunnel)));
    }
    let (head, incoming) = response.into_parts();
    let mut body = Http1Body { incoming, connection: Some(connection), load: Some(load) };
    if body.incoming.is_end_stream() {
        poll_fn(|cx| {
            body.end(cx);
            Poll::Ready(())
        })
        .await;
    }
    Ok(Answer::Http1(Response::from_parts(head, body)))
}

/// An idle connection that still lives.
async fn reuse(endpoint: &Endpoint) -> Option<Box<Http1>> {
    while let Some(mut connection) = endpoint.take_idle() {
        if poll_fn(|cx| Poll::Ready(connection.is_reusable(cx))).await {
            return Some(connection);
        }
    }
    None
}

impl Http1 {
    async fn connect(endpoint: &Endpoint, way: &Way) -> Result<Box<Self>, Unconnected> {
        let stream = endpoint.connect_by(way, Spoken::Http1).await?;
        let handshake =
            Builder::new().max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream)).await;
        let handshake = handshake.map_err(|error| Unconnected::Connect(std::io::Error::other(error)));
        let (sender, connection) = handshake?;
        Ok(Box::new(Self { sender, connection, ended: false, is_shared: way.is_shared() }))
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        // Whatever it ends with is told to whoever waits for the response or the body.
        self.ended = self.ended || self.connection.poll_without_shutdown(cx).is_ready();
    }

    /// Whether the exchange before is over and the pod has not hung up.
    fn is_reusable(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        !self.ended && self.is_shared && self.sender.is_ready()
    }

    async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, hyper::client::conn::TrySendError<Request<RequestBody>>> {
        let mut response = pin!(self.sender.try_send_request(request));
        poll_fn(|cx| {
            self.ended = self.ended || self.connection.poll_without_shutdown(cx).is_ready();
            response.as_mut().poll(cx)
        })
        .await
    }
}

impl fmt::Debug for Http1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// The body of a response. When it is over its connection goes back to the pool.
#[derive(Debug)]
pub(crate) struct Http1Body {
    incoming: Incoming,
    connection: Option<Box<Http1>>,
    load: Option<Load>,
}

impl Http1Body {
    fn end(&mut self, cx: &mut Context<'_>) {
        let (Some(mut connection), Some(load)) = (self.connection.take(), self.load.take()) else { return };
        // Not so if the pod answered before it had the whole request: the rest of that would be in the way.
        if connection.is_reusable(cx) {
            load.endpoint.put_idle(connection);
        }
    }
}

impl Body for Http1Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let mut polled = Pin::new(&mut this.incoming).poll_frame(cx);
        if polled.is_pending() {
            if let Some(connection) = &mut this.connection {
                connection.drive(cx);
            }
            polled = Pin::new(&mut this.incoming).poll_frame(cx);
        }
        match &polled {
            Poll::Ready(None) => this.end(cx),
            Poll::Ready(Some(Ok(_))) if this.incoming.is_end_stream() => this.end(cx),
            Poll::Ready(Some(_)) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// A connection that speaks another protocol from now on.
#[derive(Debug)]
pub(crate) struct Tunnel {
    connection: Box<Http1>,
    _load: Load,
}

impl Tunnel {
    /// Carries bytes both ways until both sides have ended, or one has failed.
    pub(crate) async fn run(self, client: OnUpgrade) {
        let Self { mut connection, _load } = self;
        // The connection ends, as far as HTTP goes, when it is polled once more.
        poll_fn(|cx| {
            connection.drive(cx);
            if connection.ended { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let parts = connection.connection.into_parts();
        let mut pod = Prefixed::new(parts.read_buf, parts.io.into_inner());
        let mut client = match client.await {
            Ok(client) => TokioIo::new(client),
            Err(error) => {
                tracing::debug!(error = %reeve_process::error_chain(&error), "an upgrade came to nothing");
                return;
            }
        };
        if let Err(error) = tokio::io::copy_bidirectional(&mut client, &mut pod).await {
            tracing::debug!(%error, "an upgraded connection broke off");
        }
    }
}
