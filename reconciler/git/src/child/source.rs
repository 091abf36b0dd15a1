//! Where objects come from: a server, or a repository on this machine.

use git2::Repository;
use reeve_crds::Reason;

use super::failure::Failure;
use super::local::LocalSource;
use super::remote::RemoteSource;
use crate::reference::{Choice, Head};
use crate::wire::Request;

pub(super) enum Source<'a> {
    /// libgit2 would copy what all branches have, again and again: it is done by hand.
    Local(LocalSource<'a>),
    Remote(RemoteSource<'a>),
}

impl<'a> Source<'a> {
    pub(super) fn connect(request: &'a Request, into: &'a Repository) -> Result<Self, Failure> {
        if let Some(path) = request.url.strip_prefix("file://") {
            return LocalSource::open(path, into).map(Self::Local);
        }
        let known = ["https://", "http://", "ssh://"].iter().any(|scheme| request.url.starts_with(scheme));
        if !known {
            let message = "write a URL that starts with https://, http://, ssh:// or file://";
            return Err(Failure::known(Reason::Unsupported, message));
        }
        // Over http:// libgit2 would go around the proxy without a word.
        if !request.url.starts_with("https://") && request.proxy.is_some() {
            let message = "only https:// can go through a proxy: use it, or remove spec.proxySecretRef";
            return Err(Failure::known(Reason::Unsupported, message));
        }
        RemoteSource::connect(request, into).map(Self::Remote)
    }

    /// Every ref of the repository.
    pub(super) fn heads(&self) -> Result<Vec<Head>, Failure> {
        match self {
            Self::Local(source) => source.heads(),
            Self::Remote(source) => source.heads(),
        }
    }

    /// Brings over what is missing for a commit, and counts objects and bytes.
    pub(super) fn receive(&mut self, choice: &Choice) -> Result<(u64, u64), Failure> {
        match self {
            Self::Local(source) => source.receive(choice),
            Self::Remote(source) => source.receive(choice),
        }
    }
}
