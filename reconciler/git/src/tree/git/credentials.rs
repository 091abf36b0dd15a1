//! What to show a Git server that asks who we are: the user and password of the URL, keys of the SSH agent, and the
//! default keys of the user. Nothing is asked of a person, and nothing is ever printed.

use std::path::PathBuf;

use git2::{Cred, CredentialType};
use reeve_process::secret::Secret;

/// Default keys, in the order in which they are tried.
const KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// Where credentials come from.
#[derive(Clone, Debug, Default)]
pub struct UserCredentials {
    /// The home of the user, with `.ssh` in it.
    pub home: Option<PathBuf>,
}

/// One fetch's way through the credentials: each is shown once, since a server that refused it will refuse it again.
#[derive(Debug)]
pub(super) struct Presenter {
    user: Option<Secret<String>>,
    keys: Vec<Key>,
    password_shown: bool,
}

#[derive(Clone, Debug)]
enum Key {
    Agent,
    File(PathBuf),
}

impl Presenter {
    pub(super) fn new(credentials: &UserCredentials) -> Self {
        let folder = credentials.home.iter().map(|home| home.join(".ssh"));
        let files = folder.flat_map(|folder| KEYS.map(|name| folder.join(name))).filter(|path| path.is_file());
        let mut keys: Vec<Key> = std::iter::once(Key::Agent).chain(files.map(Key::File)).collect();
        keys.reverse();
        Self { user: None, keys, password_shown: false }
    }

    /// The next thing to show.
    pub(super) fn next(&mut self, user: Option<&str>, allowed: CredentialType) -> Result<Cred, git2::Error> {
        if let Some(user) = user {
            self.user = Some(Secret::new(user.to_owned()));
        }
        let user = self.user.as_ref().map_or("git", |user| user.expose());
        if allowed.contains(CredentialType::SSH_KEY) {
            return match self.keys.pop() {
                Some(Key::Agent) => Cred::ssh_key_from_agent(user),
                Some(Key::File(path)) => Cred::ssh_key(user, None, &path, None),
                None => Err(refused("no key of the SSH agent or of ~/.ssh is accepted")),
            };
        }
        if allowed.contains(CredentialType::USERNAME) {
            return Cred::username(user);
        }
        // User and password of the URL have been shown by now; what is left is a token in place of the user.
        if allowed.contains(CredentialType::USER_PASS_PLAINTEXT) && self.user.is_some() && !self.password_shown {
            self.password_shown = true;
            return Cred::userpass_plaintext(user, "");
        }
        Err(refused("the server asks for credentials: write them into the URL, as https://USER:TOKEN@HOST/PATH"))
    }
}

fn refused(message: &str) -> git2::Error {
    git2::Error::new(git2::ErrorCode::Auth, git2::ErrorClass::Http, message)
}
