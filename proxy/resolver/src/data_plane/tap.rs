//! What hyper does not tell of a client's connection: the head of a request as it was written, and that the client has
//! gone although more of its body could be read.
//!
//! hyper drops a `content-length` beside a `transfer-encoding` without a word. A proxy in front of us may have believed
//! the other one, and what it took for a body we would take for the next request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncWrite, Interest, Ready};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

/// As much as a head may have.
const HEAD_BYTES: usize = 64 * 1024;

/// A socket that can tell that its peer has hung up, although there is more to read.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    fn is_hung_up(&self) -> bool;
}

impl Socket for TcpStream {
    fn is_hung_up(&self) -> bool {
        // Known from the last event of the socket; nothing is asked of the kernel.
        let ready = self.ready(Interest::READABLE).now_or_never();
        ready.is_some_and(|ready| ready.is_ok_and(Ready::is_read_closed))
    }
}

impl<S: Socket> Socket for TlsStream<S> {
    fn is_hung_up(&self) -> bool {
        self.get_ref().0.is_hung_up()
    }
}

/// Sits between a socket and hyper.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    looks: AtomicBool,
    hung_up: AtomicBool,
    head: Mutex<Head>,
}

/// The bytes since the last response ended.
#[derive(Debug)]
struct Head {
    records: bool,
    bytes: Vec<u8>,
    since: Option<Instant>,
}

impl Default for Head {
    fn default() -> Self {
        Self { records: true, bytes: Vec::new(), since: None }
    }
}

/// What the head of a request with a `transfer-encoding` looked like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    /// No length beside it.
    Clean,
    /// Two ways to say where it ends.
    Ambiguous,
    /// It came together with what was before it.
    Unseen,
}

impl Tap {
    /// Whether the client had gone when the socket was flushed last. Asking has it looked at from then on.
    pub(crate) fn is_hung_up(&self) -> bool {
        self.looks.store(true, Ordering::Relaxed);
        self.hung_up.load(Ordering::Relaxed)
    }

    /// The socket is about to be flushed.
    pub(crate) fn look_at(&self, socket: &impl Socket) {
        if self.looks.load(Ordering::Relaxed) && socket.is_hung_up() {
            self.hung_up.store(true, Ordering::Relaxed);
        }
    }

    /// These bytes came.
    pub(crate) fn read(&self, bytes: &[u8]) {
        let mut head = self.lock();
        if head.records {
            head.since.get_or_insert_with(Instant::now);
            let room = HEAD_BYTES - head.bytes.len();
            head.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// A head was parsed; what comes now is its body.
    pub(crate) fn end_head(&self, is_chunked: bool) -> Option<Framing> {
        let mut head = self.lock();
        head.records = false;
        let framing = is_chunked.then(|| framing(&head.bytes));
        head.bytes.clear();
        head.since = None;
        framing
    }

    /// For how long a head has been under way.
    pub(crate) fn head_age(&self) -> Duration {
        self.lock().since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// When this is dropped the response is over, and what comes is the next head.
    pub(crate) fn next_head(self: &Arc<Self>) -> NextHead {
        NextHead(Arc::clone(self))
    }

    fn lock(&self) -> MutexGuard<'_, Head> {
        self.head.lock()
    }
}

/// Kept by a response's body.
#[derive(Debug)]
pub(crate) struct NextHead(Arc<Tap>);

impl Drop for NextHead {
    fn drop(&mut self) {
        self.0.lock().records = true;
    }
}

fn framing(bytes: &[u8]) -> Framing {
    let end = find(bytes, b"\r\n\r\n").or_else(|| find(bytes, b"\n\n"));
    let Some(head) = end.and_then(|end| bytes.get(..end)) else { return Framing::Unseen };
    let has = |name: &[u8]| head.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name));
    match (has(b"transfer-encoding"), has(b"content-length")) {
        (false, _) => Framing::Unseen,
        (true, false) => Framing::Clean,
        (true, true) => Framing::Ambiguous,
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: &str) -> Option<Framing> {
        let tap = Arc::new(Tap::default());
        tap.read(bytes.as_bytes());
        tap.end_head(true)
    }

    #[test]
    fn a_length_beside_an_encoding_is_seen_whatever_hyper_makes_of_it() {
        assert_eq!(seen("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Some(Framing::Clean));
        assert_eq!(
            seen("POST / HTTP/1.1\r\nCONTENT-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Some(Framing::Ambiguous)
        );
        assert_eq!(
            seen("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\ncontent-length\r\n"),
            Some(Framing::Clean),
            "a body may say what it likes"
        );
    }

    #[test]
    fn a_head_that_came_with_the_request_before_it_counts_as_unseen() {
        let tap = Arc::new(Tap::default());
        tap.read(b"GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!(tap.end_head(false), None);
        let next = tap.next_head();
        tap.read(b"the body of the first is not the head of the second: transfer-encoding\r\n\r\n");
        drop(next);
        assert_eq!(tap.end_head(true), Some(Framing::Unseen));
    }

    #[test]
    fn no_more_is_kept_than_a_head_may_have() {
        let tap = Tap::default();
        tap.read(&vec![b'x'; 10 * HEAD_BYTES]);
        tap.read(b"transfer-encoding: chunked\r\n\r\n");
        assert_eq!(tap.lock().bytes.len(), HEAD_BYTES);
        assert_eq!(tap.end_head(true), Some(Framing::Unseen));
    }
}
