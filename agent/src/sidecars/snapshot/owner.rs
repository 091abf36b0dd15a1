//! What owns pods, and what of it counts: its template, how it replaces pods, and how far it is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use reeve_agent_dapr::world::{OwnerKind, Role, Strategy, Workload, WorkloadId};
use reeve_crds::annotation;
use serde::Deserialize as _;
use serde_json::Value;

use super::pod::PodFacts;
use crate::sidecars::cluster::Objects;
use crate::sidecars::{kinds, names};

/// An object that owns pods, as references name it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::sidecars) struct Owner {
    pub(in crate::sidecars) api_version: String,
    pub(in crate::sidecars) kind: String,
    pub(in crate::sidecars) name: String,
    pub(in crate::sidecars) uid: String,
    /// The version of the object that was looked at.
    pub(in crate::sidecars) version: String,
    /// When a Rollout is asked to restart.
    pub(in crate::sidecars) restart_at: Option<Timestamp>,
}

/// All objects that may own pods.
#[derive(Debug)]
pub(in crate::sidecars) struct Owners<'a> {
    pub(super) dapr_namespace: &'a str,
    objects: BTreeMap<WorkloadId, &'a DynamicObject>,
}

impl<'a> Owners<'a> {
    pub(in crate::sidecars) fn new(objects: &'a Objects, dapr_namespace: &'a str) -> Self {
        let of_kind = |(kind, objects): (&OwnerKind, &'a Vec<std::sync::Arc<DynamicObject>>)| {
            let kind = *kind;
            objects.iter().map(move |object| {
                let namespace = object.namespace().unwrap_or_default();
                (WorkloadId { namespace, kind, name: object.name_any() }, &**object)
            })
        };
        Self { dapr_namespace, objects: objects.owners.iter().flat_map(of_kind).collect() }
    }

    /// The workload of a pod; `None` while the `ReplicaSet` above it is not known.
    pub(super) fn of_pod(&self, pod: &Pod) -> Option<WorkloadId> {
        let namespace = pod.namespace().unwrap_or_default();
        let id = |kind, name: &str| WorkloadId { namespace: namespace.clone(), kind, name: name.to_owned() };
        let owner = pod.owner_references().iter().find(|owner| owner.controller == Some(true));
        let kind = owner.and_then(|owner| kinds::find_owner(&owner.api_version, &owner.kind));
        let (Some(owner), Some(kind)) = (owner, kind) else { return Some(id(OwnerKind::Pod, &pod.name_any())) };
        if kind != OwnerKind::ReplicaSet {
            return Some(id(kind, &owner.name));
        }
        let set = id(kind, &owner.name);
        let above = controller(self.objects.get(&set)?);
        Some(above.map_or(set, |(kind, name)| id(kind, &name)))
    }

    /// Whether a pod is of Dapr's control plane.
    pub(super) fn is_of_control_plane(&self, pod: &Pod) -> bool {
        pod.metadata.namespace.as_deref() == Some(self.dapr_namespace) && names::is_of_control_plane(pod.labels())
    }

