//! The body of a response on its way to a client.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::rule::InFlight;
use super::tap::NextHead;
use super::upstream::{Http1Body, Load};

/// A response's body on its way to a client. What it keeps counted ends with it.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    source: Source,
    _flight: Option<InFlight>,
    next: Option<NextHead>,
}

#[derive(Debug)]
enum Source {
    Fixed(Option<Bytes>),
    Http1(Http1Body),
    Http2 { incoming: Incoming, _load: Load },
}

impl ResponseBody {
    pub(crate) fn fixed(bytes: Bytes) -> Self {
        Self { source: Source::Fixed(Some(bytes).filter(|bytes| !bytes.is_empty())), _flight: None, next: None }
    }

    pub(crate) fn http1(body: Http1Body, flight: Option<InFlight>) -> Self {
        Self { source: Source::Http1(body), _flight: flight, next: None }
    }

    pub(crate) fn http2(incoming: Incoming, load: Load, flight: Option<InFlight>) -> Self {
        Self { source: Source::Http2 { incoming, _load: load }, _flight: flight, next: None }
    }
}

impl ResponseBody {
    /// Until this body is over no other request begins.
    pub(crate) fn ends_before(&mut self, next: NextHead) {
        self.next = Some(next);
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.source {
            Source::Fixed(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Source::Http1(body) => Pin::new(body).poll_frame(cx),
            Source::Http2 { incoming, .. } => Pin::new(incoming).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Fixed(bytes) => bytes.is_none(),
            Source::Http1(body) => body.is_end_stream(),
            Source::Http2 { incoming, .. } => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Fixed(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Source::Http1(body) => body.size_hint(),
            Source::Http2 { incoming, .. } => incoming.size_hint(),
        }
    }
}
