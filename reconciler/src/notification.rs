//! Tells people by HTTP what statuses and events tell already: what a notification looks like, and who gets which.
//!
//! Pure; sending is `notification::sender`'s.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use jiff::Timestamp;
use reeve_crds::git_source::{Notification, NotificationEvent, NotificationFormat};
use reeve_process::secret::Secret;
use serde_json::{Value, json};

use reeve_reconciler_engine::news::{Item, News};

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

/// Whether a notification asks for this.
pub fn wants(notification: &Notification, news: &News) -> bool {
    notification.events.contains(&kind(news))
}

fn kind(news: &News) -> NotificationEvent {
    match news {
        News::Applied { .. } => NotificationEvent::Applied,
        News::Failed { .. } => NotificationEvent::Failed,
        News::Recovered { .. } => NotificationEvent::Recovered,
        News::Drifted { .. } => NotificationEvent::Drifted,
        News::Held { .. } => NotificationEvent::Held,
    }
}

/// The request that tells it. `id` tells one notification from another; a repeated one has the same.
pub fn request(
    item: &Item,
    format: NotificationFormat,
    address: &Address,
    id: &str,
    now: Timestamp,
) -> Result<Request<Vec<u8>>, http::Error> {
    let mut request = Request::post(address.url.expose().as_str()).header(CONTENT_TYPE, "application/json");
    let body = match format {
        NotificationFormat::Slack => json!({ "text": text(item) }),
        NotificationFormat::CloudEvent => {
            request = request
                .header("ce-specversion", "1.0")
                .header("ce-id", id)
                .header("ce-type", format!("dev.reeve.{}", word(&item.news).to_lowercase()))
                .header("ce-source", format!("/namespaces/{}/gitsources/{}", item.namespace, item.source))
                .header("ce-time", now.to_string());
            if let Some(runtime) = &item.runtime {
                request = request.header("ce-subject", &**runtime);
            }
            document(item, now)
        }
    };
    if let Some(token) = &address.token {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    request.body(body.to_string().into_bytes())
}

/// The body that `docs/operations.md` describes.
fn document(item: &Item, now: Timestamp) -> Value {
    let (reason, revision, message) = match &item.news {
        News::Applied { revision, message } | News::Held { revision, message } => (None, Some(revision), message),
        News::Failed { reason, message } => (Some(reason), None, message),
        News::Recovered { message } | News::Drifted { message } => (None, None, message),
    };
    let mut body = json!({
        "event": word(&item.news),
        "namespace": &*item.namespace,
        "source": &*item.source,
        "message": message,
        "time": now.to_string(),
    });
    for (key, value) in [
        ("runtime", item.runtime.as_deref()),
        ("reason", reason.map(String::as_str)),
        ("revision", revision.map(String::as_str)),
    ] {
        if let Some(value) = value {
            body[key] = Value::from(value);
        }
    }
    body
}

fn word(news: &News) -> &'static str {
    match news {
        News::Applied { .. } => "Applied",
        News::Failed { .. } => "Failed",
        News::Recovered { .. } => "Recovered",
        News::Drifted { .. } => "Drifted",
        News::Held { .. } => "Held",
    }
}

fn text(item: &Item) -> String {
    let who =
        item.runtime.as_ref().map_or_else(|| format!("source {}", item.source), |runtime| format!("runtime {runtime}"));
    let message = match &item.news {
        News::Applied { message, .. }
        | News::Failed { message, .. }
        | News::Recovered { message }
        | News::Drifted { message } => message.clone(),
        News::Held { revision, message } => format!("{revision} is refused: {message}"),
    };
    // What Slack reads as its own marks.
    let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("*{}* {who}: {message}", word(&item.news))
}
