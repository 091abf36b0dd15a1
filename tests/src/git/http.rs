//! A repository over smart HTTP or HTTPS: a small server in the test's process, git's own `http-backend` behind it.

use std::convert::Infallible;
use std::fmt::Write;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::cgi::{self, Answer, Backend};
use super::tls::{self, Tls};
use super::{Git, GitRepository};
use crate::Supervisor;
use crate::background::Background;

/// Whom a server lets in.
#[derive(Clone, Debug)]
pub struct BasicAuth {
    pub username: String,
    pub password: String,
}

impl BasicAuth {
    pub fn new(username: &str, password: &str) -> Self {
        Self { username: username.into(), password: password.into() }
    }

    fn header(&self) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", self.username, self.password)))
    }
}

/// How a server asks who its clients are.
#[derive(Clone, Debug, Default)]
pub(super) struct Door {
    /// The one value of the header `Authorization` that it lets in.
    header: Option<String>,
    basic: Option<BasicAuth>,
}

impl Door {
    pub(super) fn basic(auth: Option<BasicAuth>) -> Self {
        Self { header: auth.as_ref().map(BasicAuth::header), basic: auth }
    }

    pub(super) fn token(token: &str) -> Self {
        Self { header: Some(format!("Bearer {token}")), basic: None }
    }

    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let given = request.headers().get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
        self.header.as_ref().is_none_or(|wanted| given == Some(wanted.as_bytes()))
    }

    /// Whom git is told that its client is.
    fn user(&self) -> Option<&str> {
        let named = self.basic.as_ref().map(|auth| auth.username.as_str());
        named.or(self.header.is_some().then_some("bearer"))
    }
}

/// A repository on a loopback port. Dropping it ends its connections and frees the port.
#[derive(Debug)]
pub struct GitHttp {
    address: SocketAddr,
    path: String,
    door: Door,
    tls: Option<Tls>,
    requests: Arc<Mutex<Vec<String>>>,
    _background: Background,
    /// Keeps the repository's files, should the server outlive it.
    _supervisor: Supervisor,
}

impl GitHttp {
    pub(super) fn start(repository: &GitRepository, door: Door, is_secure: bool) -> Result<Self> {
        let name = repository.bare.file_name().context("the repository has no name")?.to_string_lossy();
        let root = repository.bare.parent().context("the repository is in no folder")?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on loopback")?;
        listener.set_nonblocking(true).context("cannot listen without blocking")?;
        let address = listener.local_addr().context("cannot read the port")?;
        let log = repository.supervisor.log_of(&format!("git-http-{}", address.port()));
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let site = Arc::new(Site {
            git: repository.git.clone(),
            backend: Backend {
                root: root.to_owned(),
                log: File::create(&log).with_context(|| format!("cannot write {}", log.display()))?,
            },
            door: door.clone(),
            requests: requests.clone(),
        });
        let folder = repository.supervisor.data().join(format!("git-https-{}", address.port()));
        let tls = is_secure.then(|| Tls::new(&folder)).transpose()?;
        let background = Background::start("git-http", run(listener, tls.clone(), site))?;
        let supervisor = repository.supervisor.clone();
        let path = format!("/{name}");
        Ok(Self { address, path, door, tls, requests, _background: background, _supervisor: supervisor })
    }

    /// Where it listens, for a [`crate::Forwarder`] to stand before it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The repository's address, without credentials.
    pub fn url(&self) -> String {
        self.url_at(self.address)
    }

    /// The repository's address if the server is reached at `address`.
    pub fn url_at(&self, address: SocketAddr) -> String {
        format!("{}://{address}{}", self.scheme(), self.path)
    }

    /// The certificate of the authority that signed the server's, in PEM. Nobody else knows it.
    pub fn authority(&self) -> Option<&str> {
        self.tls.as_ref().map(Tls::authority)
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The repository's address with the credentials that it asks for, if it asks for any.
    pub fn url_with_credentials(&self) -> String {
        let credentials = self.door.basic.as_ref().map_or_else(String::new, |auth| {
            format!("{}:{}@", percent_encoded(&auth.username), percent_encoded(&auth.password))
        });
        format!("{}://{credentials}{}{}", self.scheme(), self.address, self.path)
    }

    /// Every request so far, refused ones too: `GET /repository.git/info/refs?service=git-upload-pack`.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(byte.into());
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

struct Site {
    git: Git,
    backend: Backend,
    door: Door,
    requests: Arc<Mutex<Vec<String>>>,
}

async fn run(listener: TcpListener, tls: Option<Tls>, site: Arc<Site>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("cannot listen");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                // An answer in small pieces must not wait for the client to acknowledge each.
                let _ = stream.set_nodelay(true);
                let (site, tls) = (site.clone(), tls.clone());
                let service = service_fn(move |request| {
                    let site = site.clone();
                    async move { Ok::<_, Infallible>(site.answer(request).await) }
                });
                connections.spawn(async move {
                    // A client that breaks off is the client's affair.
                    let Ok(stream) = tls::accept(tls.as_ref(), stream).await else { return };
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

impl Site {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let line = format!("{} {}", request.method(), request.uri());
        self.requests.lock().push(line);
        if !self.door.lets_in(&request) {
            return refusal();
        }
        cgi::answer(&self.git, &self.backend, self.door.user(), request)
            .await
            .unwrap_or_else(|error| cgi::text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}\n")))
    }
}

fn refusal() -> Answer {
    let mut response: Response<_> = cgi::text(StatusCode::UNAUTHORIZED, "who are you?\n");
    let challenge = header::HeaderValue::from_static("Basic realm=\"reeve-tests\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}
