//! TLS before a server of the test's process, by an authority that nobody but the test knows.

use std::fs::File;
use std::io::BufReader;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::pki::Authority;

/// A certificate for loopback, ready to serve with.
#[derive(Clone)]
pub(super) struct Tls {
    authority: String,
    acceptor: TlsAcceptor,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let authority = Authority::new(folder)?;
        let pair = authority.server("git-https", &[IpAddr::V4(Ipv4Addr::LOCALHOST)])?;
        let open = |path: &Path| File::open(path).with_context(|| format!("cannot open {}", path.display()));
        let chain: Vec<_> = CertificateDer::pem_reader_iter(BufReader::new(open(&pair.certificate)?))
            .collect::<Result<_, _>>()
            .context("not a certificate")?;
        let key = PrivateKeyDer::from_pem_reader(BufReader::new(open(&pair.key)?)).context("not a key")?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("no version of TLS")?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .context("key and certificate do not match")?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { authority: authority.certificate().to_owned(), acceptor })
    }

    pub(super) fn authority(&self) -> &str {
        &self.authority
    }
}

/// What a connection is spoken on, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(super) async fn accept(tls: Option<&Tls>, stream: TcpStream) -> Result<Box<dyn Stream>> {
    match tls {
        Some(tls) => Ok(Box::new(tls.acceptor.accept(stream).await?)),
        None => Ok(Box::new(stream)),
    }
}
