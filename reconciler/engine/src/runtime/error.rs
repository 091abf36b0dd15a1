//! Why a component cannot go on.

use std::time::Duration;

use reeve_crds::State;
use reeve_renderer_objects::key::ObjectKey;

use crate::apply::ApplyError;
use crate::inventory::InventoryError;
use crate::live::WatchFailure;

/// A failure as the status tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcileError {
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
    /// The object it is about.
    pub object: Option<ObjectKey>,
    /// Whether it may go away by itself.
    pub transient: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// The inventory belongs to someone else now: everything is read anew.
    pub fenced: bool,
}

impl ReconcileError {
    /// A failure that a person has to do something about.
    pub fn terminal(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), object: None, transient: false, retry_after: None, fenced: false }
    }

    /// A failure that is tried again.
    pub fn transient(reason: &'static str, message: impl Into<String>) -> Self {
        Self { transient: true, ..Self::terminal(reason, message) }
    }

    /// With the object that it is about.
    #[must_use]
    pub fn about(mut self, object: &ObjectKey) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// What state it makes of the component: a person must act, or we failed and try again.
    pub fn state(&self) -> State {
        if self.transient { State::Error } else { State::Warning }
    }
}

impl From<ApplyError> for ReconcileError {
    fn from(error: ApplyError) -> Self {
        Self {
            reason: error.reason(),
            message: reeve_process::error_chain(&error),
            object: error.object().cloned(),
            transient: error.is_transient(),
            retry_after: error.retry_after(),
            fenced: false,
        }
    }
}

impl From<InventoryError> for ReconcileError {
    fn from(error: InventoryError) -> Self {
        let (reason, fenced, retry_after) = match &error {
            InventoryError::Read { api_error, .. } | InventoryError::Write { api_error, .. } => {
                (api_error.reason.as_str(), false, api_error.retry_after)
            }
            InventoryError::Fenced { .. } => ("Fenced", true, None),
        };
        Self { reason, message: error.to_string(), object: None, transient: true, retry_after, fenced }
    }
}

impl From<WatchFailure> for ReconcileError {
    fn from(failure: WatchFailure) -> Self {
        let transient = !matches!(failure.reason, "Forbidden" | "Unauthorized");
        Self { transient, ..Self::terminal(failure.reason, failure.to_string()) }
    }
}
