//! Heads and bodies of HTTP/1 as they are on the wire: hyper cannot hand over a connection whose answer is a `200`, as the
//! Docker API does for attach and exec.

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// As dockerd allows.
const LONGEST_HEAD: usize = 1 << 20;
const MOST_HEADERS: usize = 256;
/// Of a hooked call: far more than any container's configuration has.
const LONGEST_BODY: usize = 16 << 20;

/// What was read is no HTTP/1, or too much of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("the connection ended in the middle of a message")]
    Ended,
    #[error("the head has more than {LONGEST_HEAD} bytes")]
    LongHead,
    #[error("the body has more than {LONGEST_BODY} bytes")]
    LongBody,
    #[error("not the head of a message")]
    Malformed(#[source] httparse::Error),
    #[error("content-length or transfer-encoding make no sense")]
    Framing,
    #[error("cannot read")]
    Read(#[source] std::io::Error),
}

/// Names and values as they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    /// Until the connection ends; of a request: there is none.
    Unframed,
}

/// The head of a request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Headers,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    /// As it came.
    pub(crate) bytes: Vec<u8>,
}

impl Headers {
    fn of(parsed: &[httparse::Header<'_>]) -> Self {
        Self(parsed.iter().map(|header| (header.name.to_owned(), header.value.to_vec())).collect())
    }

    fn values<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h [u8]> {
        self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    /// Whether a list of words has this one.
    pub(crate) fn has(&self, name: &str, word: &str) -> bool {
        let is_word = |text: &[u8]| text.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
        self.values(name).any(|value| value.split(|byte| *byte == b',').any(is_word))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Takes the place of all of that name.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.push((name.to_owned(), value.as_bytes().to_vec()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// A message that could be read in two ways is refused.
    pub(crate) fn framing(&self) -> Result<Framing, HeadError> {
        let lengths: Vec<&[u8]> = self.values("content-length").collect();
        let is_chunked = self.has("transfer-encoding", "chunked");
        match lengths.as_slice() {
            [] if is_chunked => Ok(Framing::Chunked),
            [] if self.contains("transfer-encoding") => Err(HeadError::Framing),
            [] => Ok(Framing::Unframed),
            [length] if !is_chunked => {
                let length = std::str::from_utf8(length).ok().and_then(|length| length.trim().parse().ok());
                length.map(Framing::Length).ok_or(HeadError::Framing)
            }
            _ => Err(HeadError::Framing),
        }
    }
}

impl Request {
    /// Reads a head, and leaves what comes after it in `buffer`. `None` if the client is done.
    pub(crate) async fn read(
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut BytesMut,
    ) -> Result<Option<Self>, HeadError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut parsed = httparse::Request::new(&mut headers);
            if let httparse::Status::Complete(length) = parsed.parse(buffer).map_err(HeadError::Malformed)? {
                let head = Self {
                    method: parsed.method.unwrap_or_default().to_owned(),
                    target: parsed.path.unwrap_or_default().to_owned(),
                    headers: Headers::of(parsed.headers),
                };
                buffer.advance(length);
                return Ok(Some(head));
            }
            let was_empty = buffer.is_empty();
            match more(from, buffer).await {
                Err(HeadError::Ended) if was_empty => return Ok(None),
                read => read?,
            }
        }
    }

    /// As it goes on the wire.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers.0 {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    /// Whether the connection may become something else than HTTP.
    pub(crate) fn is_upgrade(&self) -> bool {
        self.headers.contains("upgrade") && self.headers.has("connection", "upgrade")
    }

    /// The whole body.
    pub(crate) async fn body(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut BytesMut,
    ) -> Result<Vec<u8>, HeadError> {
        match self.headers.framing()? {
            Framing::Unframed => Ok(Vec::new()),
            framing => read_body(framing, from, buffer).await,
        }
    }
}

impl Response {
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> Result<Self, HeadError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut parsed = httparse::Response::new(&mut headers);
            if let httparse::Status::Complete(length) = parsed.parse(buffer).map_err(HeadError::Malformed)? {
                let (status, headers) = (parsed.code.unwrap_or_default(), Headers::of(parsed.headers));
                return Ok(Self { status, headers, bytes: buffer.split_to(length).to_vec() });
            }
            more(from, buffer).await?;
        }
    }

    /// Whether the connection is something else than HTTP from here on.
    pub(crate) fn is_hijacked(&self) -> bool {
        let is_raw = matches!(self.headers.framing(), Ok(Framing::Unframed));
        self.status == 101 || (self.status == 200 && is_raw)
    }

    /// The whole body.
    pub(crate) async fn body(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        buffer: &mut BytesMut,
    ) -> Result<Vec<u8>, HeadError> {
        match (self.status, self.headers.framing()?) {
            (100..=199 | 204 | 304, _) => Ok(Vec::new()),
            (_, framing) => read_body(framing, from, buffer).await,
        }
    }
}

async fn read_body(
    framing: Framing,
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> Result<Vec<u8>, HeadError> {
    match framing {
        Framing::Length(length) => exactly(length, from, buffer).await,
        Framing::Chunked => chunks(from, buffer).await,
        Framing::Unframed => loop {
            match more(from, buffer).await {
                Ok(()) if buffer.len() > LONGEST_BODY => return Err(HeadError::LongBody),
                Ok(()) => {}
                Err(HeadError::Ended) => return Ok(buffer.split().to_vec()),
                Err(error) => return Err(error),
            }
        },
    }
}

async fn exactly(
    length: usize,
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> Result<Vec<u8>, HeadError> {
    if length > LONGEST_BODY {
        return Err(HeadError::LongBody);
    }
    while buffer.len() < length {
        more(from, buffer).await?;
    }
    Ok(buffer.split_to(length).to_vec())
}

async fn chunks(from: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> Result<Vec<u8>, HeadError> {
    let mut body = Vec::new();
    loop {
        let parsed = httparse::parse_chunk_size(buffer).map_err(|_invalid| HeadError::Framing)?;
        let httparse::Status::Complete((line, size)) = parsed else {
            more(from, buffer).await?;
            continue;
        };
        buffer.advance(line);
        let size = usize::try_from(size).map_err(|_huge| HeadError::LongBody)?;
        if body.len().saturating_add(size) > LONGEST_BODY {
            return Err(HeadError::LongBody);
        }
        if size == 0 {
            trailers(from, buffer).await?;
            return Ok(body);
        }
        body.extend(exactly(size, from, buffer).await?);
        if exactly(2, from, buffer).await? != b"\r\n" {
            return Err(HeadError::Framing);
        }
    }
}

/// Reads over trailers, of which no call that hooks are for has any.
async fn trailers(from: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> Result<(), HeadError> {
    loop {
        match buffer.windows(2).position(|two| two == b"\r\n") {
            Some(0) => {
                buffer.advance(2);
                return Ok(());
            }
            Some(line) => buffer.advance(line + 2),
            None => more(from, buffer).await?,
        }
    }
}

async fn more(from: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> Result<(), HeadError> {
    if buffer.len() > LONGEST_BODY + LONGEST_HEAD {
        return Err(HeadError::LongHead);
    }
    match from.read_buf(buffer).await {
        Ok(0) => Err(HeadError::Ended),
        Ok(_) => Ok(()),
        Err(error) => Err(HeadError::Read(error)),
    }
}

#[cfg(test)]
mod tests;
