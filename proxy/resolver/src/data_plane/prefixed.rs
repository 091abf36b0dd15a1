//! A stream of which the beginning was read already.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tap::{Socket, Tap};

/// Reads what was read before, then the rest. Writes go straight through.
#[derive(Debug)]
pub(crate) struct Prefixed<S> {
    read: Bytes,
    stream: S,
    tap: Option<Arc<Tap>>,
}

impl<S> Prefixed<S> {
    pub(crate) fn new(read: Bytes, stream: S) -> Self {
        Self { read, stream, tap: None }
    }

    /// With somebody who watches what passes.
    pub(crate) fn tapped(mut self, tap: Arc<Tap>) -> Self {
        self.tap = Some(tap);
        self
    }
}

impl<S: Socket> Socket for Prefixed<S> {
    fn is_hung_up(&self) -> bool {
        self.stream.is_hung_up()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = if self.read.has_remaining() {
            let length = self.read.len().min(buffer.remaining());
            buffer.put_slice(&self.read.split_to(length));
            Poll::Ready(Ok(()))
        } else {
            Pin::new(&mut self.stream).poll_read(cx, buffer)
        };
        if let Some(tap) = &self.tap
            && let Some(new) = buffer.filled().get(before..).filter(|new| !new.is_empty())
        {
            tap.read(new);
        }
        polled
    }
}

impl<S: Socket> AsyncWrite for Prefixed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tap) = &self.tap {
            tap.look_at(&self.stream);
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
