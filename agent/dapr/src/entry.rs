//! What sidecars run, thing by thing: a resource, a Secret that is read at the start, an image; each with its hashes.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::json;

use crate::fingerprint::{Fingerprint, Hash, NoHash, hash_of};
use crate::kind::Kind;
use crate::resource::{Class, ResourceId};

/// A kind whose values a sidecar reads.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SourceKind {
    /// A Secret.
    Secret,
    /// A `ConfigMap`.
    ConfigMap,
}

/// What an entry is about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum EntryKind {
    /// A Dapr resource.
    Resource(Kind),
    /// A Secret or `ConfigMap` that a sidecar reads when it starts.
    Source(SourceKind),
    /// The image of the sidecar.
    Image,
    /// The Configuration of the control plane.
    System,
}

impl EntryKind {
    /// The word for it in a record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resource(kind) => kind.as_str(),
            Self::Source(SourceKind::Secret) => "Secret",
            Self::Source(SourceKind::ConfigMap) => "ConfigMap",
            Self::Image => "Image",
            Self::System => "System",
        }
    }

    /// The kind with this word.
    pub fn find(word: &str) -> Option<Self> {
        let others = [Self::Source(SourceKind::Secret), Self::Source(SourceKind::ConfigMap), Self::Image, Self::System];
        Kind::ALL.into_iter().map(Self::Resource).chain(others).find(|kind| kind.as_str() == word)
    }
}

/// What names an entry.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct EntryKey {
    /// What it is about.
    pub kind: EntryKind,
    /// Its name.
    pub name: String,
}

impl EntryKey {
    /// The key of a resource.
    pub fn of(resource: &ResourceId) -> Self {
        Self { kind: EntryKind::Resource(resource.kind), name: resource.name.clone() }
    }
}

/// One thing that sidecars run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// Its hashes.
    pub fingerprint: Fingerprint,
    /// What sort of component it is.
    pub class: Class,
}

/// The class is part of the text: when a resource is gone, its record alone knows what it was.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            Class::Plain => "",
            Class::ActorStateStore => "/ActorStateStore",
            Class::WorkflowBackend => "/WorkflowBackend",
            Class::SecretStore => "/SecretStore",
        };
        write!(f, "{}{class}", self.fingerprint)
    }
}

impl FromStr for Entry {
    type Err = NoHash;

    fn from_str(word: &str) -> Result<Self, NoHash> {
        let (hashes, class) = word.split_once('/').unwrap_or((word, ""));
        let class = match class {
            "ActorStateStore" => Class::ActorStateStore,
            "WorkflowBackend" => Class::WorkflowBackend,
            "SecretStore" => Class::SecretStore,
            _ => Class::Plain,
        };
        Ok(Self { fingerprint: hashes.parse()?, class })
    }
}

/// Everything that sidecars run.
pub type Entries = BTreeMap<EntryKey, Entry>;

/// One hash of everything, by which a restart is known. Scopes are left out: whom they concern is in the entries.
pub fn target_hash(entries: &Entries) -> Hash {
    let parts: Vec<_> = entries
        .iter()
        .map(|(key, entry)| {
            let fingerprint = Fingerprint { scopes: Hash::NONE, ..entry.fingerprint };
            json!([key.kind.as_str(), key.name, fingerprint.to_string()])
        })
        .collect();
    hash_of(&json!(parts))
}