    /// The object of the control plane with this label `app`.
    pub(super) fn of_control_plane(&self, kind: OwnerKind, app: &str) -> Option<&'a DynamicObject> {
        let is_it = |id: &WorkloadId, object: &DynamicObject| {
            id.kind == kind
                && id.namespace == self.dapr_namespace
                && object.labels().get("app").is_some_and(|of| of == app)
        };
        self.objects.iter().find(|(id, object)| is_it(id, object)).map(|(_, object)| *object)
    }

    /// Objects whose pods have a sidecar, whether there are pods now or not, and those of the control plane.
    pub(super) fn with_sidecars(&self) -> BTreeSet<WorkloadId> {
        let is_of_interest = |id: &WorkloadId, object: &DynamicObject| {
            self.is_control_plane(id, object)
                || (has_sidecar(object) && (id.kind != OwnerKind::ReplicaSet || controller(object).is_none()))
        };
        let found = self.objects.iter().filter(|(id, object)| is_of_interest(id, object));
        found.map(|(id, _)| id.clone()).collect()
    }

    fn is_control_plane(&self, id: &WorkloadId, object: &DynamicObject) -> bool {
        id.namespace == self.dapr_namespace
            && id.kind != OwnerKind::ReplicaSet
            && names::is_of_control_plane(object.labels())
    }

    /// A workload as the rules look at it, apart from its pods; `None` if its object is not known.
    pub(super) fn describe(&self, id: &WorkloadId, pods: &[PodFacts]) -> Option<(Owner, Workload)> {
        if matches!(id.kind, OwnerKind::Job | OwnerKind::Pod) {
            return of_pods(id, pods);
        }
        let object = *self.objects.get(id)?;
        let annotations = template_annotations(object);
        let annotation = |name: &str| annotations.get(name).and_then(Value::as_str);
        let is_injected = annotation(names::ENABLED).is_some_and(names::is_truthy);
        let role = match () {
            () if self.is_control_plane(id, object) => Role::ControlPlane,
            () if is_injected => Role::Sidecar,
            () => Role::Shared,
        };
        let arguments = arguments(object);
        let named = annotation(names::APP_ID).map(str::to_owned).or_else(|| argument(&arguments, "app-id"));
        let mut workload = Workload::new(&named.unwrap_or_else(|| names::app_id(&id.name)), replicas(id.kind, object));
        let configuration = annotation(names::CONFIGURATION).map(str::to_owned);
        workload.configuration = configuration.or_else(|| argument(&arguments, "config"));
        workload.role = role;
        workload.injects_containers = annotation(names::INJECTS_CONTAINERS).is_some_and(names::is_truthy);
        workload.names_image = annotation(names::SIDECAR_IMAGE).is_some();
        workload.reload = object.annotations().get(annotation::DAPR_RELOAD).and_then(|text| reload(text));
        workload.token = annotation(annotation::DAPR_RESTART).map(str::to_owned);
        workload.strategy = strategy(id.kind, object, workload.replicas);
        workload.paused = flag(object, "/spec/paused");
        workload.stuck = id.kind == OwnerKind::Deployment && is_stuck(object);
        workload.restarted_at = time(object, "/status/restartedAt");
        let types = object.types.clone().or_else(|| {
            let kind = kinds::owner(id.kind)?;
            Some(kube::api::TypeMeta { api_version: kind.api_version, kind: kind.kind })
        })?;
        let owner = Owner {
            api_version: types.api_version,
            kind: types.kind,
            name: id.name.clone(),
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().unwrap_or_default(),
            restart_at: time(object, "/spec/restartAt"),
        };
        Some((owner, workload))
    }
}

/// A Job or a bare pod is told by its pods alone.
fn of_pods(id: &WorkloadId, pods: &[PodFacts]) -> Option<(Owner, Workload)> {
    let first = pods.first()?;
    let job = first.controller.as_ref().filter(|_| id.kind == OwnerKind::Job);
    let (api_version, kind, name, uid) = match job {
        Some(job) => (&*job.api_version, &*job.kind, &job.name, &job.uid),
        None => ("v1", "Pod", &first.pod.name, &first.pod.uid),
    };
    let owner = Owner {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.clone(),
        uid: uid.clone(),
        version: String::new(),
        restart_at: None,
    };
    let annotation = |name: &str| first.annotations.get(name).map(String::as_str);
    let named = annotation(names::APP_ID).map(str::to_owned).or_else(|| argument(&first.arguments, "app-id"));
    let replicas = u32::try_from(pods.len()).unwrap_or(u32::MAX);
    let mut workload = Workload::new(&named.unwrap_or_else(|| names::app_id(&id.name)), replicas);
    workload.configuration =
        annotation(names::CONFIGURATION).map(str::to_owned).or_else(|| argument(&first.arguments, "config"));
    workload.role = if first.is_injected { Role::Sidecar } else { Role::Shared };
    workload.injects_containers = annotation(names::INJECTS_CONTAINERS).is_some_and(names::is_truthy);
    workload.names_image = annotation(names::SIDECAR_IMAGE).is_some();
    workload.reload = annotation(annotation::DAPR_RELOAD).and_then(reload);
    Some((owner, workload))
}

fn reload(text: &str) -> Option<reeve_crds::runtime::policy::DaprReload> {
    use serde::de::IntoDeserializer as _;
    let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
    reeve_crds::runtime::policy::DaprReload::deserialize(text).ok()
}

/// The owner of a `ReplicaSet`, where it is one of those that are restarted.
fn controller(set: &DynamicObject) -> Option<(OwnerKind, String)> {
    let owner = set.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    Some((kinds::find_owner(&owner.api_version, &owner.kind)?, owner.name.clone()))
}

fn template_annotations(object: &DynamicObject) -> &serde_json::Map<String, Value> {
    static NONE: std::sync::LazyLock<serde_json::Map<String, Value>> = std::sync::LazyLock::new(serde_json::Map::new);
    object.data.pointer("/spec/template/metadata/annotations").and_then(Value::as_object).unwrap_or(&NONE)
}

fn has_sidecar(object: &DynamicObject) -> bool {
    let enabled = template_annotations(object).get(names::ENABLED).and_then(Value::as_str);
    enabled.is_some_and(names::is_truthy) || daprd(object).is_some()
}

