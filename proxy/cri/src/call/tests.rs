//! The law of the splice, over the real requests: to decode what was spliced is to change what was decoded.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::field::{self, Fields};
use crate::message::cri::{
    ContainerConfig, LinuxContainerConfig, LinuxContainerResources, LinuxPodSandboxConfig, PodSandboxConfig,
};
use crate::splice::splice;
use crate::subject::{Container, Pod};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c]", "\\PC{0,12}"]
}

fn map() -> impl Strategy<Value = HashMap<String, String>> {
    proptest::collection::hash_map(text(), text(), 0..4)
}

fn resources() -> impl Strategy<Value = LinuxContainerResources> {
    let numbers = (any::<i64>(), any::<i64>(), any::<i64>(), any::<i64>(), -2000_i64..2000, any::<i64>());
    let pages = proptest::collection::hash_map("[a-c]", any::<u64>(), 0..3);
    (numbers, text(), text(), map(), pages).prop_map(|(numbers, cpus, mems, unified, pages)| LinuxContainerResources {
        cpu_period: numbers.0,
        cpu_quota: numbers.1,
        cpu_shares: numbers.2,
        memory_limit_in_bytes: numbers.3,
        oom_score_adj: numbers.4,
        memory_swap_limit_in_bytes: numbers.5,
        cpuset_cpus: cpus,
        cpuset_mems: mems,
        unified,
        hugepage_limits: pages.into_iter().map(|(page_size, limit)| HugepageLimit { page_size, limit }).collect(),
    })
}

fn pod() -> impl Strategy<Value = PodSandboxConfig> {
    let linux = (text(), proptest::option::of(resources()))
        .prop_map(|(cgroup_parent, resources)| LinuxPodSandboxConfig { cgroup_parent, overhead: None, resources });
    (map(), map(), proptest::option::of(linux)).prop_map(|(labels, annotations, linux)| PodSandboxConfig {
        metadata: None,
        labels,
        annotations,
        linux,
    })
}

fn container() -> impl Strategy<Value = ContainerConfig> {
    (map(), map(), proptest::option::of(resources())).prop_map(|(envs, annotations, resources)| ContainerConfig {
        metadata: None,
        envs: envs.into_iter().map(|(key, value)| KeyValue { key, value: value.into_bytes() }).collect(),
        annotations,
        linux: resources.map(|resources| LinuxContainerConfig { resources: Some(resources) }),
    })
}

/// Fields that no message of ours has, before, between and after those that it has.
fn unknown() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec((200_u32..300, proptest::collection::vec(any::<u8>(), 0..5)), 0..3).prop_map(|fields| {
        let mut bytes = Vec::new();
        for (tag, value) in fields {
            prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut bytes);
            prost::encoding::encode_varint(value.len() as u64, &mut bytes);
            bytes.extend(value);
        }
        bytes
    })
}

fn changes(of: fn(String) -> Field) -> impl Strategy<Value = Changes> {
    let entry =
        move || (text(), proptest::option::of(text())).prop_map(move |(key, value)| (of(key), value.map(Value::Text)));
    let entries = proptest::collection::vec(entry(), 0..3);
    let number = |field: Field| {
        proptest::option::of(any::<i64>()).prop_map(move |n| (field.clone(), n.filter(|n| *n != 0).map(Value::Number)))
    };
    let numbers = [
        Field::CpuPeriod,
        Field::CpuQuota,
        Field::CpuShares,
        Field::MemoryLimit,
        Field::OomScoreAdj,
        Field::MemorySwapLimit,
    ];
    let numbers = proptest::sample::select(numbers.to_vec()).prop_flat_map(number);
    let parent = text().prop_map(|text| (Field::CgroupParent, Some(text).filter(|t| !t.is_empty()).map(Value::Text)));
    let cpus = text().prop_map(|text| (Field::CpusetCpus, Some(text).filter(|t| !t.is_empty()).map(Value::Text)));
    let unified =
        (text(), proptest::option::of(text())).prop_map(|(key, value)| (Field::Unified(key), value.map(Value::Text)));
    let page = ("[a-c]", proptest::option::of(any::<u64>()))
        .prop_map(|(key, value)| (Field::HugepageLimit(key), value.map(Value::Size)));
    let others = proptest::collection::vec(prop_oneof![numbers, parent, cpus, unified, page], 0..6);
    (entries, others).prop_map(|(entries, others)| entries.into_iter().chain(others).collect())
}

fn changed(mut fields: Fields, changes: &Changes) -> Fields {
    field::apply(&mut fields, changes);
    fields
}

