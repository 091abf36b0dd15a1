//! Why an object could not be applied.

use std::time::Duration;

use reeve_crds::Reason;
use reeve_process::gate::GatedClientError;
use reeve_renderer_objects::key::ObjectKey;

use crate::api_error::ApiError;
use crate::cluster::{Account, KindsError};
use crate::fields::Conflicts;
use crate::owner::{Owner, Release};
use crate::plan;

/// An object could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// No client can be made for its account.
    #[error("cannot act as {account}")]
    Client {
        /// As whom.
        account: Account,
        /// Why.
        #[source]
        cause: GatedClientError,
    },
    /// Its kind cannot be used.
    #[error("cannot apply {object}")]
    Kind {
        /// The object.
        object: ObjectKey,
        /// Why.
        #[source]
        cause: KindsError,
    },
    /// Its kind lives in no namespace, or its key says so and it does.
    #[error(
        "{object}: the kind lives in {wanted}; write metadata.namespace accordingly, or put the CRD into the fleet"
    )]
    WrongScope {
        /// The object.
        object: ObjectKey,
        /// Where its kind lives.
        wanted: &'static str,
    },
    /// The API server refused, or could not be asked.
    #[error("{object}: {}", api_error.message)]
    Refused {
        /// The object.
        object: ObjectKey,
        /// What it said.
        api_error: ApiError,
    },
    /// Another applier has fields that we want.
    #[error(
        "{object}: {conflict}; set policy.adoption: Always in the runtime's file (spec.adoption of a Runtime that has none) to take them over, or remove them from one of the two"
    )]
    Conflict {
        /// The object.
        object: ObjectKey,
        /// Who has what.
        conflict: Conflicts,
    },
    /// Another runtime has it.
    #[error("{object} belongs to {}: remove it there or here", plan::holder(owner, component.as_deref()))]
    Claimed {
        /// The object.
        object: ObjectKey,
        /// Who has it.
        owner: Owner,
        /// As part of what.
        component: Option<String>,
    },
    /// A Helm release has it that the component does not take the place of.
    #[error(
        "{object} belongs to Helm release {release}: give the component that releaseName and namespace, or set policy.adoption: Always in the runtime's file (spec.adoption of a Runtime that has none), to take it over; or remove it there or here"
    )]
    Released {
        /// The object.
        object: ObjectKey,
        /// The release.
        release: Release,
    },
    /// It cannot be seen whether Helm has a record of a release.
    #[error("cannot look for the record of Helm release {release}: {}", api_error.message)]
    Release {
        /// The release.
        release: Release,
        /// What the server said.
        api_error: ApiError,
    },
    /// Others wrote it each time we were about to.
    #[error("{object} is being changed by others all the time")]
    Unsteady {
        /// The object.
        object: ObjectKey,
    },
    /// It is there and the policy forbids to take it over.
    #[error(
        "{object} exists already and was not made by Reeve; set policy.adoption: Unowned in the runtime's file (spec.adoption of a Runtime that has none) to take it over, or delete it"
    )]
    Exists {
        /// The object.
        object: ObjectKey,
    },
    /// A field cannot change, and the policy forbids to make the object anew.
    #[error("{object}: {message}; {advice}")]
    Immutable {
        /// The object.
        object: ObjectKey,
        /// What the server said.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// It did not go away in time.
    #[error("{object} is still there, held by {}", if holders.is_empty() { "what its status tells of" } else { holders })]
    Stuck {
        /// The object.
        object: ObjectKey,
        /// What holds it.
        holders: String,
    },
}

impl ApplyError {
    /// The object that it is about.
    pub fn object(&self) -> Option<&ObjectKey> {
        match self {
            Self::Client { .. } | Self::Release { .. } => None,
            Self::Kind { object, .. }
            | Self::WrongScope { object, .. }
            | Self::Refused { object, .. }
            | Self::Conflict { object, .. }
            | Self::Claimed { object, .. }
            | Self::Released { object, .. }
            | Self::Unsteady { object }
            | Self::Exists { object }
            | Self::Immutable { object, .. }
            | Self::Stuck { object, .. } => Some(object),
        }
    }

    /// Why, in one word.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Client { .. } => Reason::Unreachable,
            Self::Kind { cause: KindsError::Missing { .. }, .. } => Reason::MissingKind,
            Self::Kind { cause: KindsError::Ask { cause, .. }, .. } => ApiError::of(cause).reason,
            Self::WrongScope { .. } => Reason::Invalid,
            Self::Refused { api_error, .. } | Self::Release { api_error, .. } => api_error.reason,
            Self::Conflict { .. }
            | Self::Claimed { .. }
            | Self::Released { .. }
            | Self::Unsteady { .. }
            | Self::Exists { .. } => Reason::Conflict,
            Self::Immutable { .. } => Reason::Immutable,
            Self::Stuck { .. } => Reason::TimedOut,
        }
    }

    /// Whether it may go away by itself.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Client { .. } | Self::Stuck { .. } | Self::Unsteady { .. } => true,
            Self::Kind { cause: KindsError::Ask { cause, .. }, .. } => ApiError::of(cause).transient,
            Self::Refused { api_error, .. } | Self::Release { api_error, .. } => api_error.transient,
            Self::Kind { cause: KindsError::Missing { .. }, .. }
            | Self::WrongScope { .. }
            | Self::Conflict { .. }
            | Self::Claimed { .. }
            | Self::Released { .. }
            | Self::Exists { .. }
            | Self::Immutable { .. } => false,
        }
    }

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { api_error, .. } | Self::Release { api_error, .. } => api_error.retry_after,
            _ => None,
        }
    }
}
