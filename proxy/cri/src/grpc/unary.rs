//! A unary call of our own: to the backend for what the store lacks, and to plugins.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderValue, Method, Request, Uri, Version};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use prost::Message;
use std::time::Duration;
use tonic::{Code, Status};

use super::{frame, set_timeout, unframe};
use crate::backend::Backend;
use crate::body::Body;

/// Calls `path` and reads at most `limit` bytes of answer. Dropping the future cancels the call.
pub(crate) async fn unary<Answer: Message + Default>(
    backend: &Backend,
    path: &str,
    message: &impl Message,
    timeout: Duration,
    limit: usize,
) -> Result<Answer, Status> {
    let body = frame(&message.encode_to_vec()).ok_or_else(|| Status::resource_exhausted("the request is too large"))?;
    let call = async {
        let response = backend.send(request(path, body, timeout)?).await.map_err(|error| error.status())?;
        if let Some(status) = Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok) {
            return Err(status);
        }
        let collected = Limited::new(response.into_body(), limit).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                Status::resource_exhausted(format!("the answer has more than {limit} bytes"))
            } else {
                Status::unavailable(format!("error reading from server: {error}"))
            }
        })?;
        match collected.trailers().and_then(Status::from_header_map) {
            Some(status) if status.code() == Code::Ok => {}
            Some(status) => return Err(status),
            None => return Err(Status::internal("the answer ended without a status")),
        }
        let message = unframe(collected.to_bytes()).ok_or_else(|| Status::internal("the answer is not one message"))?;
        Answer::decode(message).map_err(|error| Status::internal(format!("the answer cannot be decoded: {error}")))
    };
    tokio::time::timeout(timeout, call).await.unwrap_or_else(|_elapsed| {
        Err(Status::deadline_exceeded(format!("no answer within {} ms", timeout.as_millis())))
    })
}

fn request(path: &str, body: Bytes, timeout: Duration) -> Result<Request<Body>, Status> {
    let uri: Uri =
        format!("http://localhost{path}").parse().map_err(|_| Status::internal(format!("{path} is no method")))?;
    let mut request = Request::new(Body::of(body));
    (*request.method_mut(), *request.uri_mut(), *request.version_mut()) = (Method::POST, uri, Version::HTTP_2);
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    set_timeout(headers, timeout);
    Ok(request)
}
