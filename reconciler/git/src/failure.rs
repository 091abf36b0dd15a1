//! Why a fetch failed, in the words of conditions and metrics.

use serde::{Deserialize, Serialize};

/// What people are told when the disk is full: paths of ours would tell them nothing more.
pub(super) const NO_ROOM_MESSAGE: &str = "there is no room left on the disk of the mirror";

/// What kind of failure it is. The name is the reason of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// The server or the proxy does not let us in.
    AuthenticationFailed,
    /// The SSH server's key is not in `known_hosts`, or is another one.
    HostKeyRefused,
    /// The HTTPS server's certificate is not to be trusted.
    CertificateRefused,
    /// There is no repository at the address.
    NotFound,
    /// The reference means no commit of the repository.
    RefNotFound,
    /// The reference is none.
    InvalidRef,
    /// Nothing was ever pushed.
    EmptyRepository,
    /// It took longer than was allowed.
    TimedOut,
    /// The server cannot be reached, or ends connections.
    Unreachable,
    /// There is no room for what was fetched.
    DiskFull,
    /// The mirror is damaged and could not be made anew.
    MirrorCorrupt,
    /// It cannot be done in this way.
    Unsupported,
    /// The fetching process ended without an answer.
    FetchAborted,
    /// Anything else that Git says.
    FetchFailed,
}

impl FailureKind {
    const fn word(self) -> &'static str {
        match self {
            Self::AuthenticationFailed => "AuthenticationFailed",
            Self::HostKeyRefused => "HostKeyRefused",
            Self::CertificateRefused => "CertificateRefused",
            Self::NotFound => "NotFound",
            Self::RefNotFound => "RefNotFound",
            Self::InvalidRef => "InvalidRef",
            Self::EmptyRepository => "EmptyRepository",
            Self::TimedOut => "TimedOut",
            Self::Unreachable => "Unreachable",
            Self::DiskFull => "DiskFull",
            Self::MirrorCorrupt => "MirrorCorrupt",
            Self::Unsupported => "Unsupported",
            Self::FetchAborted => "FetchAborted",
            Self::FetchFailed => "FetchFailed",
        }
    }
}

/// A repository could not be fetched. Neither message nor URL holds credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot fetch {url}: {message}")]
pub struct FetchError {
    pub(super) kind: FailureKind,
    pub(super) url: String,
    pub(super) message: String,
}

impl FetchError {
    /// What kind of failure it is.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The reason of a condition, and the label of a metric.
    pub fn reason(&self) -> &'static str {
        self.kind.word()
    }

    /// Whether it may go away with nobody changing the source, its Secrets or its repository.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            FailureKind::TimedOut
            | FailureKind::Unreachable
            | FailureKind::DiskFull
            | FailureKind::MirrorCorrupt
            | FailureKind::FetchAborted
            | FailureKind::FetchFailed => true,
            FailureKind::AuthenticationFailed
            | FailureKind::HostKeyRefused
            | FailureKind::CertificateRefused
            | FailureKind::NotFound
            | FailureKind::RefNotFound
            | FailureKind::InvalidRef
            | FailureKind::EmptyRepository
            | FailureKind::Unsupported => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_the_name_of_its_kind() {
        for kind in [FailureKind::TimedOut, FailureKind::HostKeyRefused, FailureKind::RefNotFound] {
            assert_eq!(kind.word(), format!("{kind:?}"));
        }
    }
}
