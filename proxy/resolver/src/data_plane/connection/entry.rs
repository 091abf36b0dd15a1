//! What comes before anything else on a client's connection: the header of the PROXY protocol, and TLS that ends here.

use std::io;
use std::net::SocketAddr;

use bytes::{Buf, BytesMut};
use tokio::io::AsyncReadExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{HANDSHAKE, PROBE};
use crate::data_plane::port::PortSettings;
use crate::data_plane::prefixed::Prefixed;
use crate::data_plane::proxy_protocol::{self, Parsed};
use crate::data_plane::secrets::Secrets;
use crate::data_plane::tap::Socket;

/// A connection on which all that comes first was said, and who the client is if that was said too.
pub(super) enum Entry<S> {
    Plain(Prefixed<S>, Option<SocketAddr>),
    Tls(Box<TlsStream<Prefixed<S>>>, Option<SocketAddr>),
}

/// Reads what comes first. A question of the switch is let through as it is: it asks every port alike.
pub(super) async fn enter<S: Socket>(mut stream: S, speaks: &PortSettings, secrets: &Secrets) -> io::Result<Entry<S>> {
    let mut read = BytesMut::with_capacity(1024);
    let mut from = None;
    if speaks.accepts_header {
        loop {
            read_more(&mut stream, &mut read).await?;
            if is_begun(&read, PROBE) {
                if read.len() < PROBE.len() {
                    continue;
                }
                return Ok(Entry::Plain(Prefixed::new(read.freeze(), stream), None));
            }
            match proxy_protocol::parse(&read) {
                Parsed::More => {}
                Parsed::Header { length, client } => {
                    read.advance(length);
                    from = client;
                    break;
                }
                Parsed::Wrong => return Err(wrong("it has no header of the PROXY protocol")),
            }
        }
    }
    let Some(key) = &speaks.tls else { return Ok(Entry::Plain(Prefixed::new(read.freeze(), stream), from)) };
    while read.len() < HANDSHAKE.len() {
        read_more(&mut stream, &mut read).await?;
    }
    if !read.starts_with(HANDSHAKE) {
        while is_begun(&read, PROBE) && read.len() < PROBE.len() {
            read_more(&mut stream, &mut read).await?;
        }
        let is_question = read.starts_with(PROBE);
        let plain = is_question.then(|| Entry::Plain(Prefixed::new(read.freeze(), stream), None));
        return plain.ok_or_else(|| wrong("it is not TLS"));
    }
    let config = secrets.certificate(key).ok_or_else(|| wrong("there is no certificate"))?;
    let stream = TlsAcceptor::from(config).accept(Prefixed::new(read.freeze(), stream)).await?;
    Ok(Entry::Tls(Box::new(stream), from))
}

async fn read_more<S: Socket>(stream: &mut S, read: &mut BytesMut) -> io::Result<()> {
    match stream.read_buf(read).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Whether this may become what begins so.
fn is_begun(read: &[u8], begin: &[u8]) -> bool {
    !read.is_empty() && read.iter().zip(begin).all(|(read, wanted)| read == wanted)
}

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