proptest! {
    #[test]
    fn decoding_a_spliced_pod_is_changing_a_decoded_one(
        config in pod(), before in unknown(), after in unknown(), inside in unknown(), changes in changes(Field::PodLabel)
    ) {
        let config_bytes = [config.encode_to_vec(), inside.clone()].concat();
        let mut message = before.clone();
        prost::encoding::bytes::encode(1, &config_bytes, &mut message);
        message.extend(&after);
        let spliced = splice(&message, &edits(Method::RunPodSandbox, &changes)).unwrap();
        let decoded = RunPodSandboxRequest::decode(spliced.as_slice()).unwrap();
        let got = Pod::of(decoded.config.unwrap_or_default(), String::new()).fields();
        prop_assert_eq!(got, changed(Pod::of(config, String::new()).fields(), &changes));
        prop_assert!(contains(&spliced, &before) && contains(&spliced, &after) && contains(&spliced, &inside));
        if changes.is_empty() {
            prop_assert_eq!(spliced, message);
        }
    }

    #[test]
    fn decoding_a_spliced_container_is_changing_a_decoded_one(
        config in container(), sandbox in pod(), more in unknown(), changes in changes(Field::Env)
    ) {
        let request = CreateContainerRequest {
            pod_sandbox_id: "p".to_owned(), config: Some(config.clone()), sandbox_config: Some(sandbox.clone()),
        };
        let message = [request.encode_to_vec(), more.clone()].concat();
        let spliced = splice(&message, &edits(Method::CreateContainer, &changes)).unwrap();
        let decoded = CreateContainerRequest::decode(spliced.as_slice()).unwrap();
        let parent = |pod: Option<PodSandboxConfig>| Pod::of(pod.unwrap_or_default(), String::new()).cgroup_parent;
        let fields = |config: ContainerConfig, parent: &str| Container::of("p".to_owned(), config).fields(parent);
        let got = fields(decoded.config.unwrap(), &parent(decoded.sandbox_config));
        prop_assert_eq!(got, changed(fields(config, &parent(Some(sandbox))), &changes));
        prop_assert!(contains(&spliced, &more));
    }

    #[test]
    fn decoding_a_spliced_update_is_changing_a_decoded_one(
        resources in proptest::option::of(resources()), annotations in map(), changes in changes(Field::ContainerAnnotation)
    ) {
        let request = UpdateContainerResourcesRequest { container_id: "c".to_owned(), linux: resources.clone(), annotations: annotations.clone() };
        let changes: Changes = changes.into_iter().filter(|(field, _)| *field != Field::CgroupParent).collect();
        let spliced = splice(&request.encode_to_vec(), &edits(Method::UpdateContainerResources, &changes)).unwrap();
        let decoded = UpdateContainerResourcesRequest::decode(spliced.as_slice()).unwrap();
        let fields = |resources: Option<LinuxContainerResources>, annotations: &HashMap<String, String>| {
            let mut fields = field::of_map(annotations, Field::ContainerAnnotation);
            fields.extend(resources.as_ref().map(field::of_resources).unwrap_or_default());
            fields
        };
        prop_assert_eq!(&decoded.container_id, "c");
        prop_assert_eq!(fields(decoded.linux, &decoded.annotations), changed(fields(resources, &annotations), &changes));
    }

    #[test]
    fn no_bytes_are_too_strange_to_decode(message in proptest::collection::vec(any::<u8>(), 0..300)) {
        for method in [Method::RunPodSandbox, Method::CreateContainer, Method::UpdateContainerResources, Method::StopContainer] {
            let _ = Request::decode(method, &message);
        }
    }
}

fn contains(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

#[test]
fn an_entry_of_a_map_with_another_wire_type_is_no_entry() {
    // Field 4 of an update is its annotations; here it is a number of eight bytes.
    assert_eq!(Request::decode(Method::UpdateContainerResources, &[0x21, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    assert_eq!(Request::decode(Method::UpdateContainerResources, &[0x21, 0]), None, "found by a fuzzer");
    assert!(Request::decode(Method::UpdateContainerResources, &[0x22, 0]).is_some());
}

#[test]
fn both_versions_of_the_cri_are_known_and_others_are_not() {
    assert_eq!(Method::find("/runtime.v1.RuntimeService/CreateContainer"), Some(Method::CreateContainer));
    assert_eq!(Method::find("/runtime.v1alpha2.RuntimeService/StartContainer"), Some(Method::StartContainer));
    assert_eq!(Method::find("/runtime.v1.ImageService/CreateContainer"), None);
    assert_eq!(Method::find("/runtime.v1.RuntimeService/ListContainers"), None);
}
