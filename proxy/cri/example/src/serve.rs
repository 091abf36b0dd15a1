//! Speaks `reeve.hook.v1` on a unix socket: one unary method over HTTP/2.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use reeve_proxy_cri::protocol::{HookRequest, HookResponse, METHOD};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tracing::{info, warn};

use crate::cgroup::Cgroups;
use crate::classes::Classes;

/// More than any request has.
const LONGEST: usize = 4 << 20;
/// A flag byte and the length of the message.
const PREFIX: usize = 5;

/// What answers need.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) classes: Classes,
    pub(crate) cgroups: Cgroups,
}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// Serves until `stop`, and lets what is under way end.
pub(crate) async fn serve(listener: UnixListener, plugin: Arc<Plugin>, stop: CancellationToken) {
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Ok((stream, _)) = accepted.inspect_err(|error| warn!(%error, "cannot accept a connection")) else {
            continue;
        };
        let (plugin, stop) = (Arc::clone(&plugin), stop.clone());
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let plugin = Arc::clone(&plugin);
                async move { Ok::<_, Infallible>(plugin.answer(request).await) }
            });
            let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => { connection.as_mut().graceful_shutdown(); connection.await }
            };
            if let Err(error) = ended {
                warn!(error = %reeve_process::error_chain(&error), "a connection ended");
            }
        });
    }
    connections.close();
    connections.wait().await;
}

impl Plugin {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let outcome = match request.uri().path() {
            METHOD => read(request).await.map(|request| self.hook(&request)),
            other => Err(Status::unimplemented(format!("{other} is not served"))),
        };
        let (message, status) = match outcome {
            Ok(response) => (Some(response), Status::ok("")),
            Err(status) => (None, status),
        };
        let mut trailers = HeaderMap::new();
        let _ = status.add_header(&mut trailers);
        let body = Full::new(message.map(|message| frame(&message)).unwrap_or_default());
        let body = body.with_trailers(std::future::ready(Some(Ok(trailers))));
        let mut response = Response::new(body.boxed_unsync());
        let grpc = http::HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
        response
    }

    fn hook(&self, request: &HookRequest) -> HookResponse {
        let class = request.pod.as_ref().and_then(|pod| self.classes.find(pod));
        if let ("PostStartContainer", Some(class), Some(pod), Some(container)) =
            (request.hook.as_str(), class, &request.pod, &request.container)
        {
            for failure in self.cgroups.write(&pod.cgroup_parent, &container.id, &class.files) {
                warn!(namespace = pod.namespace, pod = pod.name, class = class.name, "{failure}");
            }
        }
        let answer = self.classes.answer(request);
        let (class, pod) = (class.map_or("none", |class| class.name.as_str()), request.pod.as_ref());
        info!(
            hook = request.hook,
            pod = pod.map_or("", |pod| &pod.name),
            class,
            changes = answer.changes.len(),
            "asked"
        );
        answer
    }
}

async fn read(request: Request<Incoming>) -> Result<HookRequest, Status> {
    let body = Limited::new(request.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| Status::internal(format!("the request cannot be read: {error}")))?.to_bytes();
    let message = body.get(PREFIX..).filter(|_| body.first() == Some(&0));
    let message = message.ok_or_else(|| Status::internal("the request is no plain message"))?;
    HookRequest::decode(message).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn frame(message: &HookResponse) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.encoded_len()).unwrap_or(u32::MAX));
    framed.put_slice(&message.encode_to_vec());
    framed.freeze()
}
