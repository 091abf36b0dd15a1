//! Where replicas report: `POST /v1/replicas/{name}`. Only the leader listens; anybody else says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_process::server::Server;
use tokio::sync::Notify;
use tracing::warn;

use super::replicas::Replicas;
use crate::report::{ReplicaReport, RuleKey};

/// A report of ten thousand rules is some two mebibytes.
const MAX_BODY: usize = 8 * 1024 * 1024;
const PREFIX: &str = "/v1/replicas/";

/// Rules that should be looked at, each once.
#[derive(Debug, Default)]
pub(super) struct Queue {
    keys: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub keys: BTreeSet<RuleKey>,
    pub all: bool,
}

impl Queue {
    pub(super) fn push(&self, keys: impl IntoIterator<Item = RuleKey>) {
        self.keys.lock().keys.extend(keys);
        self.filled.notify_one();
    }

    pub(super) fn push_all(&self) {
        self.keys.lock().all = true;
        self.filled.notify_one();
    }

    /// Waits until there is something, and takes all of it.
    pub(super) async fn next_batch(&self) -> Waiting {
        loop {
            let waiting = std::mem::take(&mut *self.keys.lock());
            if waiting.all || !waiting.keys.is_empty() {
                return waiting;
            }
            self.filled.notified().await;
        }
    }
}

/// The replicas, while this process leads.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    replicas: Arc<Mutex<Option<Replicas>>>,
    pub queue: Arc<Queue>,
}

impl Reports {
    /// Listens from now on.
    pub(super) fn open(&self, now: Timestamp) {
        *self.replicas.lock() = Some(Replicas::new(now));
    }

    /// Sends replicas elsewhere.
    pub(super) fn close(&self) {
        *self.replicas.lock() = None;
    }

    /// Reads or changes what is known, if this process leads.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Replicas) -> T) -> Option<T> {
        self.replicas.lock().as_mut().map(look)
    }

    /// Serves for ever.
    pub(super) async fn serve(self, server: Server) {
        server.serve(move |request| self.clone().answer(request)).await;
    }

    async fn answer(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let status = self.accept_report(request).await;
        let mut response = Response::new(Full::default());
        *response.status_mut() = status;
        response
    }

    async fn accept_report(&self, request: Request<Incoming>) -> StatusCode {
        let Some(name) = request.uri().path().strip_prefix(PREFIX).map(str::to_owned) else {
            return StatusCode::NOT_FOUND;
        };
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED;
        }
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
            return StatusCode::PAYLOAD_TOO_LARGE;
        };
        let report: ReplicaReport = match serde_json::from_slice(&body.to_bytes()) {
            Ok(report) => report,
            Err(error) => {
                warn!(replica = name, %error, "cannot read a report");
                return StatusCode::BAD_REQUEST;
            }
        };
        if report.replica != name {
            return StatusCode::BAD_REQUEST;
        }
        let Some(changed) = self.with(|replicas| replicas.report(report, Timestamp::now())) else {
            return StatusCode::MISDIRECTED_REQUEST;
        };
        if changed.replicas {
            self.queue.push_all();
        }
        if !changed.rules.is_empty() {
            self.queue.push(changed.rules);
        }
        StatusCode::NO_CONTENT
    }
}
