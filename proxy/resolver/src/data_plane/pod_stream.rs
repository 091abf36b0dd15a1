//! A connection to a pod: plain or under TLS, and what it says first.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::proxy_protocol;
use super::tap::Socket;

const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// How pods of a port are spoken to on behalf of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    pub(crate) tls: Option<PodTls>,
    /// Client and where it connected to, if pods are told.
    pub(crate) announces: Option<(SocketAddr, SocketAddr)>,
}

/// TLS to the pods of a port.
#[derive(Clone, Debug)]
pub(crate) struct PodTls {
    pub(crate) name: ServerName<'static>,
    pub(crate) configs: Arc<PodConfigs>,
}

/// For each of what is going to be spoken.
#[derive(Debug)]
pub(crate) struct PodConfigs {
    pub(crate) http1: Arc<ClientConfig>,
    pub(crate) http2: Arc<ClientConfig>,
    pub(crate) bytes: Arc<ClientConfig>,
}

/// What is going to be spoken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spoken {
    Http1,
    Http2,
    Bytes,
}

impl Way {
    /// Whether what one client had may be another's.
    pub(crate) fn is_shared(&self) -> bool {
        self.announces.is_none()
    }

    /// Says what comes first on a new connection.
    pub(crate) async fn begin(&self, mut stream: TcpStream, spoken: Spoken) -> io::Result<PodStream> {
        if let Some((client, at)) = self.announces {
            stream.write_all(proxy_protocol::header(client, at).as_bytes()).await?;
        }
        let Some(tls) = &self.tls else { return Ok(PodStream::Plain(stream)) };
        let config = match spoken {
            Spoken::Http1 => &tls.configs.http1,
            Spoken::Http2 => &tls.configs.http2,
            Spoken::Bytes => &tls.configs.bytes,
        };
        let handshake = TlsConnector::from(Arc::clone(config)).connect(tls.name.clone(), stream);
        let handshake = timeout(HANDSHAKE_WITHIN, handshake).await;
        let stream = handshake.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(PodStream::Tls(Box::new(stream)))
    }
}

/// A connection to a pod.
#[derive(Debug)]
pub(crate) enum PodStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket for PodStream {
    fn is_hung_up(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_hung_up(),
            Self::Tls(stream) => stream.get_ref().0.is_hung_up(),
        }
    }
}

impl AsyncRead for PodStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for PodStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
