//! Pods and containers as cri-dockerd writes them into the configuration of Docker containers, and the edits that make
//! changes in it. What is not known of a configuration stays in it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::field::{Changes, Field, Fields, Value as Set};
use crate::message::cri::{ContainerMetadata, LinuxContainerResources, PodSandboxMetadata};
use crate::subject::{Container, Pod};

const TYPE: &str = "io.kubernetes.docker.type";
const SANDBOX_ID: &str = "io.kubernetes.sandbox.id";
/// Before the name of an annotation, among the labels.
const ANNOTATION: &str = "annotation.";
/// Docker's own, not of the pod.
const OWN: [&str; 3] = [TYPE, SANDBOX_ID, "io.kubernetes.container.logpath"];

/// What a container of Docker is to Kubernetes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    Sandbox(Box<Pod>),
    Container(Container),
}

/// Where of a configuration things are: a request to create has all at its top, an inspection has a level more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'v> {
    pub(crate) config: &'v Value,
    pub(crate) host: &'v Value,
    /// `k8s_<container>_<pod>_<namespace>_<uid>_<attempt>`
    pub(crate) name: &'v str,
}

impl Place<'_> {
    /// `None` for a container that is not of Kubernetes.
    pub(crate) fn role(self) -> Option<Role> {
        let labels = texts(self.config.get("Labels"));
        match labels.get(TYPE)?.as_str() {
            "podsandbox" => Some(Role::Sandbox(Box::new(self.pod(labels)))),
            "container" => Some(Role::Container(self.container(&labels))),
            _ => None,
        }
    }

    /// The pod that the labels tell of: kubelet writes its names on every container.
    pub(crate) fn pod(self, labels: HashMap<String, String>) -> Pod {
        let resources = self.resources();
        let metadata = PodSandboxMetadata {
            name: text(&labels, "io.kubernetes.pod.name"),
            uid: text(&labels, "io.kubernetes.pod.uid"),
            namespace: text(&labels, "io.kubernetes.pod.namespace"),
            attempt: self.attempt(),
        };
        let (annotations, labels) = split(labels);
        Pod {
            metadata,
            handler: self.host.get("Runtime").and_then(Value::as_str).unwrap_or_default().to_owned(),
            labels,
            annotations,
            cgroup_parent: self.cgroup_parent(),
            overhead: None,
            resources: (!resources.is_empty()).then(|| to_message(&resources)),
        }
    }

    fn container(self, labels: &HashMap<String, String>) -> Container {
        let name = text(labels, "io.kubernetes.container.name");
        Container {
            id: String::new(),
            pod_id: text(labels, SANDBOX_ID),
            metadata: ContainerMetadata { name, attempt: self.attempt() },
            annotations: split(labels.clone()).0,
            envs: self.envs(),
            resources: self.resources(),
        }
    }

    pub(crate) fn labels(self) -> HashMap<String, String> {
        texts(self.config.get("Labels"))
    }

    pub(crate) fn cgroup_parent(self) -> String {
        self.host.get("CgroupParent").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn resources(self) -> Fields {
        resources(self.host)
    }

    fn envs(self) -> HashMap<String, String> {
        let variables = self.config.get("Env").and_then(Value::as_array).into_iter().flatten();
        let pairs = variables.filter_map(|variable| variable.as_str()?.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn attempt(self) -> u32 {
        self.name.rsplit('_').next().and_then(|attempt| attempt.parse().ok()).unwrap_or_default()
    }
}

/// What is set of the resources of a host configuration, or of an update.
pub(crate) fn resources(host: &Value) -> Fields {
    let set = RESOURCES.iter().filter_map(|(field, key)| {
        let value = match host.get(key)? {
            Value::Number(number) => number.as_i64().filter(|number| *number != 0).map(Set::Number),
            Value::String(text) => (!text.is_empty()).then(|| Set::Text(text.clone())),
            _ => None,
        };
        Some((field.clone(), value?))
    });
    set.collect()
}

const RESOURCES: [(Field, &str); 8] = [
    (Field::CpuPeriod, "CpuPeriod"),
    (Field::CpuQuota, "CpuQuota"),
    (Field::CpuShares, "CpuShares"),
    (Field::CpusetCpus, "CpusetCpus"),
    (Field::CpusetMems, "CpusetMems"),
    (Field::MemoryLimit, "Memory"),
    (Field::MemorySwapLimit, "MemorySwap"),
    (Field::OomScoreAdj, "OomScoreAdj"),
];

fn to_message(resources: &Fields) -> LinuxContainerResources {
    crate::field::to_resources(resources).unwrap_or_default()
}

/// Makes the changes in a request to create. Returns what the Docker API has no place for.
pub(crate) fn edit_create(config: &mut Value, changes: &Changes) -> Vec<Field> {
    let mut left = Vec::new();
    for (field, value) in changes {
        let done = match field {
            Field::PodLabel(key) => set(config, "Labels", key, value.as_ref()),
            Field::PodAnnotation(key) | Field::ContainerAnnotation(key) => {
                set(config, "Labels", &format!("{ANNOTATION}{key}"), value.as_ref())
            }
            Field::Env(name) => set_env(config, name, value.as_ref()),
            Field::CgroupParent => set(config, "HostConfig", "CgroupParent", value.as_ref()),
            resource => match key_of(resource) {
                Some(key) => set(config, "HostConfig", key, value.as_ref()),
                None => false,
            },
        };
        if !done {
            left.push(field.clone());
        }
    }
    left
}

/// Makes the changes in a request to update, which carries fewer resources. Returns what it has no place for.
pub(crate) fn edit_update(update: &mut Value, changes: &Changes) -> Vec<Field> {
    let mut left = Vec::new();
    for (field, value) in changes {
        let key = key_of(field).filter(|_| *field != Field::OomScoreAdj);
        match (key, update.as_object_mut()) {
            (Some(key), Some(update)) => put(update, key, value.as_ref()),
            _ => left.push(field.clone()),
        }
    }
    left
}

fn key_of(resource: &Field) -> Option<&'static str> {
    RESOURCES.iter().find(|(field, _)| field == resource).map(|(_, key)| *key)
}

fn set(config: &mut Value, below: &str, key: &str, value: Option<&Set>) -> bool {
    let Some(config) = config.as_object_mut() else { return false };
    let inner = config.entry(below).or_insert_with(|| json!({}));
    if inner.is_null() {
        *inner = json!({});
    }
    let Some(inner) = inner.as_object_mut() else { return false };
    put(inner, key, value);
    true
}

/// What is taken away is absent, which Docker takes for zero.
fn put(object: &mut Map<String, Value>, key: &str, value: Option<&Set>) {
    match value {
        Some(Set::Text(text)) => drop(object.insert(key.to_owned(), json!(text))),
        Some(Set::Number(number)) => drop(object.insert(key.to_owned(), json!(number))),
        Some(Set::Size(size)) => drop(object.insert(key.to_owned(), json!(size))),
        None => drop(object.remove(key)),
    }
}

/// Of two variables with one name the later counts, so none may be left.
fn set_env(config: &mut Value, name: &str, value: Option<&Set>) -> bool {
    let Some(config) = config.as_object_mut() else { return false };
    let variables = config.entry("Env").or_insert_with(|| json!([]));
    if variables.is_null() {
        *variables = json!([]);
    }
    let Some(variables) = variables.as_array_mut() else { return false };
    variables.retain(|variable| variable.as_str().is_none_or(|pair| pair.split('=').next() != Some(name)));
    if let Some(Set::Text(text)) = value {
        variables.push(json!(format!("{name}={text}")));
    }
    true
}

fn texts(object: Option<&Value>) -> HashMap<String, String> {
    let entries = object.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn text(labels: &HashMap<String, String>, key: &str) -> String {
    labels.get(key).cloned().unwrap_or_default()
}

/// Annotations and labels, which Docker has in one.
fn split(labels: HashMap<String, String>) -> (HashMap<String, String>, HashMap<String, String>) {
    let (mut annotations, mut rest) = (HashMap::new(), HashMap::new());
    for (key, value) in labels {
        match key.strip_prefix(ANNOTATION) {
            Some(name) => drop(annotations.insert(name.to_owned(), value)),
            None if OWN.contains(&key.as_str()) => {}
            None => drop(rest.insert(key, value)),
        }
    }
    (annotations, rest)
}

#[cfg(test)]
mod tests;
