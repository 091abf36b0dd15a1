//! Reads what the store lacks from the backend: after a restart, and for what is older than the proxy.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tonic::{Code, Status};

use super::{Store, info};
use crate::backend::Backend;
use crate::field;
use crate::grpc::unary;
use crate::message::cri::{
    ContainerId, ContainerStatusResponse, ListContainersRequest, ListContainersResponse, PodSandboxStatusResponse,
    StatusRequest,
};
use crate::subject::{Container, Pod};

const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: usize = 16 << 20;

impl Store {
    /// The pod, from the backend if it is not here. `None` if the backend has none of that id.
    pub(crate) async fn get_pod(&self, backend: &Backend, service: &str, id: &str) -> Result<Option<Arc<Pod>>, Status> {
        if let Some(pod) = self.find_pod(id) {
            return Ok(Some(pod));
        }
        let request = StatusRequest { id: id.to_owned(), verbose: true };
        let answer = call::<PodSandboxStatusResponse>(backend, service, "PodSandboxStatus", &request).await?;
        let Some(PodSandboxStatusResponse { status: Some(status), info }) = answer else { return Ok(None) };
        let info: info::PodInfo = info::read(&info);
        let linux = info.config.linux;
        let pod = Pod {
            metadata: status.metadata.unwrap_or_default(),
            handler: status.runtime_handler,
            labels: status.labels,
            annotations: status.annotations,
            cgroup_parent: linux.cgroup_parent,
            overhead: linux.overhead.map(Into::into),
            resources: linux.resources.map(Into::into),
        };
        // Under the id that the backend gives: the caller may have shortened it.
        Ok(Some(self.insert_pod(status.id, pod)))
    }

    /// The container, from the backend if it is not here. `None` if the backend has none of that id.
    pub(crate) async fn get_container(
        &self,
        backend: &Backend,
        service: &str,
        id: &str,
    ) -> Result<Option<Arc<Container>>, Status> {
        if let Some(container) = self.find_container(id) {
            return Ok(Some(container));
        }
        let request = StatusRequest { id: id.to_owned(), verbose: true };
        let answer = call::<ContainerStatusResponse>(backend, service, "ContainerStatus", &request).await?;
        let Some(ContainerStatusResponse { status: Some(status), info }) = answer else { return Ok(None) };
        let mut info: info::ContainerInfo = info::read(&info);
        let stated = status.resources.and_then(|resources| resources.linux);
        let resources = stated.or_else(|| info.resources());
        if info.sandbox_id.is_empty() {
            info.sandbox_id = pod_of(backend, service, &status.id).await?;
        }
        let container = Container {
            id: status.id,
            pod_id: info.sandbox_id,
            metadata: status.metadata.unwrap_or_default(),
            annotations: status.annotations,
            envs: info.config.envs.into_iter().map(|env| (env.key, env.value)).collect(),
            resources: resources.as_ref().map(field::of_resources).unwrap_or_default(),
        };
        Ok(Some(self.insert_container(container)))
    }
}

async fn pod_of(backend: &Backend, service: &str, id: &str) -> Result<String, Status> {
    let request = ListContainersRequest { filter: Some(ContainerId { container_id: id.to_owned() }) };
    let answer = call::<ListContainersResponse>(backend, service, "ListContainers", &request).await?;
    let found = answer.and_then(|answer| answer.containers.into_iter().find(|container| container.id == id));
    Ok(found.map(|container| container.pod_sandbox_id).unwrap_or_default())
}

/// `None` stands for an id that the backend does not know.
async fn call<A: Message + Default>(
    backend: &Backend,
    service: &str,
    method: &str,
    request: &impl Message,
) -> Result<Option<A>, Status> {
    match unary(backend, &format!("{service}{method}"), request, TIMEOUT, LONGEST).await {
        Ok(answer) => Ok(Some(answer)),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status),
    }
}
