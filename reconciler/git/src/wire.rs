//! What the parent and the fetching child say to each other: one line of JSON down, some lines up.
//!
//! The request holds secrets in clear, since it goes through a pipe that only the two have. Neither it nor what it holds
//! can be printed.

use std::path::PathBuf;

use reeve_crds::Reason;
use reeve_crds::git_source::GitRef;
use serde::{Deserialize, Serialize};

use super::credentials::{Credentials, Login, Proxy};

use super::fetch::{Moved, Tag};
use super::mirror::CommitFacts;

/// What to fetch, into which mirror.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    /// The folder of the mirror.
    pub(super) folder: PathBuf,
    pub(super) url: String,
    pub(super) reference: GitRef,
    pub(super) login: WireLogin,
    pub(super) authority: Option<String>,
    /// With user and password in it.
    pub(super) proxy: Option<String>,
    pub(super) last_seen: Option<String>,
    /// Something of the mirror could not be read: look at everything.
    pub(super) suspect: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) enum WireLogin {
    Anonymous,
    Password { username: String, password: String },
    Token { token: String },
    Key { identity: String, password: Option<String>, known_hosts: String },
}

/// A line of the child.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Line {
    /// What it is doing now.
    Stage(Stage),
    /// It is done.
    Done(Answer),
    /// It is done, without success.
    Failed { kind: Reason, message: String },
}

/// What a fetch is doing, for the error when it does so for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Waiting,
    Connecting,
    Receiving,
    Checking,
}

impl Stage {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for another fetch of the same repository",
            Self::Connecting => "asking the server what it has",
            Self::Receiving => "receiving objects",
            Self::Checking => "checking what was received",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) commit: CommitFacts,
    pub(super) tag: Option<Tag>,
    pub(super) revision: String,
    pub(super) moved: Moved,
    pub(super) received_objects: u64,
    pub(super) received_bytes: u64,
    /// The mirror was damaged and has been made anew.
    pub(super) rebuilt: bool,
}

impl From<&Credentials> for WireLogin {
    fn from(credentials: &Credentials) -> Self {
        match &credentials.login {
            Login::Anonymous => Self::Anonymous,
            Login::Password { username, password } => {
                Self::Password { username: username.expose().clone(), password: password.expose().clone() }
            }
            Login::Token(token) => Self::Token { token: token.expose().clone() },
            Login::Key { identity, password, known_hosts } => Self::Key {
                identity: identity.expose().clone(),
                password: password.as_ref().map(|password| password.expose().clone()),
                known_hosts: known_hosts.clone(),
            },
        }
    }
}

impl WireLogin {
    /// Everything in it that must not be seen.
    fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Anonymous => Vec::new(),
            Self::Password { username, password } => vec![username, password],
            Self::Token { token } => vec![token],
            Self::Key { identity, password, .. } => {
                let lines = identity.lines().filter(|line| !line.starts_with("-----"));
                lines.chain(password.as_deref()).collect()
            }
        }
    }
}

impl Request {
    /// The text without any secret of this request in it.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        // A user called `a` would blank out half of every sentence, and gives nothing away.
        const TELLING: usize = 3;
        let mut clean = reeve_process::secret::scrub(text).into_owned();
        for secret in self.login.secrets().into_iter().filter(|secret| secret.len() > TELLING) {
            clean = clean.replace(secret, reeve_process::secret::REDACTED);
        }
        clean
    }
}

/// The proxy's address with user and password in it, as libgit2 wants it.
pub(super) fn proxy_url(proxy: &Proxy) -> String {
    let Some((username, password)) = &proxy.login else { return proxy.address.clone() };
    let login = format!("{}:{}@", encoded(username.expose()), encoded(password.expose()));
    proxy.address.replacen("://", &format!("://{login}"), 1)
}

/// Everything but letters and digits as `%` and two hex digits.
fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(byte.into());
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_asks_for_a_password_gets_it_in_its_address() {
        let login = Some(("ann".to_owned().into(), "a@b/c:d".to_owned().into()));
        let proxy = Proxy { address: "http://proxy:3128".to_owned(), login };
        assert_eq!(proxy_url(&proxy), "http://ann:a%40b%2Fc%3Ad@proxy:3128");
        assert_eq!(proxy_url(&Proxy { login: None, ..proxy }), "http://proxy:3128");
    }

    #[test]
    fn no_secret_of_a_request_is_left_in_a_text() {
        let request = Request {
            folder: PathBuf::new(),
            url: String::new(),
            reference: GitRef::default(),
            login: WireLogin::Password { username: "x".to_owned(), password: "correct-horse".to_owned() },
            authority: None,
            proxy: None,
            last_seen: None,
            suspect: false,
        };
        let clean = request.without_secrets("exit: correct-horse is not it, see https://u:p@host/x");
        assert_eq!(clean, "exit: [redacted] is not it, see https://[redacted]@host/x");
    }
}
