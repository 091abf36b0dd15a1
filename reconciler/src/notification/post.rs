//! Posts one request, and says whether it is worth another try.

use std::time::Duration;

use http::StatusCode;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt as _;
use reeve_reconciler_engine::api_error::ApiError;

/// How long anybody may take to answer.
pub(super) const WITHIN: Duration = Duration::from_secs(10);
/// More of an answer is not read.
const ANSWER: usize = 64 << 10;

/// A notification could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("cannot read {kind} {name}")]
    Read {
        kind: &'static str,
        name: String,
        #[source]
        cause: Box<kube::Error>,
    },
    #[error("there is no Secret {name} in the namespace of the source: create it")]
    NoSecret { name: String },
    #[error("Secret {name} has no key address: write the URL to post to")]
    NoAddress { name: String },
    #[error("the address in Secret {name} is not a URL that can be posted to")]
    BadAddress { name: String },
    #[error("cannot connect: {0}")]
    Connect(String),
    #[error("the receiver answered {0}")]
    Refused(StatusCode),
    #[error("there was no answer in time")]
    Late,
}

impl SendError {
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Read { cause, .. } => ApiError::of(cause).transient,
            Self::NoSecret { .. } | Self::NoAddress { .. } | Self::BadAddress { .. } => false,
            Self::Connect(_) | Self::Late => true,
            Self::Refused(status) => {
                status.is_server_error()
                    || matches!(*status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
            }
        }
    }
}

pub(super) async fn post(request: http::Request<Vec<u8>>) -> Result<(), SendError> {
    // Trusts what the machine trusts, as the client of a cluster without a CA of its own does.
    let connector = Config::new(request.uri().clone()).rustls_https_connector();
    let connector = connector.map_err(|error| SendError::Connect(error.to_string()))?;
    let client: HttpClient<_, Full<Bytes>> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let (parts, body) = request.into_parts();
    let sent = async {
        let answer = client.request(http::Request::from_parts(parts, Full::from(body))).await;
        let answer = answer.map_err(|error| SendError::Connect(reeve_process::error_chain(&error)))?;
        let status = answer.status();
        // Read so that the connection can end well; what it says is of no interest.
        let _ = Limited::new(answer.into_body(), ANSWER).collect().await;
        if status.is_success() { Ok(()) } else { Err(SendError::Refused(status)) }
    };
    tokio::time::timeout(WITHIN, sent).await.unwrap_or(Err(SendError::Late))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_receiver_may_think_better_of_is_tried_again() {
        let again = |code| SendError::Refused(StatusCode::from_u16(code).unwrap()).is_transient();
        assert!(again(500) && again(503) && again(429) && again(408));
        assert!(!again(400) && !again(401) && !again(404) && !again(410) && !again(301));
        assert!(SendError::Late.is_transient() && !SendError::NoAddress { name: String::new() }.is_transient());
    }
}
