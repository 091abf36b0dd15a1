//! Why a source, a runtime or a component cannot go on, as its status tells it.

use std::time::Duration;

use reeve_crds::{Reason, State};
use reeve_renderer_objects::key::ObjectKey;

use crate::api_error::ApiError;
use crate::apply::ApplyError;
use crate::inventory::InventoryError;
use crate::live::WatchFailure;

/// A failure as a status tells it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReconcileError {
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
    /// The object it is about.
    pub object: Option<ObjectKey>,
    /// Whether it may go away by itself.
    pub transient: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// How many failures it stands for, of which it is the first.
    pub count: usize,
    /// What the API server answered, if that is why.
    #[source]
    pub cause: Option<Box<ApiError>>,
}

impl ReconcileError {
    /// A failure that passes by itself if its reason does.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            object: None,
            transient: reason.is_transient(),
            retry_after: None,
            count: 1,
            cause: None,
        }
    }

    /// A failure that a person has to do something about.
    pub fn terminal(reason: Reason, message: impl Into<String>) -> Self {
        Self { transient: false, ..Self::new(reason, message) }
    }

    /// A failure that is tried again.
    pub fn transient(reason: Reason, message: impl Into<String>) -> Self {
        Self { transient: true, ..Self::new(reason, message) }
    }

    /// What the API server answered to a request, in a sentence that says which.
    pub fn of_request(message: impl Into<String>, error: ApiError) -> Self {
        let (transient, retry_after) = (error.transient, error.retry_after);
        let failure = Self::new(error.reason, message);
        Self { transient, retry_after, cause: Some(Box::new(error)), ..failure }
    }

    /// With the object that it is about.
    #[must_use]
    pub fn about(mut self, object: &ObjectKey) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Whether the inventory belongs to someone else now, so that everything has to be read again.
    pub fn is_fenced(&self) -> bool {
        self.reason == Reason::Fenced
    }

    /// What state it makes of the component: a person must act, or we failed and try again.
    pub fn state(&self) -> State {
        if self.transient { State::Error } else { State::Warning }
    }
}

impl From<ApplyError> for ReconcileError {
    fn from(error: ApplyError) -> Self {
        let cause = match &error {
            ApplyError::Refused { api_error, .. } => Some(Box::new(api_error.clone())),
            _ => None,
        };
        Self {
            object: error.object().cloned(),
            transient: error.is_transient(),
            retry_after: error.retry_after(),
            cause,
            ..Self::new(error.reason(), reeve_process::error_chain(&error))
        }
    }
}

impl From<InventoryError> for ReconcileError {
    fn from(error: InventoryError) -> Self {
        let message = error.to_string();
        match error {
            InventoryError::Read { api_error, .. } | InventoryError::Write { api_error, .. } => {
                Self { transient: true, ..Self::of_request(message, api_error) }
            }
            InventoryError::Fenced { .. } => Self::transient(Reason::Fenced, message),
        }
    }
}

impl From<WatchFailure> for ReconcileError {
    fn from(failure: WatchFailure) -> Self {
        let transient = !matches!(failure.reason, Reason::Forbidden | Reason::Unauthorized);
        Self { transient, ..Self::new(failure.reason, failure.to_string()) }
    }
}
