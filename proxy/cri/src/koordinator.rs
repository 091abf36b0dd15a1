//! Koordinator's protocol: what a plugin is shown, and what its answer means.
//!
//! The protocol cannot tell unset from zero, so a change is a difference from what *that* plugin was shown; a plugin that
//! repeats its request owns nothing.

use crate::field::{self, Changes, Field, Fields, Value};
use crate::hook::Hook;
use crate::message::cri::LinuxContainerResources;
use crate::message::hook::{
    ContainerMetadata, ContainerResourceHookRequest, ContainerResourceHookResponse, PodSandboxHookRequest,
    PodSandboxHookResponse,
};
use crate::settings::Merge;
use crate::subject::{Container, Pod, cgroup_parent};

/// The method that is called for a hook.
pub(crate) fn method(hook: Hook) -> String {
    format!("/runtime.v1alpha1.RuntimeHookService/{}Hook", hook.name())
}

/// The request of a pod's hook.
pub(crate) fn pod_request(pod: &Pod, shown: &Fields) -> PodSandboxHookRequest {
    PodSandboxHookRequest {
        pod_meta: Some(pod.metadata.clone()),
        runtime_handler: pod.handler.clone(),
        labels: field::to_map(shown, |field| if let Field::PodLabel(key) = field { Some(key) } else { None }),
        annotations: field::to_map(shown, |field| if let Field::PodAnnotation(key) = field { Some(key) } else { None }),
        cgroup_parent: cgroup_parent(shown),
        overhead: pod.overhead.clone(),
        resources: field::to_resources(shown),
    }
}

/// The request of a container's hook. `pod` has of its labels and annotations those that the plugin may read.
pub(crate) fn container_request(pod: &Pod, container: &Container, shown: &Fields) -> ContainerResourceHookRequest {
    let metadata = &container.metadata;
    ContainerResourceHookRequest {
        pod_meta: Some(pod.metadata.clone()),
        container_meta: Some(ContainerMetadata {
            name: metadata.name.clone(),
            attempt: metadata.attempt,
            id: container.id.clone(),
        }),
        container_annotations: field::to_map(shown, |field| {
            if let Field::ContainerAnnotation(key) = field { Some(key) } else { None }
        }),
        // Koordinator's plugins dereference it.
        container_resources: Some(field::to_resources(shown).unwrap_or_default()),
        pod_resources: pod.resources.clone(),
        pod_annotations: pod.annotations.clone(),
        pod_labels: pod.labels.clone(),
        pod_cgroup_parent: cgroup_parent(shown),
        container_envs: field::to_map(shown, |field| if let Field::Env(key) = field { Some(key) } else { None }),
    }
}

/// What an answer to a pod's hook changes.
pub(crate) fn pod_changes(shown: &Fields, answer: PodSandboxHookResponse, merge: Merge) -> Changes {
    let mut said = field::of_map(&answer.labels, Field::PodLabel);
    said.extend(field::of_map(&answer.annotations, Field::PodAnnotation));
    said.extend(said_of_cgroup_parent(answer.cgroup_parent));
    let mut changes = differences(shown, said);
    changes.extend(resource_changes(shown, answer.resources.as_ref(), merge));
    changes
}

/// What an answer to a container's hook changes.
pub(crate) fn container_changes(shown: &Fields, answer: ContainerResourceHookResponse, merge: Merge) -> Changes {
    let mut said = field::of_map(&answer.container_annotations, Field::ContainerAnnotation);
    said.extend(field::of_map(&answer.container_envs, Field::Env));
    said.extend(said_of_cgroup_parent(answer.pod_cgroup_parent));
    let mut changes = differences(shown, said);
    if merge == Merge::Echo && !answer.container_envs.is_empty() {
        // Who repeats the variables and leaves one out has deleted it.
        let is_left_out = |field: &Field| matches!(field, Field::Env(key) if !answer.container_envs.contains_key(key));
        changes.extend(shown.keys().filter(|field| is_left_out(field)).map(|field| (field.clone(), None)));
    }
    changes.extend(resource_changes(shown, answer.container_resources.as_ref(), merge));
    changes
}

fn said_of_cgroup_parent(text: String) -> Option<(Field, Value)> {
    (!text.is_empty()).then_some((Field::CgroupParent, Value::Text(text)))
}

/// Resources that are not mentioned are no opinion, but for a cpuset that an echoing plugin emptied.
fn resource_changes(shown: &Fields, answer: Option<&LinuxContainerResources>, merge: Merge) -> Changes {
    let Some(answer) = answer else { return Changes::new() };
    let said = field::of_resources(answer);
    let mut changes = Changes::new();
    if merge == Merge::Echo {
        let cpusets = [Field::CpusetCpus, Field::CpusetMems];
        changes.extend(
            cpusets
                .into_iter()
                .filter(|cpuset| shown.contains_key(cpuset) && !said.contains_key(cpuset))
                .map(|f| (f, None)),
        );
    }
    changes.extend(differences(shown, said));
    changes
}

fn differences(shown: &Fields, said: Fields) -> Changes {
    said.into_iter()
        .filter(|(field, value)| shown.get(field) != Some(value))
        .map(|(field, value)| (field, Some(value)))
        .collect()
}

#[cfg(test)]
mod tests;
