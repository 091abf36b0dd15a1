//! The body of a request on its way to a pod: never kept whole, but for what is read of it while it waits.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

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
