//! A repository on a server, over HTTP or SSH.

use std::cell::RefCell;
use std::rc::Rc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use git2::cert::Cert;
use git2::{
    AutotagOption, CertificateCheckStatus, ErrorClass, ErrorCode, FetchOptions, Oid, ProxyOptions, Remote,
    RemoteCallbacks, RemoteRedirect, Repository,
};
use reeve_crds::Reason;

use super::failure::Failure;
use super::presenter::Presenter;
use crate::known_hosts;
use crate::reference::{Choice, Head, ReferenceError};
use crate::wire::{Request, WireLogin};

/// A ref that no server has: to ask for it is to connect and to be told what there is.
const NOTHING: &str = "+refs/reeve/nothing:refs/reeve/nothing";
const SSH_PORT: u16 = 22;

pub(super) struct RemoteSource<'a> {
    request: &'a Request,
    into: &'a Repository,
    remote: Remote<'a>,
    /// The host key that was shown, for the error if it is refused.
    host_key: Rc<RefCell<Option<String>>>,
}

impl<'a> RemoteSource<'a> {
    pub(super) fn connect(request: &'a Request, into: &'a Repository) -> Result<Self, Failure> {
        let remote = into.remote_anonymous(&request.url)?;
        let mut this = Self { request, into, remote, host_key: Rc::default() };
        this.download(&[NOTHING.to_owned()])?;
        Ok(this)
    }

    pub(super) fn heads(&self) -> Result<Vec<Head>, Failure> {
        let heads = self.remote.list()?;
        Ok(heads.iter().map(|head| Head { name: head.name().to_owned(), id: head.oid().to_string() }).collect())
    }

    pub(super) fn receive(&mut self, choice: &Choice) -> Result<(u64, u64), Failure> {
        let commit = Oid::from_str(&choice.commit)?;
        let Some(source) = &choice.source else { return self.receive_by_id(commit) };
        self.download(&[format!("+{source}:refs/reeve/nothing")])?;
        Ok(self.received())
    }

    /// A server need not give out a commit by its id; then it is looked for in all that branches and tags reach.
    fn receive_by_id(&mut self, commit: Oid) -> Result<(u64, u64), Failure> {
        let by_id = self.download(&[format!("+{commit}:refs/reeve/nothing")]);
        if by_id.is_err() || self.into.find_commit(commit).is_err() {
            let all = ["heads", "tags"].map(|kind| format!("+refs/{kind}/*:refs/reeve/{kind}/*"));
            self.download(&all)?;
        }
        self.into.odb()?.refresh()?;
        if self.into.odb()?.exists(commit) {
            Ok(self.received())
        } else {
            Err(ReferenceError::Commit(commit.to_string()).into())
        }
    }

    fn received(&self) -> (u64, u64) {
        let stats = self.remote.stats();
        (stats.received_objects() as u64, stats.received_bytes() as u64)
    }

    fn download(&mut self, refspecs: &[String]) -> Result<(), Failure> {
        let mut options = options(self.request, &self.host_key);
        match self.remote.download(refspecs, Some(&mut options)) {
            Ok(()) => Ok(()),
            Err(error) if is_distrust(&error) => Err(self.refused(&error)),
            Err(error) => Err(error.into()),
        }
    }

    /// What the certificate or the host key is refused for.
    fn refused(&self, error: &git2::Error) -> Failure {
        let WireLogin::Key { known_hosts: list, .. } = &self.request.login else {
            let message =
                format!("{}; a private authority is trusted by the key `ca.crt` of the Secret", error.message());
            return Failure::known(Reason::CertificateRefused, message);
        };
        let key = self.host_key.borrow().clone().unwrap_or_else(|| "its host key".to_owned());
        let address: Option<http::Uri> = self.request.url.parse().ok();
        let host = address.as_ref().and_then(http::Uri::host).unwrap_or_default();
        let port = address.as_ref().and_then(http::Uri::port_u16).unwrap_or(SSH_PORT);
        let message = if known_hosts::names(list, host, port) {
            format!("the host key of {host} has changed: it is {key}, which is not the one in `known_hosts`")
        } else {
            format!("{host} is not in `known_hosts`: its host key is {key}")
        };
        Failure::known(Reason::HostKeyRefused, message)
    }
}

fn options<'a>(request: &'a Request, host_key: &Rc<RefCell<Option<String>>>) -> FetchOptions<'a> {
    let mut presenter = Presenter::new(&request.login);
    let mut callbacks = RemoteCallbacks::new();
    callbacks.credentials(move |_, user, allowed| presenter.next(user, allowed));
    let host_key = Rc::clone(host_key);
    callbacks.certificate_check(move |certificate, _| {
        *host_key.borrow_mut() = fingerprint(certificate);
        // Whether it is to be trusted is for libssh2 and OpenSSL to say.
        Ok(CertificateCheckStatus::CertificatePassthrough)
    });
    let mut proxy = ProxyOptions::new();
    match &request.proxy {
        Some(url) => proxy.url(url),
        None => proxy.auto(),
    };
    let mut options = FetchOptions::new();
    options.remote_callbacks(callbacks).proxy_options(proxy).download_tags(AutotagOption::None);
    match &request.login {
        WireLogin::Anonymous => {}
        // What opens one server must not be shown to another that it sends us to.
        WireLogin::Password { .. } | WireLogin::Key { .. } => {
            options.follow_redirects(RemoteRedirect::None);
        }
        WireLogin::Token { token } => {
            options.follow_redirects(RemoteRedirect::None);
            options.custom_headers(&[&format!("Authorization: Bearer {token}")]);
        }
    }
    options
}

/// Whether a certificate or a host key is not trusted. For certificates libgit2 says so in its text alone.
fn is_distrust(error: &git2::Error) -> bool {
    let is_certificate = error.class() == ErrorClass::Ssl && error.message().contains("certificate");
    is_certificate || error.code() == ErrorCode::Certificate
}

/// As OpenSSH prints it.
fn fingerprint(certificate: &Cert<'_>) -> Option<String> {
    let key = certificate.as_hostkey()?;
    let kind = key.hostkey_type().map_or("unknown", |kind| kind.name());
    Some(format!("{kind} SHA256:{}", BASE64_STANDARD_NO_PAD.encode(key.hash_sha256()?)))
}
