//! Hands a call over to the process that leads.

use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use reeve_process::Gate;
use tokio::time::timeout;
use tracing::debug;

/// Says that a call was handed over already: two who take each other for the leader must not play ball with it.
const HANDED_OVER: &str = "x-reeve-handed-over";
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What the leader says to a call; that nobody is there for it, if there is no leader or it does not answer.
pub(super) async fn hand_over(head: Parts, body: Bytes, gate: &Gate) -> StatusCode {
    let Some(leader) = gate.leader_address().filter(|_| !head.headers.contains_key(HANDED_OVER)) else {
        return StatusCode::SERVICE_UNAVAILABLE;
    };
    let Ok(uri) = format!("http://{leader}{}", head.uri.path()).parse::<Uri>() else { return StatusCode::BAD_REQUEST };
    let mut request = Request::post(uri).body(Full::from(body)).unwrap_or_default();
    *request.headers_mut() = head.headers;
    // These are about the connection, and that is another.
    for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH, header::EXPECT] {
        request.headers_mut().remove(name);
    }
    request.headers_mut().insert(HANDED_OVER, HeaderValue::from_static("1"));
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    match timeout(ANSWER_WITHIN, client.request(request)).await {
        Ok(Ok(answer)) => answer.status(),
        Ok(Err(error)) => {
            debug!(%leader, "cannot hand a webhook call over: {}", reeve_process::error_chain(&error));
            StatusCode::SERVICE_UNAVAILABLE
        }
        Err(_elapsed) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
