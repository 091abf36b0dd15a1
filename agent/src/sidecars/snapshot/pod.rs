//! What of a pod counts for its sidecar.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use reeve_agent_dapr::version::{Sidecar, version_of_image};
use reeve_agent_dapr::world::{self, SourceKind, StartValue};
use reeve_crds::annotation;

use crate::sidecars::names;

/// A pod, and what is known of it beside what the rules look at.
#[derive(Clone, Debug)]
pub(in crate::sidecars) struct PodFacts {
    pub(in crate::sidecars) pod: world::Pod,
    pub(in crate::sidecars) start_values: BTreeSet<StartValue>,
    pub(in crate::sidecars) labels: BTreeMap<String, String>,
    pub(in crate::sidecars) annotations: BTreeMap<String, String>,
    /// What owns it.
    pub(in crate::sidecars) controller: Option<OwnerReference>,
    /// Whether it asks the injector for a sidecar.
    pub(in crate::sidecars) is_injected: bool,
    /// Arguments of its sidecar.
    pub(in crate::sidecars) arguments: Vec<String>,
    /// Whether it is on a node: otherwise there is no log, though the API server gives an empty one.
    pub(in crate::sidecars) is_on_node: bool,
    /// Whether the sidecar is an init container that stays.
    pub(in crate::sidecars) is_native: bool,
    /// When its sidecar last ended with an error, and the exit code.
    pub(in crate::sidecars) failed: Option<(Timestamp, i32)>,
}

/// Reads a pod; `None` if it has nothing to do with Dapr, or is on its way out.
pub(super) fn read(pod: &Pod, is_of_control_plane: bool, feature: impl Fn(&str) -> Option<bool>) -> Option<PodFacts> {
    let spec = pod.spec.as_ref()?;
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    if pod.metadata.deletion_timestamp.is_some() || ["Succeeded", "Failed"].contains(&phase) {
        return None;
    }
    let annotations = pod.annotations();
    let is_injected = annotations.get(names::ENABLED).is_some_and(|text| names::is_truthy(text));
    let is_daprd = |container: &&Container| container.name == names::DAPRD;
    let native = spec.init_containers.iter().flatten().find(is_daprd);
    let daprd = spec.containers.iter().find(is_daprd).or(native);
    if daprd.is_none() && !is_injected && !is_of_control_plane {
        return None;
    }
    let image = daprd.and_then(|daprd| daprd.image.clone());
    let configured = annotations.get(names::CONFIGURATION).and_then(|name| feature(name));
    let sidecar = daprd.map(|_| Sidecar::new(image.as_deref().and_then(version_of_image), configured));
    Some(PodFacts {
        pod: world::Pod {
            name: pod.name_any(),
            uid: pod.uid().unwrap_or_default(),
            token: annotations.get(annotation::DAPR_RESTART).cloned(),
            sidecar,
            image,
            ready: is_ready(pod),
        },
        start_values: daprd.map(|daprd| start_values(daprd, spec)).unwrap_or_default(),
        labels: pod.labels().clone(),
        annotations: annotations.clone(),
        controller: pod.owner_references().iter().find(|owner| owner.controller == Some(true)).cloned(),
        is_injected,
        arguments: daprd.and_then(|daprd| daprd.args.clone()).unwrap_or_default(),
        is_on_node: spec.node_name.is_some(),
        is_native: native.is_some(),
        failed: failure(pod),
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// What a sidecar reads once, when it starts.
fn start_values(daprd: &Container, spec: &PodSpec) -> BTreeSet<StartValue> {
    let mut values = BTreeSet::new();
    let mut add = |kind, name: &str, key: Option<&String>| {
        values.insert(StartValue { kind, name: name.to_owned(), key: key.cloned() });
    };
    for from in daprd.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        if let Some(secret) = &from.secret_key_ref {
            add(SourceKind::Secret, &secret.name, Some(&secret.key));
        }
        if let Some(map) = &from.config_map_key_ref {
            add(SourceKind::ConfigMap, &map.name, Some(&map.key));
        }
    }
    for from in daprd.env_from.iter().flatten() {
        if let Some(secret) = &from.secret_ref {
            add(SourceKind::Secret, &secret.name, None);
        }
        if let Some(map) = &from.config_map_ref {
            add(SourceKind::ConfigMap, &map.name, None);
        }
    }
    let mounted: BTreeSet<&str> = daprd.volume_mounts.iter().flatten().map(|mount| mount.name.as_str()).collect();
    for volume in spec.volumes.iter().flatten().filter(|volume| mounted.contains(volume.name.as_str())) {
        of_volume(volume, &mut add);
    }
    values
}

fn of_volume(volume: &Volume, add: &mut impl FnMut(SourceKind, &str, Option<&String>)) {
    if let Some(name) = volume.secret.as_ref().and_then(|secret| secret.secret_name.as_ref()) {
        add(SourceKind::Secret, name, None);
    }
    if let Some(map) = &volume.config_map {
        add(SourceKind::ConfigMap, &map.name, None);
    }
    let projected = volume.projected.as_ref().and_then(|projected| projected.sources.as_ref());
    for source in projected.into_iter().flatten() {
        if let Some(secret) = &source.secret {
            add(SourceKind::Secret, &secret.name, None);
        }
        // Every namespace has this one, and whoever reads it follows it.
        if let Some(map) = source.config_map.as_ref().filter(|map| map.name != "kube-root-ca.crt") {
            add(SourceKind::ConfigMap, &map.name, None);
        }
    }
}

fn failure(pod: &Pod) -> Option<(Timestamp, i32)> {
    let status = pod.status.as_ref()?;
    let containers = status.container_statuses.iter().chain(&status.init_container_statuses).flatten();
    let daprd = containers.into_iter().find(|container| container.name == names::DAPRD)?;
    let now_and_before = [&daprd.state, &daprd.last_state].into_iter().flatten();
    let ended = now_and_before.filter_map(|state| state.terminated.as_ref()).find(|ended| ended.exit_code != 0)?;
    Some((ended.finished_at.as_ref()?.0, ended.exit_code))
}
