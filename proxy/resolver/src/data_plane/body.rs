//! Bodies that pass through: never kept whole, but for what is read of a request while it waits.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::rule::InFlight;
use super::tap::NextHead;
use super::upstream::{Http1Body, Load};

/// A request's body on its way to a pod.
pub(crate) struct RequestBody {
    ahead: VecDeque<Bytes>,
    rest: Option<Incoming>,
    trailers: Option<HeaderMap>,
}

impl RequestBody {
    pub(crate) fn new(rest: Incoming) -> Self {
        Self { ahead: VecDeque::new(), rest: Some(rest), trailers: None }
    }

    /// How much was read ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.ahead.iter().map(Bytes::len).sum()
    }

    /// Reads one more piece while the request waits. This is also how a client that goes away is noticed.
    pub(crate) async fn read_ahead(&mut self) -> ReadAhead {
        let Some(rest) = self.rest.as_mut().filter(|rest| !rest.is_end_stream()) else { return ReadAhead::End };
        let frame = match poll_fn(|cx| Pin::new(&mut *rest).poll_frame(cx)).await {
            Some(Ok(frame)) => frame,
            Some(Err(_)) => return ReadAhead::Broken,
            None => return ReadAhead::End,
        };
        match frame.into_data() {
            Ok(data) => {
                let length = data.remaining();
                self.ahead.push_back(data);
                ReadAhead::More(length)
            }
            Err(frame) => {
                self.trailers = frame.into_trailers().ok();
                self.rest = None;
                ReadAhead::End
            }
        }
    }
}

/// What came of reading ahead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ReadAhead {
    More(usize),
    End,
    Broken,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(bytes) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(rest) = &mut self.rest {
            if let Some(frame) = ready!(Pin::new(rest).poll_frame(cx)) {
                return Poll::Ready(Some(frame));
            }
            self.rest = None;
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_empty() && self.trailers.is_none() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.ahead() as u64;
        let rest = self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + ahead);
        // A body that ends in trailers has no length that could be told.
        if let Some(upper) = rest.upper().filter(|_| self.trailers.is_none()) {
            hint.set_upper(upper + ahead);
        }
        hint
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").field("ahead", &self.ahead()).finish_non_exhaustive()
    }
}

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
