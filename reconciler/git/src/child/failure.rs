//! What libgit2's errors mean. Pure, but for the texts, which are libgit2's.

use std::io;

use git2::{ErrorClass, ErrorCode};
use reeve_crds::Reason;

use crate::failure::NO_ROOM_MESSAGE;
use crate::reference::ReferenceError;
use crate::store::os_error;
use crate::wire::{Line, Request};

/// How the system says that there is no room.
const NO_ROOM: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// How the system says that a server cannot be spoken with.
const NO_NETWORK: [&str; 8] = [
    "failed to connect",
    "failed to resolve",
    "Connection refused",
    "Connection reset",
    "Broken pipe",
    "No route to host",
    "Network is unreachable",
    "timed out",
];
/// How servers say over SSH that there is no such repository, in small letters.
const NO_REPOSITORY: [&str; 3] = ["does not appear to be a git repository", "not found", "not be found"];
/// How libgit2 gives the status of an answer that it did not want.
const STATUS: &str = "unexpected http status code: ";

/// Why a fetch failed.
#[derive(Debug)]
pub(super) struct Failure {
    cause: Cause,
    /// What is in the mirror is at fault: another one may do.
    of_the_mirror: bool,
}

#[derive(Debug)]
enum Cause {
    Git(git2::Error),
    Reference(ReferenceError),
    Known(Reason, String),
}

impl From<git2::Error> for Failure {
    fn from(error: git2::Error) -> Self {
        let of_the_mirror = matches!(
            error.class(),
            ErrorClass::Odb
                | ErrorClass::Object
                | ErrorClass::Indexer
                | ErrorClass::Zlib
                | ErrorClass::Tree
                | ErrorClass::Reference
                | ErrorClass::Repository
                | ErrorClass::Config
        );
        Self { cause: Cause::Git(error), of_the_mirror }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        os_error(&error).into()
    }
}

impl From<ReferenceError> for Failure {
    fn from(error: ReferenceError) -> Self {
        Self { cause: Cause::Reference(error), of_the_mirror: false }
    }
}

impl Failure {
    pub(super) fn known(kind: Reason, message: impl Into<String>) -> Self {
        Self { cause: Cause::Known(kind, message.into()), of_the_mirror: false }
    }

    /// Something is there that cannot be read, whatever libgit2 calls it.
    pub(super) fn of_the_mirror(error: &git2::Error) -> Self {
        Self { cause: Cause::Known(Reason::MirrorCorrupt, error.message().to_owned()), of_the_mirror: true }
    }

    /// Whether a new mirror may be the cure.
    pub(super) fn is_of_the_mirror(&self) -> bool {
        self.of_the_mirror
    }

    /// Whether the disk is full.
    pub(super) fn is_for_want_of_room(&self) -> bool {
        matches!(&self.cause, Cause::Git(error) if kind_of(error, "") == Reason::DiskFull)
    }

    pub(super) fn into_line(self, request: &Request) -> Line {
        let (kind, message) = match self.cause {
            Cause::Git(error) => {
                let kind = kind_of(&error, &request.url);
                (kind, explained(kind, &error))
            }
            Cause::Reference(ReferenceError::Empty) => (Reason::EmptyRepository, ReferenceError::Empty.to_string()),
            Cause::Reference(error) if error.is_malformed() => (Reason::InvalidRef, error.to_string()),
            Cause::Reference(error) => (Reason::RefNotFound, error.to_string()),
            Cause::Known(kind, message) => (kind, message),
        };
        Line::Failed { kind, message }
    }
}

