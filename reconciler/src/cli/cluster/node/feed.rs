//! The pod of a node's feed, and what it serves on its loopback, reached by a port-forward of the API server: who may forward
//! ports to that pod may read, and nobody on the pod network.

use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Collected, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::cli::args::cluster::FeedArgs;
use crate::cli::cluster::connection::{Connection, Scope};
use crate::cli::cluster::refused;
use crate::cli::failure::Failure;

/// As the chart labels its pods.
const LABELS: &str = "app.kubernetes.io/name=reeve-cri,app.kubernetes.io/component=feed";
const LONGEST: usize = 16 << 20;

/// The feed of one node.
pub(super) struct Feed<'a> {
    connection: &'a Connection,
    pods: Api<Pod>,
    pod: String,
    node: String,
    port: u16,
}

/// What a feed said.
pub(super) struct Said {
    node: String,
    text: Bytes,
}

impl<'a> Feed<'a> {
    pub(super) async fn find(connection: &'a Connection, args: &FeedArgs, node: &str) -> Result<Self, Failure> {
        let scope = Scope::Namespace(args.feed_namespace.clone());
        let of_node = ListParams::default().labels(LABELS).fields(&format!("spec.nodeName={node}"));
        let found = connection.select::<Pod>(&scope, of_node).await?;
        let is_running = |pod: &&Pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
        };
        let Some(pod) = found.iter().find(is_running) else {
            let message = format!("no feed runs on node {node} in namespace {}", args.feed_namespace);
            let help = "see `kubectl get nodehookstatus`; the chart reeve-cri installs feeds, and --feed-namespace names where; \
                        on the node itself ask `reeve-cri hooks` and `reeve-cri why`";
            return Err(Failure::unknown(message, Some(help.to_owned())));
        };
        Ok(Self {
            connection,
            pods: connection.api(&scope),
            pod: pod.name_any(),
            node: node.to_owned(),
            port: args.feed_port,
        })
    }

    /// Reads a page of the proxy.
    pub(super) async fn read(&self, page: &'static str) -> Result<Said, Failure> {
        let doing = format!("forward a port to pod {}", self.pod);
        let ports = [self.port];
        let forwarding = self.pods.portforward(&self.pod, &ports);
        let mut forwarder = self.connection.ask(&doing, forwarding).await?;
        let stream = forwarder.take_stream(self.port).ok_or_else(|| self.silent(None))?;
        let (mut sender, http) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.silent(Some(&error)))?;
        let reading = async {
            let mut request = Request::new(Empty::<Bytes>::new());
            *request.uri_mut() = Uri::from_static(page);
            request.headers_mut().insert(http::header::HOST, HeaderValue::from_static("localhost"));
            let response = sender.send_request(request).await.map_err(|error| self.silent(Some(&error)))?;
            if response.status() != StatusCode::OK {
                let message = format!("the proxy of node {} does not know {page}: it is of another version", self.node);
                return Err(Failure::unknown(message, None));
            }
            let body = Limited::new(response.into_body(), LONGEST).collect().await;
            body.map(Collected::to_bytes).map_err(|error| refused("read what the proxy says", &*error))
        };
        tokio::pin!(reading, http);
        let in_time = async {
            tokio::select! {
                text = &mut reading => text,
                _ended = &mut http => reading.await,
            }
        };
        let text = self.connection.in_time("read what the proxy says", in_time).await??;
        Ok(Said { node: self.node.clone(), text })
    }

    fn silent(&self, cause: Option<&(dyn std::error::Error + 'static)>) -> Failure {
        let why = cause.map_or_else(String::new, |cause| format!(": {}", reeve_process::error_chain(cause)));
        let message = format!("the proxy of node {} says nothing{why}", self.node);
        Failure::unknown(message, Some("does reeve-cri run on the node? see `kubectl get nodehookstatus`".to_owned()))
    }
}

impl Said {
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.text).map_err(|error| {
            Failure::unknown(format!("the proxy of node {} says what is not understood: {error}", self.node), None)
        })
    }

    /// All that it said.
    pub(super) fn document(&self) -> Result<serde_json::Value, Failure> {
        self.parse()
    }
}
