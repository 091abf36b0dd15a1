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

struct Hashing(Sha256);

impl Write for Hashing {
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
    let mut hashing = io::BufWriter::with_capacity(4096, Hashing(Sha256::new()));
    let written = serde_json::to_writer(&mut hashing, value).map_err(io::Error::from).and_then(|()| hashing.flush());
    debug_assert!(written.is_ok(), "hashing cannot fail");
    Digest(hashing.get_ref().0.clone().finalize().into())
}
