//! Tells people by HTTP what statuses and events tell already: what a notification looks like, and who gets which.
//!
//! Pure; sending is `notification::sender`'s.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use jiff::Timestamp;
use reeve_crds::git_source::{Notification as Receiver, NotificationEvent, NotificationFormat};
use reeve_process::secret::Secret;
use reeve_reconciler_engine::notification::{Notification, NotificationBody};
use serde_json::{Value, json};

mod lanes;
mod post;
mod sender;
#[cfg(test)]
mod tests;

pub use sender::Notifier;

/// Where a notification goes.
#[derive(Clone, Debug)]
pub struct Address {
    /// The URL. It may hold a token of its own, so it is secret.
    pub url: Secret<String>,
    /// Sent as a bearer token.
    pub token: Option<Secret<String>>,
}

/// Whether a receiver asks for this.
pub fn wants(receiver: &Receiver, body: &NotificationBody) -> bool {
    receiver.events.contains(&kind(body))
}

fn kind(body: &NotificationBody) -> NotificationEvent {
    match body {
        NotificationBody::Applied { .. } => NotificationEvent::Applied,
        NotificationBody::Failed { .. } => NotificationEvent::Failed,
        NotificationBody::Recovered { .. } => NotificationEvent::Recovered,
        NotificationBody::Drifted { .. } => NotificationEvent::Drifted,
        NotificationBody::Rejected { .. } => NotificationEvent::Rejected,
    }
}

/// The request that tells it. `id` tells one notification from another; a repeated one has the same.
pub fn request(
    notification: &Notification,
    format: NotificationFormat,
    address: &Address,
    id: &str,
    now: Timestamp,
) -> Result<Request<Vec<u8>>, http::Error> {
    let mut request = Request::post(address.url.expose().as_str()).header(CONTENT_TYPE, "application/json");
    let content = match format {
        NotificationFormat::Slack => json!({ "text": text(notification) }),
        NotificationFormat::CloudEvent => {
            request = request
                .header("ce-specversion", "1.0")
                .header("ce-id", id)
                .header("ce-type", format!("dev.reeve.{}", word(&notification.body).to_lowercase()))
                .header(
                    "ce-source",
                    format!("/namespaces/{}/gitsources/{}", notification.namespace, notification.source),
                )
                .header("ce-time", now.to_string());
            if let Some(runtime) = &notification.runtime {
                request = request.header("ce-subject", &**runtime);
            }
            document(notification, now)
        }
    };
    if let Some(token) = &address.token {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    request.body(content.to_string().into_bytes())
}

/// The body that `docs/operations.md` describes.
fn document(notification: &Notification, now: Timestamp) -> Value {
    let (reason, revision, message) = match &notification.body {
        NotificationBody::Applied { revision, message } | NotificationBody::Rejected { revision, message } => {
            (None, Some(revision), message)
        }
        NotificationBody::Failed { reason, message } => (Some(reason), None, message),
        NotificationBody::Recovered { message } | NotificationBody::Drifted { message } => (None, None, message),
    };
    let mut body = json!({
        "event": word(&notification.body),
        "namespace": &*notification.namespace,
        "source": &*notification.source,
        "message": message,
        "time": now.to_string(),
    });
    for (key, value) in [
        ("runtime", notification.runtime.as_deref()),
        ("reason", reason.map(|reason| reason.as_str())),
        ("revision", revision.map(String::as_str)),
    ] {
        if let Some(value) = value {
            body[key] = Value::from(value);
        }
    }
    body
}

fn word(body: &NotificationBody) -> &'static str {
    match body {
        NotificationBody::Applied { .. } => "Applied",
        NotificationBody::Failed { .. } => "Failed",
        NotificationBody::Recovered { .. } => "Recovered",
        NotificationBody::Drifted { .. } => "Drifted",
        NotificationBody::Rejected { .. } => "Rejected",
    }
}

fn text(notification: &Notification) -> String {
    let who = notification
        .runtime
        .as_ref()
        .map_or_else(|| format!("source {}", notification.source), |runtime| format!("runtime {runtime}"));
    let message = match &notification.body {
        NotificationBody::Applied { message, .. }
        | NotificationBody::Failed { message, .. }
        | NotificationBody::Recovered { message }
        | NotificationBody::Drifted { message } => message.clone(),
        NotificationBody::Rejected { revision, message } => format!("{revision} is refused: {message}"),
    };
    // What Slack reads as its own marks.
    let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("*{}* {who}: {message}", word(&notification.body))
}
