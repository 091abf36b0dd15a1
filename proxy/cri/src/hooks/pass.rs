//! Reads a hooked call's request, has it handled apart from its client, and gives the client the answer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::Hooks;
use super::forward::Call;
use crate::backend::Backend;
use crate::body::Body;
use crate::call::{self, Method};
use crate::hook::Hook;
use crate::{grpc, proxy};

/// Twice what kubelet and containerd allow for a message.
const LONGEST: usize = 32 << 20;

impl Hooks {
    /// Answers a call that hooks may be for. An error resets the stream with the reason that it carries.
    pub(crate) async fn call(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        method: Method,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, hyper::Error> {
        let begun = Instant::now();
        let (head, mut incoming) = request.into_parts();
        let mut read = BytesMut::new();
        while let Some(frame) = incoming.frame().await {
            if let Ok(data) = frame?.into_data() {
                read.extend_from_slice(&data);
            }
            if read.len() > LONGEST {
                if let Some(refusal) = self.refusal_of_unreadable(method, "the request is too long to be looked at") {
                    return Ok(refusal);
                }
                let body = Body::request(incoming).preceded_by([read.freeze()]);
                return proxy::pass(backend, Request::from_parts(head, body)).await;
            }
        }
        let call = Call { backend: Arc::clone(backend), method, head, body: read.freeze(), begun };
        let decoded = grpc::unframe(call.body.clone())
            .and_then(|message: Bytes| call::Request::decode(method, &message).map(|request| (message, request)));
        let (reply, answer) = oneshot::channel();
        let gone = CancellationToken::new();
        let _guard = gone.clone().drop_guard();
        let hooks = Arc::clone(self);
        self.tasks.spawn(async move {
            let outcome = gone.run_until_cancelled(async {
                match decoded {
                    Some((message, request)) => hooks.handle(&call, &message, request).await,
                    None => match hooks.refusal_of_unreadable(method, "the request cannot be decoded") {
                        Some(refusal) => (Ok(refusal), Vec::new()),
                        None => (call.forward(None).await.response, Vec::new()),
                    },
                }
            });
            if let Some((response, posts)) = Box::pin(outcome).await {
                // The client may have hung up; what comes after concerns plugins.
                let _ = reply.send(response);
                for post in posts {
                    hooks.run_post(post).await;
                }
            }
        });
        answer.await.unwrap_or_else(|_gone| Ok(grpc::refusal(&Status::internal("the call was given up"))))
    }

    /// What nobody can look at passes only if no plugin has to.
    fn refusal_of_unreadable(&self, method: Method, why: &str) -> Option<Response<Body>> {
        let hook = match method {
            Method::RunPodSandbox => Hook::PreRunPodSandbox,
            Method::CreateContainer => Hook::PreCreateContainer,
            Method::StartContainer => Hook::PreStartContainer,
            Method::UpdateContainerResources => Hook::PreUpdateContainerResources,
            Method::UpdatePodSandboxResources => Hook::PreUpdatePodSandboxResources,
            Method::StopPodSandbox
            | Method::RemovePodSandbox
            | Method::StopContainer
            | Method::RemoveContainer
            | Method::RestorePod => return None,
        };
        self.refusal_of_unknown(hook, why).map(|status| grpc::refusal(&status))
    }

    /// The refusal of a call that cannot be shown to a plugin without whose word it may not pass.
    pub(super) fn refusal_of_unknown(&self, hook: Hook, why: &str) -> Option<Status> {
        let plugin = self.closed_at(hook)?;
        Some(Status::unavailable(format!("plugin {plugin} cannot be asked on {}: {why}", hook.name())))
    }
}
