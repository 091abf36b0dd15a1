use std::collections::HashMap;

use super::*;
use crate::settings::Merge;

fn shown() -> Fields {
    [
        (Field::Env("A".to_owned()), Value::Text("a".to_owned())),
        (Field::Env("B".to_owned()), Value::Text("b".to_owned())),
        (Field::CpuShares, Value::Number(512)),
        (Field::OomScoreAdj, Value::Number(-997)),
        (Field::CpusetCpus, Value::Text("0-1".to_owned())),
        (Field::CgroupParent, Value::Text("/kubepods/p".to_owned())),
    ]
    .into()
}

/// The answer of a plugin that repeats its request, as koordlet does.
fn echo() -> ContainerResourceHookResponse {
    let request = container_request(&Pod::default(), &Container::default(), &shown());
    ContainerResourceHookResponse {
        container_annotations: request.container_annotations,
        container_resources: request.container_resources,
        pod_cgroup_parent: request.pod_cgroup_parent,
        container_envs: request.container_envs,
    }
}

#[test]
fn a_plugin_that_repeats_its_request_changes_nothing() {
    for merge in [Merge::Echo, Merge::Sparse] {
        assert_eq!(container_changes(&shown(), echo(), merge), Changes::new());
    }
}

#[test]
fn an_empty_answer_changes_nothing() {
    for merge in [Merge::Echo, Merge::Sparse] {
        assert_eq!(container_changes(&shown(), ContainerResourceHookResponse::default(), merge), Changes::new());
        assert_eq!(pod_changes(&shown(), PodSandboxHookResponse::default(), merge), Changes::new());
    }
}

#[test]
fn what_a_plugin_leaves_at_zero_is_no_opinion() {
    let mut answer = echo();
    answer.container_resources =
        Some(LinuxContainerResources { cpu_shares: 1024, cpuset_cpus: "0-1".to_owned(), ..Default::default() });
    let changes = container_changes(&shown(), answer, Merge::Echo);
    assert_eq!(changes, [(Field::CpuShares, Some(Value::Number(1024)))].into(), "oom_score_adj stays kubelet's");
}

#[test]
fn an_echoing_plugin_clears_a_cpuset_and_deletes_a_variable_and_a_sparse_one_does_not() {
    let mut answer = echo();
    answer.container_resources.as_mut().unwrap().cpuset_cpus.clear();
    answer.container_envs = HashMap::from([("A".to_owned(), "z".to_owned())]);
    let changed = (Field::Env("A".to_owned()), Some(Value::Text("z".to_owned())));
    let cleared = [(Field::CpusetCpus, None), (Field::Env("B".to_owned()), None), changed.clone()];
    assert_eq!(container_changes(&shown(), answer.clone(), Merge::Echo), cleared.into());
    assert_eq!(container_changes(&shown(), answer, Merge::Sparse), [changed].into());
}