fn daprd(object: &DynamicObject) -> Option<&Value> {
    let list = |pointer: &str| object.data.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let mut containers = list("/spec/template/spec/containers").chain(list("/spec/template/spec/initContainers"));
    containers.find(|container| container["name"] == names::DAPRD)
}

fn arguments(object: &DynamicObject) -> Vec<String> {
    let found = daprd(object).and_then(|daprd| daprd.get("args")).and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The value of `--name value` or `--name=value`, with one dash or two.
fn argument(arguments: &[String], name: &str) -> Option<String> {
    let is_it = |text: &str| text.trim_start_matches('-') == name && text.starts_with('-');
    arguments.iter().enumerate().find_map(|(index, text)| match text.split_once('=') {
        Some((flag, value)) if is_it(flag) => Some(value.to_owned()),
        None if is_it(text) => arguments.get(index + 1).cloned(),
        Some(_) | None => None,
    })
}

fn number(object: &DynamicObject, pointer: &str) -> Option<u32> {
    object.data.pointer(pointer).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
}

fn text<'a>(object: &'a DynamicObject, pointer: &str) -> Option<&'a str> {
    object.data.pointer(pointer).and_then(Value::as_str)
}

fn time(object: &DynamicObject, pointer: &str) -> Option<Timestamp> {
    text(object, pointer)?.parse().ok()
}

fn flag(object: &DynamicObject, pointer: &str) -> bool {
    object.data.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

fn replicas(kind: OwnerKind, object: &DynamicObject) -> u32 {
    let pointer = if kind == OwnerKind::DaemonSet { "/status/desiredNumberScheduled" } else { "/spec/replicas" };
    number(object, pointer).unwrap_or(u32::from(kind != OwnerKind::DaemonSet))
}

fn strategy(kind: OwnerKind, object: &DynamicObject, replicas: u32) -> Strategy {
    let count = |pointer: &str, default: &str, up: bool| {
        let value = object.data.pointer(pointer).cloned().unwrap_or_else(|| Value::from(default));
        pods(&value, replicas, up)
    };
    match kind {
        OwnerKind::Deployment if text(object, "/spec/strategy/type") == Some("Recreate") => Strategy::Recreate,
        OwnerKind::Deployment => {
            let gone = count("/spec/strategy/rollingUpdate/maxUnavailable", "25%", false);
            let surge = count("/spec/strategy/rollingUpdate/maxSurge", "25%", true);
            // With neither, the controller takes one away nevertheless.
            Strategy::Rolling { max_unavailable: if surge == 0 { gone.max(1) } else { gone } }
        }
        OwnerKind::StatefulSet | OwnerKind::DaemonSet
            if text(object, "/spec/updateStrategy/type") == Some("OnDelete") =>
        {
            Strategy::OnDelete
        }
        OwnerKind::StatefulSet if number(object, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0) > 0 => {
            Strategy::Partitioned
        }
        OwnerKind::StatefulSet => Strategy::Rolling {
            max_unavailable: count("/spec/updateStrategy/rollingUpdate/maxUnavailable", "1", true).max(1),
        },
        OwnerKind::DaemonSet => {
            let surge = count("/spec/updateStrategy/rollingUpdate/maxSurge", "0", true);
            let gone = count("/spec/updateStrategy/rollingUpdate/maxUnavailable", "1", true);
            Strategy::Rolling { max_unavailable: if surge > 0 { gone } else { gone.max(1) } }
        }
        OwnerKind::ReplicaSet | OwnerKind::Rollout | OwnerKind::Job | OwnerKind::Pod => {
            Strategy::Rolling { max_unavailable: 1 }
        }
    }
}

/// A number of pods, or that share of all.
fn pods(value: &Value, replicas: u32, up: bool) -> u32 {
    if let Some(number) = value.as_u64() {
        return u32::try_from(number).unwrap_or(u32::MAX);
    }
    let Some(text) = value.as_str() else { return 0 };
    let Some(percent) = text.strip_suffix('%').and_then(|percent| percent.parse::<u64>().ok()) else {
        return text.parse().unwrap_or(0);
    };
    let hundredths = percent.saturating_mul(u64::from(replicas));
    let pods = if up { hundredths.div_ceil(100) } else { hundredths / 100 };
    u32::try_from(pods).unwrap_or(u32::MAX)
}

/// Whether a Deployment says of the template that it has now that it does not get on.
fn is_stuck(object: &DynamicObject) -> bool {
    let observed = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    observed >= object.metadata.generation
        && conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "Progressing"
                && condition["status"] == "False"
                && condition["reason"] == "ProgressDeadlineExceeded"
        })
}
