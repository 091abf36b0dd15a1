//! What becomes of each hooked call: who is asked before, what is sent on, what is noted, who is told after.

use std::sync::Arc;
use std::time::Duration;

use http::Response;
use prost::Message;
use tokio::time::Instant;
use tonic::Status;

use super::forward::{Answer, Call};
use super::post::Post;
use super::{Hooks, record};
use crate::body::Body;
use crate::call::{self, Request};
use crate::chain::{self, Chain, Effect};
use crate::field::{self, Changes, Field, Fields, Value};
use crate::grpc::{self, unary};
use crate::hook::Hook;
use crate::message::cri::{
    ContainerId, CreateContainerRequest, Empty, PodId, RunPodSandboxRequest, UpdateContainerResourcesRequest,
};
use crate::splice::splice;
use crate::subject::{Container, Pod, resources};

/// Plugins together have at most this, and at most a quarter of the time that the caller gives.
const BUDGET: Duration = Duration::from_secs(10);
const SHARE: u32 = 4;

type Reply = Result<Response<Body>, hyper::Error>;
type Handled = (Reply, Option<Post>);

/// Whom a hook is about, and what may be changed.
struct Asked<'a> {
    hook: Hook,
    pod: &'a Pod,
    container: Option<&'a Container>,
    fields: Fields,
    cgroup_parent: &'a str,
}

fn refused(status: &Status) -> Handled {
    (Ok(grpc::refusal(status)), None)
}

impl Hooks {
    pub(super) async fn handle(&self, call: &Call, message: &[u8], request: Request) -> Handled {
        match request {
            Request::RunPod(request) => self.run_pod(call, message, *request).await,
            Request::Create(request) => self.create(call, message, *request).await,
            Request::Start(id) => self.start(call, &id).await,
            Request::Update(request) => self.update(call, message, *request).await,
            Request::Stop(id) => self.stop(call, &id, false).await,
            Request::Remove(id) => self.stop(call, &id, true).await,
            Request::StopPod(id) => self.stop_pod(call, &id).await,
            Request::RemovePod(id) => {
                let answer = call.forward(None).await;
                if answer.message.is_some() {
                    self.store.remove_pod(&id);
                }
                (answer.response, None)
            }
            Request::Restore => refused(&Status::failed_precondition(
                "RestorePod makes containers that no plugin has seen, and a plugin with failure policy Fail must see them",
            )),
        }
    }

