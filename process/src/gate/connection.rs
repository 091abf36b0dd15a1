//! Connections that write only while their term lasts.
//!
//! The check sits directly above the socket, below TLS and HTTP and every queue, so that nothing that was on its way
//! when the process was stopped gets past it. Two things are left to the kernel, since nobody else is awake then: bytes
//! that it has taken but that nobody acknowledged are given up before another may lead (`TCP_USER_TIMEOUT`), and those
//! of a connection that outlived its term are thrown away with it (a reset instead of an orderly end).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt};
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

use super::{NotLeader, Term};

/// Connects for one term.
#[derive(Clone, Debug)]
pub(super) struct GatedConnector {
    inner: HttpConnector,
    term: Term,
}

impl GatedConnector {
    pub(super) fn new(term: Term) -> Self {
        let mut inner = HttpConnector::new();
        // The scheme is the concern of the TLS layer above.
        inner.enforce_http(false);
        inner.set_nodelay(true);
        Self { inner, term }
    }
}

impl Service<Uri> for GatedConnector {
    type Response = GatedConnection;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<GatedConnection, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let term = self.term.clone();
        let connect = self.inner.call(to);
        async move {
            let stream = term.run(connect).await??;
            if let Some(margin) = term.margin() {
                let millis = u32::try_from(margin.as_millis()).unwrap_or(u32::MAX).max(1);
                rustix::net::sockopt::set_tcp_user_timeout(stream.inner(), millis)?;
            }
            let over = term.token().cancelled_owned().boxed();
            Ok(GatedConnection { stream, term, over })
        }
        .boxed()
    }
}

/// A connection that fails once its term is over.
pub(super) struct GatedConnection {
    stream: TokioIo<TcpStream>,
    term: Term,
    /// Wakes a reader that waits when the term ends.
    over: BoxFuture<'static, ()>,
}

impl GatedConnection {
    fn check(&self) -> io::Result<()> {
        self.term.check().map_err(|NotLeader| io::Error::other(NotLeader))
    }

    #[cfg(test)]
    pub(super) fn tcp(&self) -> &TcpStream {
        self.stream.inner()
    }

    fn stream(&mut self) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.stream)
    }
}

impl Drop for GatedConnection {
    fn drop(&mut self) {
        if self.term.check().is_err() {
            // What fails here fails on a socket that is dead already.
            let _ = self.stream.inner().set_zero_linger();
        }
    }
}

impl Connection for GatedConnection {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl Read for GatedConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        match self.over.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::other(NotLeader))),
            Poll::Pending => self.stream().poll_read(cx, into),
        }
    }
}

impl Write for GatedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        self.stream().poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
