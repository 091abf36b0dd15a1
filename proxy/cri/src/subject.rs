//! Whom a hook is about: a pod, and perhaps one of its containers.

use std::collections::HashMap;

use crate::field::{self, Field, Fields, Value};
use crate::message::cri::{
    ContainerConfig, ContainerMetadata, KeyValue, LinuxContainerResources, PodSandboxConfig, PodSandboxMetadata,
};

/// Who made a pod, if not the API server. Kubelet writes it on every pod.
const SOURCE: &str = "kubernetes.io/config.source";

/// What is known of a pod. Labels, annotations and cgroup parent are as the runtime got them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pod {
    pub(crate) metadata: PodSandboxMetadata,
    pub(crate) handler: String,
    pub(crate) labels: HashMap<String, String>,
    pub(crate) annotations: HashMap<String, String>,
    pub(crate) cgroup_parent: String,
    pub(crate) overhead: Option<LinuxContainerResources>,
    pub(crate) resources: Option<LinuxContainerResources>,
}

/// What is known of a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Container {
    pub(crate) id: String,
    pub(crate) pod_id: String,
    pub(crate) metadata: ContainerMetadata,
    pub(crate) annotations: HashMap<String, String>,
    /// Without those that are not text.
    pub(crate) envs: HashMap<String, String>,
    pub(crate) resources: Fields,
}

impl Pod {
    pub(crate) fn of(config: PodSandboxConfig, handler: String) -> Self {
        let linux = config.linux.unwrap_or_default();
        Self {
            metadata: config.metadata.unwrap_or_default(),
            handler,
            labels: config.labels,
            annotations: config.annotations,
            cgroup_parent: linux.cgroup_parent,
            overhead: linux.overhead,
            resources: linux.resources,
        }
    }

    /// What a plugin may change of it.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = field::of_map(&self.labels, Field::PodLabel);
        fields.extend(field::of_map(&self.annotations, Field::PodAnnotation));
        fields.extend(self.resources.as_ref().map(field::of_resources).unwrap_or_default());
        if !self.cgroup_parent.is_empty() {
            fields.insert(Field::CgroupParent, Value::Text(self.cgroup_parent.clone()));
        }
        fields
    }

    /// The same pod with other fields.
    pub(crate) fn with(mut self, fields: &Fields) -> Self {
        self.labels = field::to_map(fields, |field| if let Field::PodLabel(key) = field { Some(key) } else { None });
        self.annotations =
            field::to_map(fields, |field| if let Field::PodAnnotation(key) = field { Some(key) } else { None });
        self.resources = field::to_resources(fields);
        self.cgroup_parent = cgroup_parent(fields);
        self
    }

    /// Whether kubelet made it from a file of the node: without such pods there may be no cluster.
    pub(crate) fn is_static(&self) -> bool {
        self.annotations.get(SOURCE).is_some_and(|source| source != "api")
    }
}

impl Container {
    pub(crate) fn of(pod_id: String, config: ContainerConfig) -> Self {
        let resources = config.linux.and_then(|linux| linux.resources);
        Self {
            id: String::new(),
            pod_id,
            metadata: config.metadata.unwrap_or_default(),
            annotations: config.annotations,
            envs: texts(config.envs),
            resources: resources.as_ref().map(field::of_resources).unwrap_or_default(),
        }
    }

    /// What a plugin may see of it, with the cgroup parent of its pod.
    pub(crate) fn fields(&self, cgroup_parent: &str) -> Fields {
        let mut fields = self.resources.clone();
        fields.extend(field::of_map(&self.annotations, Field::ContainerAnnotation));
        fields.extend(field::of_map(&self.envs, Field::Env));
        if !cgroup_parent.is_empty() {
            fields.insert(Field::CgroupParent, Value::Text(cgroup_parent.to_owned()));
        }
        fields
    }

    /// The same container with other fields.
    pub(crate) fn with(mut self, fields: &Fields) -> Self {
        self.annotations =
            field::to_map(fields, |field| if let Field::ContainerAnnotation(key) = field { Some(key) } else { None });
        self.envs = field::to_map(fields, |field| if let Field::Env(key) = field { Some(key) } else { None });
        self.resources = resources(fields);
        self
    }
}

/// Those of `fields` that are resources.
pub(crate) fn resources(fields: &Fields) -> Fields {
    fields
        .iter()
        .filter(|(field, _)| field.is_resource())
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

pub(crate) fn cgroup_parent(fields: &Fields) -> String {
    match fields.get(&Field::CgroupParent) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Variables whose values are text; of two with one name the later counts, as for the runtime.
fn texts(envs: Vec<KeyValue>) -> HashMap<String, String> {
    envs.into_iter().filter_map(|env| String::from_utf8(env.value).ok().map(|value| (env.key, value))).collect()
}
