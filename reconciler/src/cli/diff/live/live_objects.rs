//! The objects of a runtime as they are in the cluster: those that Git wants, and those of its inventory.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_reconciler_engine::apply::{Applier, ApplyError};
use reeve_reconciler_engine::cluster::{Kind, KindsError};
use reeve_reconciler_engine::inventory::Inventory;
use reeve_reconciler_engine::live::Live;
use reeve_renderer::bundle::MANAGED_BY;
use reeve_renderer::object::ObjectKey;
use serde::Deserialize as _;
use serde_json::Value;

use super::live_diff::{AT_ONCE, LiveDiff};
use crate::cli::cluster::ClusterAccess;
use crate::cli::failure::Failure;

/// What is there, and what could not be read.
#[derive(Default)]
pub(super) struct LiveObjects(BTreeMap<ObjectKey, Result<Value, ApplyError>>);

impl LiveObjects {
    /// Reads everything that a plan looks at.
    pub(super) async fn read(looking: &LiveDiff<'_>, inventory: &Inventory) -> Result<Self, Failure> {
        let mut asked: BTreeMap<ObjectKey, (Arc<str>, Applier)> = BTreeMap::new();
        for (key, entry) in inventory.iter() {
            asked.insert(key.clone(), (entry.api_version(key).into(), looking.applier_of(entry.target, None)));
        }
        for component in &looking.desired_runtime.desired.components {
            let applier = looking.applier(component);
            for object in &component.objects {
                asked.insert(object.key.clone(), (object.api_version.clone(), applier.clone()));
            }
        }
        let reads = asked.into_iter().map(|(key, (api_version, applier))| async move {
            let read = one(looking.access, &applier, &key, &api_version).await?;
            Ok::<_, Failure>((key, read))
        });
        let reads: Vec<_> = reads.collect();
        let mut reads = stream::iter(reads).buffer_unordered(AT_ONCE);
        let mut there = BTreeMap::new();
        while let Some(read) = reads.next().await {
            let (key, read) = read?;
            there.extend(read.transpose().map(|read| (key, read)));
        }
        Ok(Self(there))
    }

    /// The whole object.
    pub(super) fn object(&self, key: &ObjectKey) -> Option<&Value> {
        self.0.get(key)?.as_ref().ok()
    }

    /// Why an object could not be read.
    pub(super) fn trouble(&self, key: &ObjectKey) -> Option<&ApplyError> {
        self.0.get(key)?.as_ref().err()
    }

    /// The object if it is ours, as the watches of `reeve run` would show it.
    pub(super) fn live(&self, key: &ObjectKey) -> Option<Live> {
        let metadata = ObjectMeta::deserialize(self.object(key)?.get("metadata")?).ok()?;
        let ours = metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|by| by == "reeve");
        ours.then(|| Live::of(&metadata, None))
    }
}

/// An object as it is; nothing, if it or its kind is not there.
async fn one(
    access: &ClusterAccess,
    applier: &Applier,
    key: &ObjectKey,
    api_version: &str,
) -> Result<Result<Option<Value>, ApplyError>, Failure> {
    let doing = format!("read {key}");
    let kind: Kind = match access.in_time(&doing, access.cluster.kinds().find(api_version, &key.kind)).await? {
        Ok(kind) if kind.namespaced == key.namespace.is_some() => kind,
        // Told when it is asked what would become of it.
        Ok(_) | Err(KindsError::Missing { .. }) => return Ok(Ok(None)),
        Err(error) => return Err(access.without_kinds(&error)),
    };
    let read = async || applier.get(key, &kind).await;
    match access.patiently(&doing, read, ApplyError::retry_after).await? {
        Err(ApplyError::Refused { api_error, .. }) if api_error.server_down => {
            Err(access.blind(api_error.reason.as_str(), &api_error.message))
        }
        read => Ok(read),
    }
}
