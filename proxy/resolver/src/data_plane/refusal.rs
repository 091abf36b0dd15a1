//! What a client gets when no pod answers it: a status that its protocol knows, and when to come again. Pure.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};

use super::answer::FixedResponse;
use super::headers::Malformed;
use super::hold;
use super::response_body::ResponseBody;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const UNAVAILABLE: &str = "14";
const DEADLINE_EXCEEDED: &str = "4";
const INTERNAL: &str = "13";

/// Why a request is not answered by a pod.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the target did not wake in time")]
    HeldTooLong,
    #[error("too many requests wait already")]
    TooMany,
    #[error("waiting requests take too much memory")]
    TooMuchMemory,
    #[error("too many requests of this client wait already")]
    TooManyOfClient,
    #[error("the target sleeps, and requests from here do not wake it")]
    Asleep,
    #[error("the target is waking")]
    Waking,
    #[error("this port is served no more")]
    Closed,
    #[error("this resolver is shutting down")]
    Draining,
    #[error("the client has gone")]
    Gone,
    #[error("the pod broke off")]
    PodFailed,
    #[error("{0}")]
    Malformed(Malformed),
}

impl From<hold::Refusal> for Refused {
    fn from(refusal: hold::Refusal) -> Self {
        match refusal {
            hold::Refusal::Requests => Self::TooMany,
            hold::Refusal::Memory => Self::TooMuchMemory,
            hold::Refusal::Client => Self::TooManyOfClient,
        }
    }
}

impl Refused {
    fn status(self) -> StatusCode {
        match self {
            Self::HeldTooLong => StatusCode::GATEWAY_TIMEOUT,
            Self::TooMany
            | Self::TooMuchMemory
            | Self::TooManyOfClient
            | Self::Asleep
            | Self::Waking
            | Self::Closed
            | Self::Gone
            | Self::Draining => StatusCode::SERVICE_UNAVAILABLE,
            Self::PodFailed => StatusCode::BAD_GATEWAY,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
        }
    }

    fn grpc_status(self) -> &'static str {
        match self.status() {
            StatusCode::GATEWAY_TIMEOUT => DEADLINE_EXCEEDED,
            StatusCode::BAD_REQUEST => INTERNAL,
            _ => UNAVAILABLE,
        }
    }

    /// `retry_after` in seconds, for those that may come again.
    pub(crate) fn response(self, protocol: Protocol, retry_after: u64) -> Response<ResponseBody> {
        match protocol {
            Protocol::Grpc => self.grpc_response(),
            Protocol::Http => self.http_response(retry_after),
        }
    }

    fn http_response(self, retry_after: u64) -> Response<ResponseBody> {
        let status = self.status();
        let mut response = Response::new(ResponseBody::fixed(Bytes::from(format!("{self}\n"))));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(retry_after));
        }
        response
    }

    /// Only a head, with the status that a gRPC client reads.
    fn grpc_response(self) -> Response<ResponseBody> {
        let mut response = Response::new(ResponseBody::fixed(Bytes::new()));
        let headers: &mut HeaderMap = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(GRPC_STATUS, HeaderValue::from_static(self.grpc_status()));
        if let Ok(message) = HeaderValue::from_str(&self.to_string()) {
            headers.insert(GRPC_MESSAGE, message);
        }
        response
    }
}

/// What the client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Protocol {
    Http,
    Grpc,
}

impl Protocol {
    pub(crate) fn of(request: &Parts) -> Self {
        let content_type = request.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        // Not gRPC-Web, which knows HTTP's own statuses.
        match content_type.and_then(|value| value.strip_prefix(b"application/grpc")) {
            Some([] | [b'+' | b';', ..]) => Self::Grpc,
            Some(_) | None => Self::Http,
        }
    }
}

/// A response that the rule gives itself.
pub(crate) fn fixed(response: &FixedResponse) -> Response<ResponseBody> {
    let mut answer = Response::new(ResponseBody::fixed(response.body.clone()));
    *answer.status_mut() = response.status;
    *answer.headers_mut() = response.headers.clone();
    answer
}
