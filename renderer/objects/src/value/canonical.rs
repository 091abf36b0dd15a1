//! One form of bytes for one value, and its SHA-256: what bundles are named after.
//!
//! JSON without spaces, keys in the order of their bytes, numbers in their shortest form. Neither the writing machine nor
//! the layout of the text a value came from can change it.

use std::fmt;
use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::Value;

/// The SHA-256 of something in canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Of these parts, each with its length, so that no two lists of parts look alike.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Takes in values and bytes, gives their digest, and keeps no more than a buffer of them.
#[derive(Clone, Debug)]
pub struct DigestWriter {
    hash: Sha256,
    /// What is to be hashed, up to `filled`.
    buffer: [u8; 1024],
    filled: usize,
}

impl Default for DigestWriter {
    fn default() -> Self {
        Self { hash: Sha256::new(), buffer: [0; 1024], filled: 0 }
    }
}

impl DigestWriter {
    /// Takes in the canonical form of a value.
    pub fn value(&mut self, value: &Value) {
        Form(|bytes: &[u8]| self.add(bytes)).value(value);
    }

    fn add(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        if let Some(room) = self.buffer.get_mut(self.filled..end) {
            room.copy_from_slice(bytes);
            self.filled = end;
            return;
        }
        self.hash_buffer();
        match self.buffer.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.filled = bytes.len();
            }
            None => self.hash.update(bytes),
        }
    }

    fn hash_buffer(&mut self) {
        self.hash.update(self.buffer.get(..self.filled).unwrap_or_default());
        self.filled = 0;
    }

    /// The digest of all that was taken in.
    pub fn finish(mut self) -> Digest {
        self.hash_buffer();
        Digest(self.hash.finalize().into())
    }
}

impl Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The canonical form of a value.
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    Form(|more: &[u8]| bytes.extend_from_slice(more)).value(value);
    bytes
}

/// The digest of a value's canonical form, without holding the form.
pub fn digest(value: &Value) -> Digest {
    let mut writer = DigestWriter::default();
    writer.value(value);
    writer.finish()
}

/// Gives the bytes of the canonical form to a function.
struct Form<F>(F);

impl<F: FnMut(&[u8])> Form<F> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Text(text) => self.text(text),
            Value::List(list) => {
                (self.0)(b"[");
                for (at, item) in list.items().iter().enumerate() {
                    self.comma(at);
                    self.value(item);
                }
                (self.0)(b"]");
            }
            Value::Dict(dict) => {
                (self.0)(b"{");
                for (at, (key, value)) in dict.entries().iter().enumerate() {
                    self.comma(at);
                    self.text(key);
                    (self.0)(b":");
                    self.value(value);
                }
                (self.0)(b"}");
            }
            Value::Bool(true) => (self.0)(b"true"),
            Value::Bool(false) => (self.0)(b"false"),
            Value::Null => (self.0)(b"null"),
            Value::Int(_) | Value::Float(_) => self.written(value),
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            (self.0)(b",");
        }
    }

    fn text(&mut self, text: &str) {
        if is_bare(text.as_bytes()) {
            (self.0)(b"\"");
            (self.0)(text.as_bytes());
            (self.0)(b"\"");
        } else {
            self.written(text);
        }
    }

    /// What `serde_json` writes.
    fn written(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        // A serializer over our own data into memory has nothing to fail at.
        let written = serde_json::to_writer(&mut *self, value);
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
    }
}

impl<F: FnMut(&[u8])> Write for Form<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether JSON writes text as it is: no control character, quote or backslash. Eight bytes are looked at as one number.
fn is_bare(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [b' '; 8];
    if let Some(room) = last.get_mut(..rest.len()) {
        room.copy_from_slice(rest);
    }
    words.iter().chain([&last]).all(|word| {
        let word = u64::from_ne_bytes(*word);
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5c));
        // The topmost bit of a byte is set by taking away more than it has.
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = quote.wrapping_sub(ONES) & !quote;
        let backslash = backslash.wrapping_sub(ONES) & !backslash;
        (control | quote | backslash) & (ONES * 0x80) == 0
    })
}

/// A one in each byte.
const ONES: u64 = u64::MAX / 0xff;
