//! Hashes of what counts for a sidecar.
//!
//! Two resources that Dapr cannot tell apart in effect have the same hash: metadata of objects does not count, nor does
//! the order of keys, of scopes and of the entries of `spec.metadata`, of which Dapr makes a map. The order of everything
//! else counts (the handlers of a pipeline, the rules of a route). Values of Secrets count under a key, so that a hash
//! tells nothing of them.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::kind::Kind;
use crate::resource::{Resource, SecretKey};

/// A short hash: 64 bits tell the states of one resource apart.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Hash(u64);

impl Hash {
    /// The hash of nothing.
    pub const NONE: Self = Self(0);

    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::first(&Sha256::digest(bytes))
    }

    fn first(digest: &[u8]) -> Self {
        Self(digest.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A word that is no hash of ours.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is no hash")]
pub struct NoHash(String);

impl FromStr for Hash {
    type Err = NoHash;

    fn from_str(word: &str) -> Result<Self, NoHash> {
        let is_ours = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(word, 16).ok().filter(|_| is_ours);
        number.map(Self).ok_or_else(|| NoHash(word.to_owned()))
    }
}

/// What of a resource a sidecar runs, part by part, since the parts reach it in different ways.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fingerprint {
    /// Spec and auth.
    pub content: Hash,
    /// Scopes: they reach a sidecar that stays in them only by the comparison that daprd makes.
    pub scopes: Hash,
    /// Values of Secrets.
    pub secrets: Hash,
    /// The container of a pluggable component.
    pub container: Hash,
}

impl Fingerprint {
    /// What counts for the sidecars of an app. `secret` gives the hash of a key's value, `None` where it is missing.
    pub fn of(resource: &Resource, injects_containers: bool, secret: impl Fn(&SecretKey) -> Option<Hash>) -> Self {
        let scopes: Vec<&str> = resource.scopes.iter().map(String::as_str).collect();
        let values: Vec<Value> = resource
            .secret_keys()
            .iter()
            .map(|key| json!([key.name, key.key, secret(key).map(|hash| hash.to_string())]))
            .collect();
        let revision = resource.secret_revision.as_deref().filter(|_| resource.reads_foreign_secrets());
        let container = resource.container.as_deref().filter(|_| injects_containers);
        Self {
            content: hash_of(&content(resource)),
            scopes: if scopes.is_empty() { Hash::NONE } else { hash_of(&json!(scopes)) },
            secrets: if values.is_empty() && revision.is_none() {
                Hash::NONE
            } else {
                hash_of(&json!([values, revision]))
            },
            container: container.map_or(Hash::NONE, |text| Hash::of(text.as_bytes())),
        }
    }

    /// A fingerprint of something that is no resource.
    pub fn plain(content: Hash) -> Self {
        Self { content, ..Self::default() }
    }

    /// Whether a sidecar that sees both runs the same.
    pub fn is_same_but_for_scopes(&self, other: &Self) -> bool {
        Self { scopes: other.scopes, ..*self } == *other
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.content, self.scopes, self.secrets, self.container)
    }
}

impl FromStr for Fingerprint {
    type Err = NoHash;

    fn from_str(word: &str) -> Result<Self, NoHash> {
        let parts: Vec<Hash> = word.split('.').map(str::parse).collect::<Result<_, _>>()?;
        let [content, scopes, secrets, container] = parts[..] else { return Err(NoHash(word.to_owned())) };
        Ok(Self { content, scopes, secrets, container })
    }
}

/// The hash of all that Dapr compares of a resource: spec, auth and scopes.
pub fn functional_hash(resource: &Resource) -> Hash {
    hash_of(&json!([content(resource), resource.scopes]))
}

/// The hash of a Secret's value under a key of ours.
pub fn secret_hash(key: &[u8], value: &[u8]) -> Hash {
    // HMAC takes keys of any length.
    Hmac::<Sha256>::new_from_slice(key).map_or(Hash::NONE, |mut mac| {
        mac.update(value);
        Hash::first(&mac.finalize().into_bytes())
    })
}

/// The hash of a value, whatever the order of its keys.
pub(crate) fn hash_of(value: &Value) -> Hash {
    let mut text = String::new();
    write_canonically(value, &mut text);
    Hash::of(text.as_bytes())
}

/// Spec and auth, with what Dapr makes alike made the same.
fn content(resource: &Resource) -> Value {
    let mut spec: Map<String, Value> = resource.spec.clone();
    spec.retain(|_, value| !value.is_null());
    if resource.id.kind == Kind::Component {
        if spec.get("ignoreErrors") == Some(&Value::Bool(false)) {
            spec.remove("ignoreErrors");
        }
        sort_by_name(&mut spec, "metadata");
    }
    if resource.id.kind == Kind::HttpEndpoint {
        sort_by_name(&mut spec, "headers");
    }
    json!([spec, resource.secret_store])
}

/// Sorts a list of named values, of which Dapr makes a map. Entries of one name keep their order: the last one wins.
fn sort_by_name(spec: &mut Map<String, Value>, field: &str) {
    let Some(Value::Array(list)) = spec.get_mut(field) else { return };
    for entry in list.iter_mut() {
        // Dapr takes the text of a value: 5 and "5" are the same to it.
        if let Some(value) = entry.get_mut("value").filter(|value| value.is_number() || value.is_boolean()) {
            *value = Value::String(value.to_string());
        }
    }
    list.sort_by_cached_key(|entry| entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned());
}

fn write_canonically(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Value::String(key.clone()).to_string());
                text.push(':');
                write_canonically(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for value in list {
                write_canonically(value, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests;
