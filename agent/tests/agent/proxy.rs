//! A proxy between the agent and the API server that stops everything at the k-th write, so that a kill comes there.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use reeve_tests::Cluster;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

struct State {
    client: Client,
    at: usize,
    /// Whether the server still gets that write, and only its answer is lost.
    lands: bool,
    writes: AtomicUsize,
    stopped: AtomicBool,
    reached: Notify,
}

impl Proxy {
    /// Events do not count: nobody decides by them.
    pub(crate) async fn start(cluster: &Cluster, at: usize, lands: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            client: cluster.client(),
            at,
            lands,
            writes: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            reached: Notify::new(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&state)));
        Self { address, state, _tasks: tasks }
    }

    /// Resolves at the k-th write.
    pub(crate) async fn reached(&self) {
        self.state.reached.notified().await;
    }

    /// A kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self, folder: &Path) -> PathBuf {
        let file = folder.join(format!("proxy-{}.json", self.address.port()));
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{ "name": "proxy", "cluster": { "server": format!("http://{}", self.address) } }],
            "users": [{ "name": "proxy", "user": {} }],
            "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "proxy" } }],
        });
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(state.serve(request).await) }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}

impl State {
    async fn serve(&self, request: Request<Incoming>) -> Response<Body> {
        let is_write = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let is_event = request.uri().path().contains("/events");
        if self.stopped.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        let stops = is_write && !is_event && self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.at;
        if stops {
            self.stopped.store(true, Ordering::SeqCst);
        }
        if stops && !self.lands {
            self.reached.notify_one();
            return std::future::pending().await;
        }
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
        let answer = self.client.send(Request::from_parts(parts, Body::from(body))).await;
        if stops {
            self.reached.notify_one();
            return std::future::pending().await;
        }
        answer.unwrap_or_else(|_| Response::builder().status(502).body(Body::empty()).unwrap())
    }
}
