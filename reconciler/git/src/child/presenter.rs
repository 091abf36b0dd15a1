//! What to show a server that asks who we are. Each thing is shown once: a server that refused it will do so again.

use git2::{Cred, CredentialType};

use crate::wire::WireLogin;

/// Who asks for a user over SSH when the URL names none.
const DEFAULT_USER: &str = "git";

/// One fetch's way through its credentials.
pub(super) struct Presenter<'a> {
    login: &'a WireLogin,
    shown: bool,
}

impl<'a> Presenter<'a> {
    pub(super) fn new(login: &'a WireLogin) -> Self {
        Self { login, shown: false }
    }

    pub(super) fn next(&mut self, user: Option<&str>, allowed: CredentialType) -> Result<Cred, git2::Error> {
        let user = user.unwrap_or(DEFAULT_USER);
        if allowed.contains(CredentialType::USERNAME) {
            return Cred::username(user);
        }
        match self.login {
            WireLogin::Key { identity, password, .. } if allowed.contains(CredentialType::SSH_KEY) => {
                self.once("the server refuses the key under `identity`, or its password is wrong")?;
                Cred::ssh_key_from_memory(user, None, identity, password.as_deref())
            }
            WireLogin::Password { username, password } if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) => {
                self.once("the server refuses the user and the password")?;
                Cred::userpass_plaintext(username, password)
            }
            WireLogin::Token { .. } => Err(refused("the server refuses the token")),
            WireLogin::Anonymous => Err(refused("the server asks for credentials, and there is no Secret with any")),
            WireLogin::Key { .. } | WireLogin::Password { .. } => {
                Err(refused("the server asks for credentials of a kind that the Secret does not have"))
            }
        }
    }

    fn once(&mut self, else_say: &str) -> Result<(), git2::Error> {
        if std::mem::replace(&mut self.shown, true) { Err(refused(else_say)) } else { Ok(()) }
    }
}

fn refused(message: &str) -> git2::Error {
    git2::Error::new(git2::ErrorCode::Auth, git2::ErrorClass::Http, message)
}
