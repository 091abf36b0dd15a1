//! The little of gRPC that a proxy needs: frames, statuses, time-outs.

use std::error::Error;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use tonic::Status;

use crate::body::Body;

mod unary;

pub(crate) use unary::unary;

/// A flag byte and the length of the message.
const PREFIX: usize = 5;

const TIMEOUT: &str = "grpc-timeout";

/// Whether the peer ended this one stream, so that its reason has to go on to the other side.
pub(crate) fn is_reset(error: &hyper::Error) -> bool {
    source_of(error).is_some_and(h2::Error::is_reset)
}

/// Whether the peer surely has not looked at the request.
pub(crate) fn is_refused(error: &hyper::Error) -> bool {
    source_of(error).is_some_and(|error| error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

fn source_of(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// What a client gets when the connection to the backend breaks: what its own connection would have given it.
pub(crate) fn lost(error: &hyper::Error) -> Status {
    Status::unavailable(format!("error reading from server: {}", reeve_process::error_chain(error)))
}

/// An answer that consists of a status alone.
pub(crate) fn refusal(status: &Status) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.headers_mut() = trailers(status);
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

pub(crate) fn trailers(status: &Status) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if status.add_header(&mut headers).is_err() {
        headers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    headers
}

/// The one message of a unary call, or `None` for what is compressed, cut off or more than one message.
pub(crate) fn unframe(mut body: Bytes) -> Option<Bytes> {
    let prefix: [u8; PREFIX] = body.get(..PREFIX)?.try_into().ok()?;
    let [0, length @ ..] = prefix else { return None };
    let message = body.split_off(PREFIX);
    (message.len() == usize::try_from(u32::from_be_bytes(length)).ok()?).then_some(message)
}

/// The message as it goes over the wire. `None` if it is longer than a message can be.
pub(crate) fn frame(message: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Some(framed.freeze())
}

/// How long the caller waits, if it says so.
pub(crate) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => amount.checked_mul(3600).map(Duration::from_secs),
        "M" => amount.checked_mul(60).map(Duration::from_secs),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// Tells the callee how long its caller waits.
pub(crate) fn set_timeout(headers: &mut HeaderMap, timeout: Duration) {
    if let Ok(value) = HeaderValue::from_str(&format_timeout(timeout)) {
        headers.insert(TIMEOUT, value);
    }
}

/// The finest unit that eight digits suffice for, as the protocol asks.
fn format_timeout(timeout: Duration) -> String {
    const MOST: u128 = 99_999_999;
    let (nanos, micros, millis) = (timeout.as_nanos(), timeout.as_micros(), timeout.as_millis());
    if nanos <= MOST {
        format!("{nanos}n")
    } else if micros <= MOST {
        format!("{micros}u")
    } else if millis <= MOST {
        format!("{millis}m")
    } else {
        format!("{}S", u128::from(timeout.as_secs()).min(MOST))
    }
}

#[cfg(test)]
mod tests;
