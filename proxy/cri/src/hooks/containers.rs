//! What becomes of each hooked call of a container: who is asked before, what is sent on, what is noted, who is told after.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tonic::Status;

use super::Hooks;
use super::ask::Asked;
use super::forward::Call;
use super::pods::{Handled, Reply, refused, send};
use super::post::Post;
use crate::chain;
use crate::field::{self, Changes, Field, Fields, Value};
use crate::grpc::unary;
use crate::hook::Hook;
use crate::message::cri::{ContainerId, CreateContainerRequest, Empty, UpdateContainerResourcesRequest};
use crate::subject::{Container, Pod, resources};

/// What an update before a start may take.
const UPDATE_WITHIN: Duration = Duration::from_secs(10);

impl Hooks {
    pub(super) async fn create(&self, call: &Call, message: &[u8], request: CreateContainerRequest) -> Handled {
        let wanted = Pod::of(request.sandbox_config.unwrap_or_default(), String::new());
        let service = call.service();
        let pod = match self.store.get_pod(&call.backend, &service, &request.pod_sandbox_id).await {
            Ok(Some(pod)) => pod,
            // The request says nearly all of it.
            Ok(None) | Err(_) => Arc::new(wanted.clone()),
        };
        // Newer runtimes read the parent from this request: what was changed for the pod has to be changed here too.
        let mut carried = Changes::new();
        if pod.cgroup_parent != wanted.cgroup_parent && chain::is_below(&pod.cgroup_parent, &wanted.cgroup_parent) {
            carried.insert(Field::CgroupParent, Some(Value::Text(pod.cgroup_parent.clone())));
        }
        let container = Container::of(request.pod_sandbox_id, request.config.unwrap_or_default());
        let mut fields = container.fields(&wanted.cgroup_parent);
        field::apply(&mut fields, &carried);
        let (hook, cgroup_parent) = (Hook::PreCreateContainer, wanted.cgroup_parent.as_str());
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent };
        let chain = match self.ask(call, asked).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        carried.extend(chain.changes().clone());
        let answer = send(call, message, &carried).await;
        if let Some(made) = answer.message.and_then(|message| ContainerId::decode(message).ok()) {
            let mut container = container.clone().with(chain.fields());
            container.id = made.container_id;
            self.store.insert_container(container);
        }
        (answer.response, Vec::new())
    }

    pub(super) async fn start(&self, call: &Call, id: &str) -> Handled {
        let hook = Hook::PreStartContainer;
        if !self.is_asked(hook) && !self.is_asked(Hook::PostStartContainer) {
            return pass(call).await;
        }
        let (pod, container) = match self.find(call, id).await {
            Ok(Some(found)) => found,
            Ok(None) => return pass(call).await,
            Err(status) => return self.unseen(call, hook, &status).await,
        };
        let fields = container.fields(&pod.cgroup_parent);
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask(call, asked).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        if let Err(status) = self.update_first(call, id, chain.changes()).await {
            return refused(&status);
        }
        let answer = call.forward(None).await;
        let started = answer.message.is_some();
        let container = if chain.changes().is_empty() {
            container
        } else {
            self.store.insert_container((*container).clone().with(chain.fields()))
        };
        let post =
            Post { pod_id: container.pod_id.clone(), hook: Hook::PostStartContainer, pod, container: Some(container) };
        (answer.response, started.then_some(post).into_iter().collect())
    }

    /// A start carries no resources, so they are changed by a call of their own before it.
    async fn update_first(&self, call: &Call, id: &str, changes: &Changes) -> Result<(), Status> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut fields = Fields::new();
        field::apply(&mut fields, changes);
        let update = UpdateContainerResourcesRequest {
            container_id: id.to_owned(),
            linux: field::to_resources(&fields),
            ..Default::default()
        };
        let path = format!("{}UpdateContainerResources", call.service());
        match unary::<Empty>(&call.backend, &path, &update, UPDATE_WITHIN, 1 << 20).await {
            Ok(Empty {}) => Ok(()),
            Err(status) => {
                tracing::warn!(container = id, %status, "cannot change resources before the start");
                let closed = self.closed_at(Hook::PreStartContainer);
                closed.map_or(Ok(()), |plugin| {
                    let why =
                        format!("what plugin {plugin} changed at PreStartContainer is refused: {}", status.message());
                    Err(Status::new(status.code(), why))
                })
            }
        }
    }

    pub(super) async fn update(
        &self,
        call: &Call,
        message: &[u8],
        request: UpdateContainerResourcesRequest,
    ) -> Handled {
        let (hook, id) = (Hook::PreUpdateContainerResources, request.container_id.as_str());
        let (pod, container) = match self.find(call, id).await {
            Ok(Some(found)) => found,
            Ok(None) => return pass(call).await,
            Err(status) => return self.unseen(call, hook, &status).await,
        };
        let mut fields = container.fields(&pod.cgroup_parent);
        fields.extend(request.linux.as_ref().map(field::of_resources).unwrap_or_default());
        fields.extend(field::of_map(&request.annotations, Field::ContainerAnnotation));
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask(call, asked).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        // Kubelet's difference and the plugins', never the whole record: what nobody changed is not touched.
        let answer = send(call, message, chain.changes()).await;
        if answer.message.is_some() {
            let mut updated = (*container).clone();
            updated.resources = resources(chain.fields());
            self.store.insert_container(updated);
        }
        (answer.response, Vec::new())
    }

    /// A container that stops, or is removed and may have ended by itself: plugins are told once.
    pub(super) async fn stop(&self, call: &Call, id: &str, is_removed: bool) -> Handled {
        let tell_stop = self.is_asked(Hook::PostStopContainer) && !self.store.is_stopped(id);
        let tell_removal = is_removed && self.is_asked(Hook::PostRemoveContainer);
        let found = if tell_stop || tell_removal { self.find(call, id).await.ok().flatten() } else { None };
        let answer = call.forward(None).await;
        let mut posts = Vec::new();
        if answer.message.is_some() {
            if let Some((pod, container)) = found {
                let post = |hook| Post {
                    pod_id: container.pod_id.clone(),
                    hook,
                    pod: Arc::clone(&pod),
                    container: Some(Arc::clone(&container)),
                };
                posts.extend((tell_stop && self.store.mark_stopped(id)).then(|| post(Hook::PostStopContainer)));
                posts.extend(tell_removal.then(|| post(Hook::PostRemoveContainer)));
            }
            if is_removed {
                self.store.remove_container(id);
            }
        }
        (answer.response, posts)
    }

    /// A call whose container cannot be read.
    pub(super) async fn unseen(&self, call: &Call, hook: Hook, status: &Status) -> Handled {
        let why = format!("the container cannot be read: {}", status.message());
        match self.refusal_of_unknown(hook, &why) {
            Some(status) => refused(&status),
            None => pass(call).await,
        }
    }

    async fn find(&self, call: &Call, id: &str) -> Result<Option<(Arc<Pod>, Arc<Container>)>, Status> {
        let service = call.service();
        let Some(container) = self.store.get_container(&call.backend, &service, id).await? else { return Ok(None) };
        let pod = self.store.get_pod(&call.backend, &service, &container.pod_id).await?;
        Ok(pod.map(|pod| (pod, container)))
    }
}

async fn pass(call: &Call) -> Handled {
    let response: Reply = call.forward(None).await.response;
    (response, Vec::new())
}
