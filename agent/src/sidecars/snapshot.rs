//! One world of all objects, as the rules look at it. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt;
use reeve_agent_dapr::resource::{Resource, ResourceId};
use reeve_agent_dapr::world::{SourceId, SourceKind, WorkloadId, World};
use reeve_agent_dapr::{Hash, Kind, ledger};
use reeve_crds::DaprWorkload;
use reeve_crds::runtime::policy::DaprPolicy;
use tracing::warn;

use super::cluster::Objects;
use super::names;
use super::sources::Values;

mod budget;
mod control_plane;
mod owner;
mod pod;

pub(super) use owner::{Owner, Owners};
pub(super) use pod::PodFacts;

/// The world, and what is known of a workload beside what the rules look at.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) world: World,
    pub(super) subjects: BTreeMap<WorkloadId, Subject>,
}

/// A workload as an object of the API.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The object that owns the pods; the pod itself where nothing does.
    pub(super) owner: Owner,
    pub(super) pods: Vec<PodFacts>,
    /// The object of its record.
    pub(super) record: Option<Arc<DaprWorkload>>,
}

/// Reads the resources of Dapr. One that cannot be read is left out: a sidecar does not read it either.
pub(super) fn resources(objects: &Objects) -> BTreeMap<ResourceId, Resource> {
    let mut resources = BTreeMap::new();
    for (kind, objects) in &objects.resources {
        for object in objects {
            let mut value = object.data.clone();
            value["apiVersion"] = format!("{}/{}", reeve_agent_dapr::kind::GROUP, kind.version()).into();
            value["kind"] = kind.as_str().into();
            value["metadata"] = serde_json::json!({
                "name": object.name_any(), "namespace": object.namespace(), "annotations": object.annotations(),
            });
            match Resource::read(&value) {
                Ok(Some(resource)) => drop(resources.insert(resource.id.clone(), resource)),
                Ok(None) => {}
                Err(error) => warn!(%error, "cannot read a resource of Dapr"),
            }
        }
    }
    resources
}

/// Every pod that has to do with Dapr, by its workload.
pub(super) fn pods(
    objects: &Objects,
    owners: &Owners<'_>,
    resources: &BTreeMap<ResourceId, Resource>,
) -> BTreeMap<WorkloadId, Vec<PodFacts>> {
    let mut pods: BTreeMap<WorkloadId, Vec<PodFacts>> = BTreeMap::new();
    for pod in &objects.pods {
        let namespace = pod.namespace().unwrap_or_default();
        let feature = |configuration: &str| {
            let (kind, name) = (Kind::Configuration, configuration.to_owned());
            resources.get(&ResourceId { namespace: namespace.clone(), kind, name })?.feature("HotReload")
        };
        let Some(facts) = pod::read(pod, owners.is_of_control_plane(pod), feature) else { continue };
        // Whose ReplicaSet is not known yet is looked at when it is.
        let Some(id) = owners.of_pod(pod) else { continue };
        pods.entry(id).or_default().push(facts);
    }
    for pods in pods.values_mut() {
        pods.sort_by(|one, other| one.pod.name.cmp(&other.pod.name));
    }
    pods
}

/// The Secrets and `ConfigMaps` that anything here names.
pub(super) fn needed_sources(
    resources: &BTreeMap<ResourceId, Resource>,
    pods: &BTreeMap<WorkloadId, Vec<PodFacts>>,
) -> BTreeSet<SourceId> {
    let of_resources = resources.values().flat_map(|resource| {
        let namespace = &resource.id.namespace;
        resource.secret_keys().into_iter().map(move |key| SourceId {
            kind: SourceKind::Secret,
            namespace: namespace.clone(),
            name: key.name,
        })
    });
    let of_pods = pods.iter().flat_map(|(id, pods)| {
        let values = pods.iter().flat_map(|pod| &pod.start_values);
        values.map(|value| SourceId { kind: value.kind, namespace: id.namespace.clone(), name: value.name.clone() })
    });
    of_resources.chain(of_pods).collect()
}

/// What a snapshot is made of beside objects.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) hash_key: Hash,
    pub(super) sources: BTreeMap<SourceId, Values>,
    /// Records that were written and that no watch has shown yet.
    pub(super) written: &'a BTreeMap<WorkloadId, Arc<DaprWorkload>>,
}

/// Makes the world of what is there.
pub(super) fn build(
    objects: &Objects,
    owners: &Owners<'_>,
    resources: BTreeMap<ResourceId, Resource>,
    mut pods: BTreeMap<WorkloadId, Vec<PodFacts>>,
    known: Known<'_>,
) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let records: BTreeMap<(String, String), &Arc<DaprWorkload>> = objects
        .records
        .iter()
        .map(|record| ((record.namespace().unwrap_or_default(), record.name_any()), record))
        .collect();
    for id in owners.with_sidecars().into_iter().chain(pods.keys().cloned()).collect::<BTreeSet<_>>() {
        let pods = pods.remove(&id).unwrap_or_default();
        let Some((owner, mut workload)) = owners.describe(&id, &pods) else { continue };
        workload.pods = pods.iter().map(|facts| facts.pod.clone()).collect();
        workload.start_values = pods.iter().flat_map(|facts| facts.start_values.clone()).collect();
        workload.budget = budget::tightest(&id.namespace, &pods, &objects.budgets);
        let seen = records.get(&(id.namespace.clone(), names::record(&id))).copied();
        let record = known.written.get(&id).or(seen).cloned().filter(|record| is_of(record, &owner));
        let status = record.as_ref().and_then(|record| record.status.as_ref());
        if let Some(record) = status.and_then(ledger::read) {
            snapshot.world.records.insert(id.clone(), record);
        }
        snapshot.world.workloads.insert(id.clone(), workload);
        snapshot.subjects.insert(id, Subject { owner, pods, record });
    }
    snapshot.world.control_plane = control_plane::read(owners);
    snapshot.world.policy = policy(objects);
    snapshot.world.resources = resources;
    snapshot.world.sources = known.sources;
    snapshot.world.hash_key = known.hash_key;
    snapshot
}

fn policy(objects: &Objects) -> DaprPolicy {
    objects.runtime.as_ref().map(|runtime| runtime.spec.dapr.clone()).unwrap_or_default()
}

/// A workload that was deleted and made again has a record of its own, though the old one may not be collected yet.
fn is_of(record: &DaprWorkload, owner: &Owner) -> bool {
    record.owner_references().iter().any(|reference| reference.uid == owner.uid)
}

#[cfg(test)]
mod tests;
