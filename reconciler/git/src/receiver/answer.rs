//! What a caller is told, and whom a genuine call wakes.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use reeve_crds::git_source::WebhookType;
use reeve_process::Gate;
use reeve_process::secret::Secret;
use tokio::time::timeout;
use tracing::debug;

use super::Hooks;
use super::handover::hand_over;
use crate::webhook::verify;

const PREFIX: &str = "/hooks/";
/// Bytes of a call. Servers send at most a few hundred commits with each.
const MAX_BODY_BYTES: usize = 1024 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(10);

pub(super) async fn answer<B>(request: Request<B>, hooks: &Hooks, gate: &Gate) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Some(id) = id_of(request.uri().path()).map(str::to_owned) else { return plain(StatusCode::NOT_FOUND) };
    if request.method() != Method::POST {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    let (head, body) = request.into_parts();
    let body = match read(&head.headers, body).await {
        Ok(body) => body,
        Err(status) => return plain(status),
    };
    plain(if gate.is_open() { check_call(&id, hooks, &head.headers, &body) } else { hand_over(head, body, gate).await })
}

/// The id in a path, if it is the path of a hook.
fn id_of(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|id| !id.is_empty() && !id.contains('/'))
}

async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, StatusCode>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    match timeout(BODY_WITHIN, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_elapsed) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

fn check_call(id: &str, hooks: &Hooks, headers: &HeaderMap, body: &[u8]) -> StatusCode {
    let Some(hook) = hooks.find(id) else {
        // As much work as for a hook that exists: the time must not tell which do.
        let nobody = Secret::new("nobody".to_owned());
        let _ = verify(WebhookType::Generic, &nobody, headers, body);
        return StatusCode::FORBIDDEN;
    };
    match verify(hook.kind, &hook.token, headers, body) {
        Ok(()) => {
            hook.wake.notify_one();
            StatusCode::ACCEPTED
        }
        Err(refused) => {
            debug!(%refused, "refused a webhook call");
            StatusCode::FORBIDDEN
        }
    }
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let text = status.canonical_reason().unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
