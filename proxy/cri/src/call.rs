//! The calls that hooks are for: what they ask for, and where in their bytes each field is.

use prost::{DecodeError, Message};

use crate::field::{Changes, Field, Value};
use crate::message::cri::{
    ContainerId, CreateContainerRequest, HugepageLimit, KeyValue, PodId, RunPodSandboxRequest,
    UpdateContainerResourcesRequest, UpdatePodSandboxResourcesRequest,
};
use crate::splice::{Edit, Wire, is_delimited};

/// A call that a hook may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    RunPodSandbox,
    StopPodSandbox,
    RemovePodSandbox,
    CreateContainer,
    StartContainer,
    StopContainer,
    RemoveContainer,
    UpdateContainerResources,
    UpdatePodSandboxResources,
    /// Makes pods and containers without the calls that hooks are for.
    RestorePod,
}

impl Method {
    /// The method of a path, in any version of the CRI that has the same messages.
    pub(crate) fn find(path: &str) -> Option<Self> {
        let method = ["/runtime.v1.RuntimeService/", "/runtime.v1alpha2.RuntimeService/"]
            .iter()
            .find_map(|service| path.strip_prefix(service))?;
        Some(match method {
            "RunPodSandbox" => Self::RunPodSandbox,
            "StopPodSandbox" => Self::StopPodSandbox,
            "RemovePodSandbox" => Self::RemovePodSandbox,
            "CreateContainer" => Self::CreateContainer,
            "StartContainer" => Self::StartContainer,
            "StopContainer" => Self::StopContainer,
            "RemoveContainer" => Self::RemoveContainer,
            "UpdateContainerResources" => Self::UpdateContainerResources,
            "UpdatePodSandboxResources" => Self::UpdatePodSandboxResources,
            "RestorePod" => Self::RestorePod,
            _ => return None,
        })
    }
}

/// What a call asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    RunPod(Box<RunPodSandboxRequest>),
    StopPod(String),
    RemovePod(String),
    Create(Box<CreateContainerRequest>),
    Start(String),
    Stop(String),
    Remove(String),
    Update(Box<UpdateContainerResourcesRequest>),
    UpdatePod(Box<UpdatePodSandboxResourcesRequest>),
    Restore,
}

impl Request {
    /// `None` for what is not such a message, or would be another one to other decoders.
    pub(crate) fn decode(method: Method, message: &[u8]) -> Option<Self> {
        let request = Self::read(method, message).ok()?;
        // prost takes an entry of a map for one whatever its wire type; the runtime does not.
        let places = places(method);
        let unified = places.resources.map(|path| (path, UNIFIED));
        let mut maps = [places.labels, places.annotations, unified].into_iter().flatten();
        maps.all(|(path, tag)| is_delimited(message, path, tag)).then_some(request)
    }

    fn read(method: Method, message: &[u8]) -> Result<Self, DecodeError> {
        let pod = || PodId::decode(message).map(|pod| pod.pod_sandbox_id);
        let container = || ContainerId::decode(message).map(|container| container.container_id);
        Ok(match method {
            Method::RunPodSandbox => Self::RunPod(Box::new(RunPodSandboxRequest::decode(message)?)),
            Method::StopPodSandbox => Self::StopPod(pod()?),
            Method::RemovePodSandbox => Self::RemovePod(pod()?),
            Method::CreateContainer => Self::Create(Box::new(CreateContainerRequest::decode(message)?)),
            Method::StartContainer => Self::Start(container()?),
            Method::StopContainer => Self::Stop(container()?),
            Method::RemoveContainer => Self::Remove(container()?),
            Method::UpdateContainerResources => {
                Self::Update(Box::new(UpdateContainerResourcesRequest::decode(message)?))
            }
            Method::UpdatePodSandboxResources => {
                Self::UpdatePod(Box::new(UpdatePodSandboxResourcesRequest::decode(message)?))
            }
            Method::RestorePod => Self::Restore,
        })
    }
}

/// Where a method's request has what plugins change.
struct Places {
    labels: Option<(&'static [u32], u32)>,
    annotations: Option<(&'static [u32], u32)>,
    envs: Option<(&'static [u32], u32)>,
    cgroup_parent: Option<(&'static [u32], u32)>,
    resources: Option<&'static [u32]>,
}

/// In resources.
const UNIFIED: u32 = 9;

const NOWHERE: Places = Places { labels: None, annotations: None, envs: None, cgroup_parent: None, resources: None };

fn places(method: Method) -> Places {
    match method {
        Method::RunPodSandbox => Places {
            labels: Some((&[1], 6)),
            annotations: Some((&[1], 7)),
            cgroup_parent: Some((&[1, 8], 1)),
            resources: Some(&[1, 8, 5]),
            ..NOWHERE
        },
        Method::CreateContainer => Places {
            annotations: Some((&[2], 10)),
            envs: Some((&[2], 6)),
            cgroup_parent: Some((&[3, 8], 1)),
            resources: Some(&[2, 15, 1]),
            ..NOWHERE
        },
        Method::UpdateContainerResources => Places { annotations: Some((&[], 4)), resources: Some(&[2]), ..NOWHERE },
        Method::UpdatePodSandboxResources => Places { resources: Some(&[3]), ..NOWHERE },
        Method::StopPodSandbox
        | Method::RemovePodSandbox
        | Method::StartContainer
        | Method::StopContainer
        | Method::RemoveContainer
        | Method::RestorePod => NOWHERE,
    }
}

/// The edits that make `changes` in a request. What the request has no place for is left out.
pub(crate) fn edits(method: Method, changes: &Changes) -> Vec<Edit> {
    let places = places(method);
    changes.iter().filter_map(|(field, value)| edit(&places, field, value.as_ref())).collect()
}

fn edit(places: &Places, field: &Field, value: Option<&Value>) -> Option<Edit> {
    let ((path, tag), key) = match field {
        Field::PodLabel(key) => (places.labels?, Some(key)),
        Field::PodAnnotation(key) | Field::ContainerAnnotation(key) => (places.annotations?, Some(key)),
        Field::Env(key) => (places.envs?, Some(key)),
        Field::CgroupParent => (places.cgroup_parent?, None),
        Field::CpuPeriod => ((places.resources?, 1), None),
        Field::CpuQuota => ((places.resources?, 2), None),
        Field::CpuShares => ((places.resources?, 3), None),
        Field::MemoryLimit => ((places.resources?, 4), None),
        Field::OomScoreAdj => ((places.resources?, 5), None),
        Field::CpusetCpus => ((places.resources?, 6), None),
        Field::CpusetMems => ((places.resources?, 7), None),
        Field::HugepageLimit(key) => ((places.resources?, 8), Some(key)),
        Field::Unified(key) => ((places.resources?, UNIFIED), Some(key)),
        Field::MemorySwapLimit => ((places.resources?, 10), None),
    };
    let value = value.map(|value| match (key, value) {
        (Some(key), Value::Size(limit)) => {
            Wire::Bytes(HugepageLimit { page_size: key.clone(), limit: *limit }.encode_to_vec())
        }
        // An entry of a map has the same shape as a variable.
        (Some(key), Value::Text(text)) => {
            Wire::Bytes(KeyValue { key: key.clone(), value: text.clone().into_bytes() }.encode_to_vec())
        }
        (None, Value::Text(text)) => Wire::Bytes(text.clone().into_bytes()),
        (_, Value::Number(number)) => Wire::Varint(number.cast_unsigned()),
        (None, Value::Size(size)) => Wire::Varint(*size),
    });
    Some(Edit { path, tag, key: key.cloned(), value })
}

#[cfg(test)]
mod tests;
