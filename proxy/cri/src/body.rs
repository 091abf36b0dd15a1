//! The body of a message that passes: what was read of it, the rest as it comes, and trailers.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame};
use hyper::body::Incoming;

use crate::grpc;

/// A request's or response's body. It never tells its size: hyper would add a `content-length` that the sender did not
/// write.
#[derive(Debug, Default)]
pub(crate) struct Body {
    read: VecDeque<Bytes>,
    rest: Option<Incoming>,
    trailers: Option<HeaderMap>,
    /// A connection that breaks ends the stream with the status that gRPC has for it, instead of with an error.
    ends_as_unavailable: bool,
}

impl Body {
    /// A request as it comes.
    pub(crate) fn request(rest: Incoming) -> Self {
        Self { rest: Some(rest), ..Self::default() }
    }

    /// A response as it comes from the backend.
    pub(crate) fn response(rest: Incoming) -> Self {
        Self { rest: Some(rest), ends_as_unavailable: true, ..Self::default() }
    }

    /// Bytes that are known already.
    pub(crate) fn of(bytes: Bytes) -> Self {
        Self { read: [bytes].into(), ..Self::default() }
    }

    /// Puts `read`, which was taken from the body's beginning, back in front of it.
    pub(crate) fn preceded_by(mut self, read: impl IntoIterator<Item = Bytes>) -> Self {
        self.read = read.into_iter().collect();
        self
    }

    pub(crate) fn with_trailers(mut self, trailers: Option<HeaderMap>) -> Self {
        self.trailers = trailers;
        self
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if let Some(bytes) = this.read.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(rest) = &mut this.rest {
            match std::task::ready!(Pin::new(rest).poll_frame(cx)) {
                Some(Err(error)) if this.ends_as_unavailable && !grpc::is_reset(&error) => {
                    this.rest = None;
                    let trailers = grpc::trailers(&grpc::lost(&error));
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Some(frame) => return Poll::Ready(Some(frame)),
                None => this.rest = None,
            }
        }
        Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.trailers.is_none() && self.rest.as_ref().is_none_or(HttpBody::is_end_stream)
    }
}
