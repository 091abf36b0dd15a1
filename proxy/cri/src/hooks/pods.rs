//! What becomes of each hooked call of a pod, and how a call is sent on.

use http::Response;
use prost::Message;
use tonic::Status;

use super::Hooks;
use super::ask::Asked;
use super::forward::{Answer, Call};
use super::post::Post;
use crate::body::Body;
use crate::call::{self, Request};
use crate::field::{self, Changes};
use crate::grpc;
use crate::hook::Hook;
use crate::message::cri::{PodId, RunPodSandboxRequest, UpdatePodSandboxResourcesRequest};
use crate::splice::splice;
use crate::subject::Pod;

pub(super) type Reply = Result<Response<Body>, hyper::Error>;
/// The answer, and what plugins are to be told afterwards.
pub(super) type Handled = (Reply, Vec<Post>);

pub(super) fn refused(status: &Status) -> Handled {
    (Ok(grpc::refusal(status)), Vec::new())
}

impl Hooks {
    pub(super) async fn handle(&self, call: &Call, message: &[u8], request: Request) -> Handled {
        match request {
            Request::RunPod(request) => self.run_pod(call, message, *request).await,
            Request::Create(request) => self.create(call, message, *request).await,
            Request::Start(id) => self.start(call, &id).await,
            Request::Update(request) => self.update(call, message, *request).await,
            Request::UpdatePod(request) => self.update_pod(call, message, *request).await,
            Request::Stop(id) => self.stop(call, &id, false).await,
            Request::Remove(id) => self.stop(call, &id, true).await,
            Request::StopPod(id) => self.stop_pod(call, &id).await,
            Request::RemovePod(id) => self.remove_pod(call, &id).await,
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
        (answer.response, Vec::new())
    }

    async fn update_pod(&self, call: &Call, message: &[u8], request: UpdatePodSandboxResourcesRequest) -> Handled {
        let (hook, id) = (Hook::PreUpdatePodSandboxResources, request.pod_sandbox_id);
        if !self.is_asked(hook) {
            return (call.forward(None).await.response, Vec::new());
        }
        let pod = match self.store.get_pod(&call.backend, &call.service(), &id).await {
            Ok(Some(pod)) => pod,
            Ok(None) => return (call.forward(None).await.response, Vec::new()),
            Err(status) => return self.unseen(call, hook, &status).await,
        };
        let mut fields = pod.fields();
        fields.extend(request.resources.as_ref().map(field::of_resources).unwrap_or_default());
        let asked = Asked { hook, pod: &pod, container: None, fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask(call, asked).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        let answer = send(call, message, chain.changes()).await;
        if answer.message.is_some() {
            self.store.insert_pod(id, (*pod).clone().with(chain.fields()));
        }
        (answer.response, Vec::new())
    }

    async fn stop_pod(&self, call: &Call, id: &str) -> Handled {
        let is_wanted = self.is_asked(Hook::PostStopPodSandbox) && !self.store.is_stopped(id);
        let found =
            if is_wanted { self.store.get_pod(&call.backend, &call.service(), id).await.ok().flatten() } else { None };
        let answer = call.forward(None).await;
        let pod = found.filter(|_| answer.message.is_some() && self.store.mark_stopped(id));
        let post = pod.map(|pod| Post { pod_id: id.to_owned(), hook: Hook::PostStopPodSandbox, pod, container: None });
        (answer.response, post.into_iter().collect())
    }

    async fn remove_pod(&self, call: &Call, id: &str) -> Handled {
        let (before, after) = (Hook::PreRemovePodSandbox, Hook::PostRemovePodSandbox);
        let is_wanted = self.is_asked(before) || self.is_asked(after);
        // One that cannot be read is removed without a word: kubelet removes again and again what is gone.
        let found =
            if is_wanted { self.store.get_pod(&call.backend, &call.service(), id).await.ok().flatten() } else { None };
        if let Some(pod) = &found {
            let asked =
                Asked { hook: before, pod, container: None, fields: pod.fields(), cgroup_parent: &pod.cgroup_parent };
            if let Err(status) = self.ask(call, asked).await {
                return refused(&status);
            }
        }
        let answer = call.forward(None).await;
        if answer.message.is_none() {
            return (answer.response, Vec::new());
        }
        self.store.remove_pod(id);
        let post = found.filter(|_| self.is_asked(after));
        let post = post.map(|pod| Post { pod_id: id.to_owned(), hook: after, pod, container: None });
        (answer.response, post.into_iter().collect())
    }
}

/// Sends a call with the plugins' changes in it.
pub(super) async fn send(call: &Call, message: &[u8], changes: &Changes) -> Answer {
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