    async fn run_pod(&self, call: &Call, message: &[u8], request: RunPodSandboxRequest) -> Handled {
        let pod = Pod::of(request.config.unwrap_or_default(), request.runtime_handler);
        let (hook, fields) = (Hook::PreRunPodSandbox, pod.fields());
        let asked = Asked { hook, pod: &pod, container: None, fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask(call, asked).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        let answer = send(call, message, chain.changes()).await;
        if let Some(made) = answer.message.and_then(|message| PodId::decode(message).ok()) {
            let fields = chain.fields().clone();
            self.store.insert_pod(made.pod_sandbox_id, pod.with(&fields));
        }
        (answer.response, None)
    }

    async fn create(&self, call: &Call, message: &[u8], request: CreateContainerRequest) -> Handled {
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
        (answer.response, None)
    }

    async fn start(&self, call: &Call, id: &str) -> Handled {
        let hook = Hook::PreStartContainer;
        if self.asked_at(hook).is_empty() && self.asked_at(Hook::PostStartContainer).is_empty() {
            return (call.forward(None).await.response, None);
        }
        let (pod, container) = match self.find(call, id).await {
            Ok(Some(found)) => found,
            Ok(None) => return (call.forward(None).await.response, None),
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
        (answer.response, started.then_some(post))
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
        match unary::<Empty>(&call.backend, &path, &update, BUDGET, 1 << 20).await {
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

    async fn update(&self, call: &Call, message: &[u8], request: UpdateContainerResourcesRequest) -> Handled {
        let (hook, id) = (Hook::PreUpdateContainerResources, request.container_id.as_str());
        let (pod, container) = match self.find(call, id).await {
            Ok(Some(found)) => found,
            Ok(None) => return (call.forward(None).await.response, None),
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
        (answer.response, None)
    }

    /// A container that stops, or is removed and may have ended by itself: plugins are told once.
    async fn stop(&self, call: &Call, id: &str, is_removed: bool) -> Handled {
        let is_wanted = !self.asked_at(Hook::PostStopContainer).is_empty() && !self.store.is_stopped(id);
        let found = if is_wanted { self.find(call, id).await.ok().flatten() } else { None };
        let answer = call.forward(None).await;
        let mut post = None;
        if answer.message.is_some() {
            if let Some((pod, container)) = found.filter(|_| self.store.mark_stopped(id)) {
                post = Some(Post {
                    pod_id: container.pod_id.clone(),
                    hook: Hook::PostStopContainer,
                    pod,
                    container: Some(container),
                });
            }
            if is_removed {
                self.store.remove_container(id);
            }
        }
        (answer.response, post)
    }

    async fn stop_pod(&self, call: &Call, id: &str) -> Handled {
        let is_wanted = !self.asked_at(Hook::PostStopPodSandbox).is_empty() && !self.store.is_stopped(id);
        let found =
            if is_wanted { self.store.get_pod(&call.backend, &call.service(), id).await.ok().flatten() } else { None };
        let answer = call.forward(None).await;
        let pod = found.filter(|_| answer.message.is_some() && self.store.mark_stopped(id));
        let post = pod.map(|pod| Post { pod_id: id.to_owned(), hook: Hook::PostStopPodSandbox, pod, container: None });
        (answer.response, post)
    }

    /// A call whose container cannot be read.
    async fn unseen(&self, call: &Call, hook: Hook, status: &Status) -> Handled {
        let why = format!("the container cannot be read: {}", status.message());
        match self.refusal_of_unknown(hook, &why) {
            Some(status) => refused(&status),
            None => (call.forward(None).await.response, None),
        }
    }

    async fn find(&self, call: &Call, id: &str) -> Result<Option<(Arc<Pod>, Arc<Container>)>, Status> {
        let service = call.service();
        let Some(container) = self.store.get_container(&call.backend, &service, id).await? else { return Ok(None) };
        let pod = self.store.get_pod(&call.backend, &service, &container.pod_id).await?;
        Ok(pod.map(|pod| (pod, container)))
    }

    /// Asks all plugins of a hook before a call.
    async fn ask(&self, call: &Call, asked: Asked<'_>) -> Result<Chain, Status> {
        let share = call.timeout().map_or(BUDGET, |timeout| timeout.saturating_sub(call.begun.elapsed()) / SHARE);
        self.ask_until(asked, Instant::now() + share.min(BUDGET)).await
    }

    async fn ask_until(&self, asked: Asked<'_>, deadline: Instant) -> Result<Chain, Status> {
        let Asked { hook, pod, container, fields, cgroup_parent } = asked;
        let plugins = if self.scope.is_skipped(pod) { Vec::new() } else { self.asked_at(hook) };
        let exempt = self.scope.is_exempt(pod);
        let call = chain::Call { hook, fields, cgroup_parent: cgroup_parent.to_owned(), exempt, deadline };
        let registrations = plugins.iter().map(|plugin| Arc::clone(&plugin.registration)).collect();
        let mut chain = Chain::new(call, registrations);
        let mut effect = chain.begin(Instant::now());
        let outcome = loop {
            match effect {
                Effect::Forward => break Ok(()),
                Effect::Refuse(status) => break Err(status),
                Effect::Ask { plugin, shown, timeout } => {
                    let begun = Instant::now();
                    let answer = plugins[plugin].ask(hook, pod, container, &shown, timeout).await;
                    self.metrics.observe(&plugins[plugin].registration.name, hook, &answer, begun.elapsed());
                    effect = chain.step(answer, Instant::now());
                }
            }
        };
        record::log(hook, pod, container, chain.notes());
        outcome.map(|()| chain)
    }

    /// Tells plugins what has happened, after what happened to the same pod before.
    pub(super) async fn run_post(&self, post: Post) {
        let id = post.pod_id.clone();
        if !self.posts.push(post) {
            return;
        }
        while let Some(Post { hook, pod, container, .. }) = self.posts.pop(&id) {
            let container = container.as_deref();
            let fields = container.map_or_else(|| pod.fields(), |container| container.fields(&pod.cgroup_parent));
            let asked = Asked { hook, pod: &pod, container, fields, cgroup_parent: &pod.cgroup_parent };
            // Nothing can be refused any more.
            let _ = self.ask_until(asked, Instant::now() + BUDGET).await;
        }
    }
}

/// Sends a call with the plugins' changes in it.
async fn send(call: &Call, message: &[u8], changes: &Changes) -> Answer {
    if changes.is_empty() {
        return call.forward(None).await;
    }
    match splice(message, &call::edits(call.method, changes)) {
        Ok(spliced) => call.forward(Some(&spliced)).await,
        Err(error) => {
            let status = Status::internal(format!("the plugins' changes cannot be written: {error}"));
            Answer { response: Ok(grpc::refusal(&status)), message: None }
        }
    }
}
