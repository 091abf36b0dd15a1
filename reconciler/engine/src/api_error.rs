//! What an error of the API server means: why, for how long, and whether the server itself is at fault.
//!
//! Read from the status and its causes, and from texts only where the API server gives nothing else. The texts are
//! tested against a real one. Messages are one short line without the values of fields: those may be secret.

use std::error::Error as _;
use std::time::Duration;

use kube::core::Status;
use kube::error::DiscoveryError;
use reeve_crds::Reason;
use reeve_process::gate::NotLeader;

use crate::fields::Conflicts;

mod message;

/// What an error of the API server means.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub reason: Reason,
    /// One short line for a person.
    pub message: String,
    /// Whether trying again may help although nobody changes Git or the cluster's rules.
    pub transient: bool,
    /// How long the API server asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether every other request to this API server would fare alike.
    pub server_down: bool,
}

impl ApiError {
    pub fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status),
            kube::Error::Discovery(
                DiscoveryError::MissingKind(_)
                | DiscoveryError::MissingApiGroup(_)
                | DiscoveryError::MissingResource(_)
                | DiscoveryError::EmptyApiGroup(_),
            ) => Self::new(Reason::MissingKind, message::of_chain(error)),
            kube::Error::Auth(_) => Self::new(Reason::Unauthorized, message::of_chain(error)),
            kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => {
                Self::new(of_connection(error), message::of_chain(error))
            }
            _ => Self::new(Reason::Other, message::of_chain(error)),
        }
    }

    fn new(reason: Reason, message: String) -> Self {
        Self {
            reason,
            message,
            transient: reason.is_transient(),
            retry_after: None,
            server_down: is_server_down(reason),
        }
    }

    fn of_status(status: &Status) -> Self {
        let reason = of_status(status);
        let mut api_error = Self::new(reason, message::of_status(status));
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        api_error.retry_after = (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
        match reason {
            // An applier means to keep its field; a write in between is but bad luck.
            Reason::Conflict => api_error.transient = Conflicts::of(status).is_none(),
            Reason::Other => api_error.transient = status.code >= 500,
            // The API server is well; a server behind it, which serves some kinds, is not.
            Reason::Unavailable => api_error.server_down = !is_about_aggregated_api(&status.message),
            _ => {}
        }
        api_error
    }
}

/// Whether every other request would fare alike.
const fn is_server_down(reason: Reason) -> bool {
    matches!(reason, Reason::Unavailable | Reason::Timeout | Reason::Unreachable | Reason::StorageFull)
}

/// Whether the error came from our own gate, a clock, or the network.
fn of_connection(error: &kube::Error) -> Reason {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<NotLeader>() {
            return Reason::NotLeader;
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            // A wrapped error hides in an `io::Error` without being its source.
            match io.get_ref() {
                Some(inner) if inner.is::<NotLeader>() => return Reason::NotLeader,
                _ if io.kind() == std::io::ErrorKind::TimedOut => return Reason::Timeout,
                _ => {}
            }
        }
        if error.to_string().contains("timed out") {
            return Reason::Timeout;
        }
        cause = error.source();
    }
    Reason::Unreachable
}

fn of_status(status: &Status) -> Reason {
    // Such a message repeats what somebody wrote into the object: its text proves nothing.
    if status.code == 422
        && status.details.iter().flat_map(|details| &details.causes).any(|cause| !cause.field.is_empty())
    {
        return of_invalid(status);
    }
    of_text(&status.message).unwrap_or_else(|| match status.code {
        401 => Reason::Unauthorized,
        403 if has_cause(status, "NamespaceTerminating") => Reason::NamespaceTerminating,
        403 => Reason::Forbidden,
        404 => of_missing(status),
        409 if status.reason == "AlreadyExists" => Reason::AlreadyExists,
        409 => Reason::Conflict,
        410 => Reason::Gone,
        413 => Reason::TooLarge,
        400 | 405 | 406 | 415 => Reason::Invalid,
        422 => of_invalid(status),
        429 => Reason::Throttled,
        502 | 503 => Reason::Unavailable,
        504 => Reason::Timeout,
        _ => Reason::Other,
    })
}

/// What only the text tells, whatever the code is.
fn of_text(text: &str) -> Option<Reason> {
    const TEXTS: [(&str, Reason); 12] = [
        ("failed calling webhook", Reason::WebhookUnavailable),
        ("conversion webhook for", Reason::WebhookUnavailable),
        ("etcdserver: mvcc: database space exceeded", Reason::StorageFull),
        ("etcdserver: no space", Reason::StorageFull),
        ("etcdserver: request is too large", Reason::TooLarge),
        ("trying to send message larger than max", Reason::TooLarge),
        ("etcdserver: request timed out", Reason::Timeout),
        ("etcdserver: leader changed", Reason::Unavailable),
        ("etcdserver: no leader", Reason::Unavailable),
        // The API server answers 500 to an object that its schema does not know, or that cannot be read as its kind.
        ("failed to create typed patch object", Reason::Invalid),
        ("unable to convert unstructured object", Reason::Invalid),
        (": exceeded quota: ", Reason::QuotaExceeded),
    ];
    let refused_by_policy = text.contains("ValidatingAdmissionPolicy '") && text.contains(" denied request");
    if (text.starts_with("admission webhook ") && text.contains(" denied the request")) || refused_by_policy {
        return Some(Reason::RefusedByWebhook);
    }
    TEXTS.iter().find(|(mark, _)| text.contains(mark)).map(|(_, reason)| *reason)
}

/// A missing object is named; of a kind that is not served the API server knows nothing to say.
fn of_missing(status: &Status) -> Reason {
    match &status.details {
        Some(details) if details.kind == "namespaces" => Reason::MissingNamespace,
        Some(details) if !details.name.is_empty() => Reason::Gone,
        _ => Reason::MissingKind,
    }
}

/// An object is recreated because of `Immutable`, so every cause must say so: with another mistake in it the new one
/// would be refused after the old one is gone.
fn of_invalid(status: &Status) -> Reason {
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    if causes.iter().any(|cause| cause.reason == "FieldValueTooLong" && cause.message.contains("bytes")) {
        return Reason::TooLarge;
    }
    let is_immutable = |cause: &kube::core::response::StatusCause| {
        matches!(cause.reason.as_str(), "FieldValueInvalid" | "FieldValueForbidden")
            && says_immutable(&message::of_cause(cause))
    };
    if !causes.is_empty() && causes.iter().all(is_immutable) { Reason::Immutable } else { Reason::Invalid }
}

fn says_immutable(text: &str) -> bool {
    const TEXTS: [&str; 8] = [
        "immutable",
        "may not change once set",
        "may not be changed",
        "may not change fields other than",
        "cannot be changed",
        "can not be changed",
        "cannot change roleRef",
        "updates to statefulset spec for fields other than",
    ];
    let text = text.trim_end_matches('.');
    TEXTS.iter().any(|mark| text.contains(mark)) || (text.contains("updates to ") && text.ends_with(" are forbidden"))
}

fn has_cause(status: &Status, reason: &str) -> bool {
    status.details.iter().flat_map(|details| &details.causes).any(|cause| cause.reason == reason)
}

/// What the API server answers in the name of a server behind it.
fn is_about_aggregated_api(message: &str) -> bool {
    message == "service unavailable" || message.starts_with("error trying to reach service")
}

#[cfg(test)]
mod tests;