fn kind_of(error: &git2::Error, url: &str) -> Reason {
    let message = error.message();
    if NO_ROOM.iter().any(|words| message.contains(words)) {
        return Reason::DiskFull;
    }
    match (error.code(), error.class()) {
        (ErrorCode::Auth, _) => Reason::AuthenticationFailed,
        (ErrorCode::Certificate, _) if url.starts_with("ssh://") => Reason::HostKeyRefused,
        (ErrorCode::Certificate, _) => Reason::CertificateRefused,
        (_, ErrorClass::Http) => kind_of_status(message),
        (_, ErrorClass::Ssh) => kind_of_ssh(message),
        (_, ErrorClass::Net | ErrorClass::Ssl) => Reason::Unreachable,
        (ErrorCode::NotFound, ErrorClass::Repository | ErrorClass::Os) => Reason::NotFound,
        (_, ErrorClass::Os) if NO_NETWORK.iter().any(|words| message.contains(words)) => Reason::Unreachable,
        _ => Reason::FetchFailed,
    }
}

fn kind_of_ssh(message: &str) -> Reason {
    let message = message.to_lowercase();
    if NO_REPOSITORY.iter().any(|words| message.contains(words)) {
        Reason::NotFound
    } else if message.contains("authenticat") || message.contains("private key") {
        Reason::AuthenticationFailed
    } else {
        Reason::Unreachable
    }
}

fn kind_of_status(message: &str) -> Reason {
    let status = message.strip_prefix(STATUS).and_then(|status| status.trim().parse::<u16>().ok());
    match status {
        Some(401 | 403 | 407) => Reason::AuthenticationFailed,
        Some(404 | 410) => Reason::NotFound,
        Some(429 | 500..) => Reason::Unreachable,
        _ if message.contains("authentication") => Reason::AuthenticationFailed,
        _ => Reason::FetchFailed,
    }
}

fn explained(kind: Reason, error: &git2::Error) -> String {
    if kind == Reason::DiskFull {
        return NO_ROOM_MESSAGE.to_owned();
    }
    match error.message().strip_prefix(STATUS) {
        Some(status) => format!("the server answers with status {status}"),
        None => error.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: ErrorCode, class: ErrorClass, message: &str, url: &str) -> Reason {
        kind_of(&git2::Error::new(code, class, message), url)
    }

    #[test]
    fn errors_of_git_get_the_kind_that_tells_what_to_do() {
        let generic = ErrorCode::GenericError;
        let https = "https://host/x";
        let cases = [
            (generic, ErrorClass::Os, "failed to write: No space left on device", Reason::DiskFull),
            (ErrorCode::Auth, ErrorClass::Http, "no", Reason::AuthenticationFailed),
            (generic, ErrorClass::Http, "unexpected http status code: 403", Reason::AuthenticationFailed),
            (generic, ErrorClass::Http, "unexpected http status code: 404", Reason::NotFound),
            (generic, ErrorClass::Http, "unexpected http status code: 503", Reason::Unreachable),
            (generic, ErrorClass::Http, "unexpected http status code: 302", Reason::FetchFailed),
            (ErrorCode::Certificate, ErrorClass::Ssl, "invalid", Reason::CertificateRefused),
            (generic, ErrorClass::Net, "unexpected end", Reason::Unreachable),
            (generic, ErrorClass::Os, "failed to connect to x: Connection refused", Reason::Unreachable),
            (generic, ErrorClass::Os, "failed to open 'x': Permission denied", Reason::FetchFailed),
            (generic, ErrorClass::Ssh, "ERROR: Repository not found.", Reason::NotFound),
            (generic, ErrorClass::Ssh, "failed to authenticate SSH session", Reason::AuthenticationFailed),
            (generic, ErrorClass::Ssh, "failed to start SSH session", Reason::Unreachable),
            (ErrorCode::NotFound, ErrorClass::Repository, "no repository", Reason::NotFound),
            (generic, ErrorClass::Indexer, "bad pack", Reason::FetchFailed),
        ];
        for (code, class, message, wanted) in cases {
            assert_eq!(kind(code, class, message, https), wanted, "{message}");
        }
        assert_eq!(kind(ErrorCode::Certificate, ErrorClass::Ssh, "x", "ssh://host/x"), Reason::HostKeyRefused);
    }
}
