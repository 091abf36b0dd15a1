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
#[derive(Debug)]
pub struct DigestWriter(io::BufWriter<Hashed>);

#[derive(Clone, Debug, Default)]
struct Hashed(Sha256);

impl Default for DigestWriter {
    fn default() -> Self {
        // One buffer for all values that it takes in.
        Self(io::BufWriter::with_capacity(4096, Hashed::default()))
    }
}

impl DigestWriter {
    /// Takes in the canonical form of a value.
    pub fn value(&mut self, value: &Value) {
        // Our own data into a hash has nothing to fail at.
        let written = serde_json::to_writer(&mut self.0, value);
        debug_assert!(written.is_ok(), "hashing cannot fail");
    }

    /// The digest of all that was taken in.
    pub fn finish(mut self) -> Digest {
        let flushed = self.0.flush();
        debug_assert!(flushed.is_ok(), "hashing cannot fail");
        Digest(self.0.get_ref().0.clone().finalize().into())
    }
}

impl Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The canonical form of a value.
pub fn canonical(value: &Value) -> Vec<u8> {
    // A serializer over our own data into memory has nothing to fail at.
    serde_json::to_vec(value).unwrap_or_default()
}

/// The digest of a value's canonical form, without holding the form.
pub fn digest(value: &Value) -> Digest {
    let mut writer = DigestWriter::default();
    writer.value(value);
    writer.finish()
}
