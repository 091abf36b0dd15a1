//! Sends a hooked call on and reads its answer, which is unary.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use tokio::time::Instant;

use crate::backend::{Backend, SendError};
use crate::body::Body;
use crate::call::Method;
use crate::grpc;

/// A call whose request has been read.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) backend: Arc<Backend>,
    pub(super) method: Method,
    pub(super) head: Parts,
    /// The body as it came.
    pub(super) body: Bytes,
    pub(super) begun: Instant,
}

/// What the backend made of a call.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) response: Result<Response<Body>, hyper::Error>,
    /// The message, if the call succeeded.
    pub(super) message: Option<Bytes>,
}

impl Call {
    /// `/runtime.v1.RuntimeService/` or that of another version.
    pub(super) fn service(&self) -> String {
        let path = self.head.uri.path();
        path.rfind('/').map_or_else(String::new, |end| path[..=end].to_owned())
    }

    /// How long the caller waits altogether, if it says so.
    pub(super) fn timeout(&self) -> Option<Duration> {
        grpc::timeout(&self.head.headers)
    }

    /// Sends the call with this message, or as it came.
    pub(super) async fn forward(&self, message: Option<&[u8]>) -> Answer {
        let body = message.and_then(grpc::frame).unwrap_or_else(|| self.body.clone());
        let sent = match self.backend.send(self.request(body.clone())).await {
            // It was surely not looked at.
            Err(SendError::Broken(error)) if grpc::is_refused(&error) => self.backend.send(self.request(body)).await,
            sent => sent,
        };
        let response = match sent {
            Ok(response) => response,
            Err(SendError::Broken(error)) if grpc::is_reset(&error) => {
                return Answer { response: Err(error), message: None };
            }
            Err(error) => return Answer { response: Ok(grpc::refusal(&error.status())), message: None },
        };
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(collected) => {
                let trailers = collected.trailers().cloned();
                let bytes = collected.to_bytes();
                let message = trailers.as_ref().is_some_and(is_ok).then(|| grpc::unframe(bytes.clone())).flatten();
                let body = if bytes.is_empty() { Body::default() } else { Body::of(bytes) };
                Answer { response: Ok(Response::from_parts(head, body.with_trailers(trailers))), message }
            }
            Err(error) if grpc::is_reset(&error) => Answer { response: Err(error), message: None },
            Err(error) => Answer { response: Ok(grpc::refusal(&grpc::lost(&error))), message: None },
        }
    }

    fn request(&self, body: Bytes) -> Request<Body> {
        let mut request = Request::from_parts(self.head.clone(), Body::of(body));
        let headers = request.headers_mut();
        headers.remove(http::header::CONTENT_LENGTH);
        // The answer is read here.
        headers.remove("grpc-accept-encoding");
        if let Some(timeout) = self.timeout() {
            grpc::set_timeout(headers, timeout.saturating_sub(self.begun.elapsed()));
        }
        request
    }
}

fn is_ok(trailers: &HeaderMap) -> bool {
    trailers.get("grpc-status").is_some_and(|status| status == "0")
}
