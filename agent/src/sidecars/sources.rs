//! Hashes of the Secrets and `ConfigMaps` that sidecars read. Values are hashed as they arrive and never kept.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use reeve_agent_dapr::Hash;
use reeve_agent_dapr::fingerprint::secret_hash;
use reeve_agent_dapr::world::{SourceId, SourceKind};

use super::hash_key::HashKey;

/// A Secret or `ConfigMap` cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the {} {}/{}", word(id.kind), id.namespace, id.name)]
pub(super) struct SourceError {
    id: SourceId,
    #[source]
    cause: Box<kube::Error>,
}

/// The hash of each key's value.
pub(super) type Values = BTreeMap<String, Hash>;

/// What was hashed so far.
#[derive(Debug)]
pub(super) struct Sources {
    key: HashKey,
    /// Each with the version that it was read at.
    read: BTreeMap<SourceId, (String, Values)>,
}

impl Sources {
    pub(super) fn new(key: HashKey) -> Self {
        Self { key, read: BTreeMap::new() }
    }

    /// Names the key.
    pub(super) fn hash_key(&self) -> Hash {
        self.key.name()
    }

    pub(super) fn hashes(&self) -> BTreeMap<SourceId, Values> {
        self.read.iter().map(|(id, (_, values))| (id.clone(), values.clone())).collect()
    }

    /// Reads those that are needed and have another version than they were read at; forgets all others.
    pub(super) async fn refresh(
        &mut self,
        client: &Client,
        needed: &BTreeSet<SourceId>,
        versions: &BTreeMap<SourceId, String>,
    ) -> Result<(), SourceError> {
        self.read.retain(|id, _| needed.contains(id) && versions.contains_key(id));
        for id in needed {
            let Some(version) = versions.get(id) else { continue };
            if self.read.get(id).is_some_and(|(read, _)| is_as_new(read, version)) {
                continue;
            }
            let found = self.fetch(client, id).await;
            match found.map_err(|cause| SourceError { id: id.clone(), cause: Box::new(cause) })? {
                Some(found) => drop(self.read.insert(id.clone(), found)),
                None => drop(self.read.remove(id)),
            }
        }
        Ok(())
    }

    async fn fetch(&self, client: &Client, id: &SourceId) -> Result<Option<(String, Values)>, kube::Error> {
        let hash = |value: &[u8]| secret_hash(self.key.bytes(), value);
        Ok(match id.kind {
            SourceKind::Secret => {
                let api: Api<Secret> = Api::namespaced(client.clone(), &id.namespace);
                api.get_opt(&id.name).await?.map(|secret| {
                    let values = secret.data.into_iter().flatten().map(|(key, value)| (key, hash(&value.0))).collect();
                    (secret.metadata.resource_version.unwrap_or_default(), values)
                })
            }
            SourceKind::ConfigMap => {
                let api: Api<ConfigMap> = Api::namespaced(client.clone(), &id.namespace);
                api.get_opt(&id.name).await?.map(|map| {
                    let texts = map.data.into_iter().flatten().map(|(key, value)| (key, hash(value.as_bytes())));
                    let bytes = map.binary_data.into_iter().flatten().map(|(key, value)| (key, hash(&value.0)));
                    (map.metadata.resource_version.unwrap_or_default(), texts.chain(bytes).collect())
                })
            }
        })
    }
}

/// Whether what was read is no older than what a watch has seen.
pub(super) fn is_as_new(read: &str, seen: &str) -> bool {
    let number = |version: &str| version.parse::<u64>().ok();
    read == seen || number(read).zip(number(seen)).is_some_and(|(read, seen)| read >= seen)
}

const fn word(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Secret => "Secret",
        SourceKind::ConfigMap => "ConfigMap",
    }
}
