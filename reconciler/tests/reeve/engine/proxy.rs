//! A proxy between `reeve run` and the API server that counts requests, holds them at the k-th write, refuses them, or
//! hands one over late.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_process::Gate;
use reeve_tests::Cluster;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

/// What becomes of requests.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Pass,
    /// At the k-th write, events not counted, everything stops: before the server hears of it, or when it has answered.
    Hold {
        at: usize,
        answered: bool,
    },
    /// Writes whose path has this in it are answered with this code.
    Refuse {
        code: u16,
        path: String,
    },
    /// The first write whose path has this in it reaches the server when it is released, even if nobody waits any more.
    Late {
        path: String,
    },
    /// Of the writes by this method whose path has this in it, statuses aside, the first so many pass; the others wait until there is
    /// another rule.
    Park {
        method: Method,
        path: String,
        after: usize,
    },
    /// The first so many reads whose path ends like this are answered with this code.
    RefuseReads {
        code: u16,
        path: String,
        times: usize,
    },
}

pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

struct State {
    client: Client,
    rule: Mutex<Rule>,
    requests: AtomicUsize,
    writes: AtomicUsize,
    refused: AtomicUsize,
    deletions: Mutex<Vec<String>>,
    /// How many writes the rule to park was asked about, and the number of the rule.
    parked: AtomicUsize,
    rules: watch::Sender<usize>,
    held: AtomicBool,
    reached: Notify,
    released: Notify,
    landed: Notify,
    late: TaskTracker,
}

impl Proxy {
    /// To the cluster, with all rights; whom a request impersonates stays.
    pub(crate) async fn start(cluster: &Cluster, rule: Rule) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let state = Arc::new(State {
            client: cluster.client(),
            rule: Mutex::new(rule),
            requests: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            deletions: Mutex::default(),
            parked: AtomicUsize::new(0),
            rules: watch::Sender::new(0),
            held: AtomicBool::new(false),
            reached: Notify::new(),
            released: Notify::new(),
            landed: Notify::new(),
            late: TaskTracker::new(),
        });
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, state.clone()));
        Self { address, state, _tasks: tasks }
    }

    pub(crate) fn set(&self, rule: Rule) {
        *self.state.rule.lock().unwrap() = rule;
        self.state.parked.store(0, Ordering::SeqCst);
        self.state.rules.send_modify(|number| *number += 1);
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// How many reads were refused.
    pub(crate) fn refused(&self) -> usize {
        self.state.refused.load(Ordering::SeqCst)
    }

    /// The paths of all deletions.
    pub(crate) fn deletions(&self) -> Vec<String> {
        self.state.deletions.lock().unwrap().clone()
    }

    /// Hands the late write over; resolves when the server has done it.
    pub(crate) async fn release(&self) {
        self.state.released.notify_one();
        self.state.landed.notified().await;
    }

    /// Resolves when the write was reached at which everything stops, or that is late.
    pub(crate) async fn reached(&self) {
        self.state.reached.notified().await;
    }

    /// The cluster as the engine sees it through here.
    pub(crate) async fn engine_cluster(&self, folder: &std::path::Path) -> reeve_reconciler_engine::cluster::Cluster {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(folder)).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        reeve_reconciler_engine::cluster::Cluster::new(Gate::always_open().term().unwrap(), config).unwrap()
    }

    /// A kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self, folder: &std::path::Path) -> PathBuf {
        let file = folder.join(format!("proxy-{}.yaml", self.address.port()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: proxy\nclusters: [{{ name: proxy, cluster: {{ server: 'http://{}' }} }}]\nusers: [{{ name: proxy, user: {{}} }}]\ncontexts: [{{ name: proxy, context: {{ cluster: proxy, user: proxy }} }}]\n",
            self.address
        );
        std::fs::write(&file, text).unwrap();
        file
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let state = state.clone();
                async move { Ok::<_, Infallible>(state.serve(request).await) }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

impl State {
    async fn serve(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let path = request.uri().path().to_owned();
        let writes = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let rules = self.rules.subscribe();
        let rule = self.rule.lock().unwrap().clone();
        if self.held.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        if !writes && let Rule::RefuseReads { code, path: end, times } = &rule {
            let first =
                || self.refused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < *times).then_some(n + 1));
            if path.ends_with(end) && first().is_ok() {
                return api_error(*code, "storage is (re)initializing");
            }
        }
        if !writes || path.ends_with("/events") || path.contains("/events/") {
            return self.forward(request).await;
        }
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if *request.method() == Method::DELETE {
            self.deletions.lock().unwrap().push(path.clone());
        }
        match rule {
            Rule::Hold { at, answered } if number == at => {
                self.held.store(true, Ordering::SeqCst);
                if answered {
                    drop(self.forward(request).await);
                }
                self.reached.notify_one();
                std::future::pending().await
            }
            Rule::Refuse { code, path: part } if path.contains(&part) => api_error(code, "as the test says"),
            Rule::Late { path: part } if path.contains(&part) => {
                *self.rule.lock().unwrap() = Rule::Pass;
                let Some(request) = whole(request).await else { return api_error(400, "cut off") };
                self.reached.notify_one();
                let late = self.late.clone().spawn(async move {
                    self.released.notified().await;
                    let answer = self.pass(request).await;
                    self.landed.notify_one();
                    answer
                });
                late.await.unwrap()
            }
            Rule::Park { method, path: part, after }
                if *request.method() == method && path.contains(&part) && !path.ends_with("/status") =>
            {
                self.park(after, rules).await;
                self.forward(request).await
            }
            Rule::Hold { .. }
            | Rule::Refuse { .. }
            | Rule::RefuseReads { .. }
            | Rule::Late { .. }
            | Rule::Park { .. }
            | Rule::Pass => self.forward(request).await,
        }
    }

    /// Waits until there is another rule, unless this is one of the first so many.
    async fn park(&self, after: usize, mut rules: watch::Receiver<usize>) {
        if self.parked.fetch_add(1, Ordering::SeqCst) >= after {
            self.reached.notify_one();
            let _ = rules.changed().await;
        }
    }

    async fn forward(&self, request: Request<Incoming>) -> Response<Body> {
        match whole(request).await {
            Some(request) => self.pass(request).await,
            None => api_error(400, "cut off"),
        }
    }

    async fn pass(&self, request: Request<Body>) -> Response<Body> {
        self.client.send(request).await.unwrap_or_else(|_| api_error(502, "no answer"))
    }
}

/// A request with all of its body.
async fn whole(request: Request<Incoming>) -> Option<Request<Body>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.ok()?.to_bytes().to_vec();
    Some(Request::from_parts(parts, Body::from(body)))
}

fn api_error(code: u16, message: &str) -> Response<Body> {
    let status = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","details":{{"retryAfterSeconds":1}},"code":{code}}}"#
    );
    let answer = Response::builder().status(code).header("content-type", "application/json").header("retry-after", "1");
    answer.body(Body::from(status.into_bytes())).unwrap()
}
