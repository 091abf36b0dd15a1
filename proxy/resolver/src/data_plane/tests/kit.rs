//! A rule with one port, pods that are servers on loopback, and clients.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::data_plane::plane::{Bounds, Plane};
use crate::data_plane::rule::Rule;
use crate::data_plane::secrets::{SecretKey, Use};
use crate::data_plane::table::{LaneTable, PodState, RuleTable};
use crate::data_plane::{table, tests};
use crate::report::{RuleKey, RuleReport};

pub(super) type Body = BoxBody<Bytes, Infallible>;
type Answer = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
pub(super) type Handler = Arc<dyn Fn(Request<Incoming>) -> Answer + Send + Sync>;

pub(super) fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed()
}

/// A handler of requests, from a closure.
pub(super) fn handler<F>(handle: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Handler
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    Arc::new(move |request| Box::pin(handle(request)))
}

/// Answers with what it got: method, target, headers, and the body.
pub(super) fn echo() -> Handler {
    handler(|request: Request<Incoming>| async {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        let headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let seen = json!({
            "method": parts.method.as_str(),
            "target": parts.uri.to_string(),
            "headers": headers,
            "body": String::from_utf8_lossy(&body),
        });
        Response::new(full(seen.to_string()))
    })
}

/// A server that stands for a pod.
pub(super) struct Pod {
    pub(super) address: SocketAddr,
    pub(super) connections: Arc<AtomicUsize>,
    pub(super) requests: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Copy)]
pub(super) enum Speaks {
    Http1,
    Http2,
}

impl Pod {
    pub(super) async fn start(speaks: Speaks, handle: Handler) -> Self {
        Self::start_at(free_port().await, speaks, handle)
    }

    pub(super) fn start_at(address: SocketAddr, speaks: Speaks, handle: Handler) -> Self {
        let listener = listen(address);
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (of_connections, of_requests) = (Arc::clone(&connections), Arc::clone(&requests));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                of_connections.fetch_add(1, Ordering::SeqCst);
                let (handle, requests) = (Arc::clone(&handle), Arc::clone(&of_requests));
                clients.spawn(serve(stream, speaks, handle, requests));
            }
        });
        Self { address, connections, requests, _tasks: tasks }
    }

    /// A pod that speaks over TLS.
    pub(super) async fn start_tls(config: Arc<ServerConfig>, handle: Handler) -> Self {
        let address = free_port().await;
        let listener = listen(address);
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (of_connections, of_requests) = (Arc::clone(&connections), Arc::clone(&requests));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                of_connections.fetch_add(1, Ordering::SeqCst);
                let (handle, requests) = (Arc::clone(&handle), Arc::clone(&of_requests));
                let accept = TlsAcceptor::from(Arc::clone(&config)).accept(stream);
                clients.spawn(async move {
                    let Ok(stream) = accept.await else { return };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    serve(stream, if is_http2 { Speaks::Http2 } else { Speaks::Http1 }, handle, requests).await;
                });
            }
        });
        Self { address, connections, requests, _tasks: tasks }
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve<S>(stream: S, speaks: Speaks, handle: Handler, requests: Arc<AtomicUsize>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request| {
        requests.fetch_add(1, Ordering::SeqCst);
        let answer = handle(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let io = TokioIo::new(stream);
    let _ = match speaks {
        Speaks::Http1 => hyper::server::conn::http1::Builder::new().serve_connection(io, service).with_upgrades().await,
        Speaks::Http2 => {
            hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
        }
    };
}

fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an option");
    socket.bind(address).expect("a free port");
    socket.listen(1024).expect("a listener")
}

/// A port that nobody has now.
pub(super) async fn free_port() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a listener");
    listener.local_addr().expect("an address")
}

/// A rule with one port.
pub(super) struct Shop {
    pub(super) plane: Plane,
    pub(super) port: u16,
    rule: Value,
    pods: Vec<(SocketAddr, PodState)>,
    key: RuleKey,
}

impl Shop {
    /// A rule in this mode with these fields in its spec, and pods that are ready.
    pub(super) async fn open(mode: &str, spec: Value, pods: &[&Pod]) -> Self {
        let bounds = Bounds { address: IpAddr::V4(Ipv4Addr::LOCALHOST), ..Bounds::default() };
        Self::open_within(bounds, mode, spec, pods).await
    }

    pub(super) async fn open_within(bounds: Bounds, mode: &str, mut spec: Value, pods: &[&Pod]) -> Self {
        let port = free_port().await.port();
        spec["services"] = json!([{ "name": "shop" }]);
        let rule = json!({
            "apiVersion": "reeve.dev/v1alpha1",
            "kind": "ScalingRule",
            "metadata": { "name": "shop", "namespace": "web" },
            "spec": spec,
            "status": {
                "mode": mode,
                "target": { "kind": "Deployment", "name": "shop" },
                "ports": [{ "service": "shop", "port": 80, "resolverPort": port }],
            },
        });
        let pods = pods.iter().map(|pod| (pod.address, PodState::Ready)).collect();
        let shop = Self { plane: Plane::new(bounds), port, rule, pods, key: RuleKey::new("web", "shop") };
        shop.publish();
        tests::kit::eventually("the port is open", || TcpStream::connect((Ipv4Addr::LOCALHOST, port))).await;
        shop
    }

    pub(super) fn mode(&mut self, mode: &str) {
        self.rule["status"]["mode"] = json!(mode);
        self.publish();
    }

    pub(super) fn speaks(&mut self, app_protocol: &str) {
        self.rule["status"]["ports"][0]["appProtocol"] = json!(app_protocol);
        self.publish();
    }

    pub(super) fn spec(&mut self, field: &str, value: Value) {
        self.rule["spec"][field] = value;
        self.publish();
    }

    pub(super) fn pods(&mut self, pods: &[(SocketAddr, PodState)]) {
        self.pods = pods.to_vec();
        self.publish();
    }

    fn publish(&self) {
        let rule = serde_json::from_value(self.rule.clone()).expect("a rule");
        let table = table::compile(&rule, &[]);
        let raw = table.lanes[&self.port].raw;
        let speaks = table.lanes[&self.port].speaks.clone();
        let pods = self.pods.iter().copied().collect();
        let lane = LaneTable { service: "shop".to_owned(), port: 80, raw, speaks, pods };
        let table = RuleTable { lanes: [(self.port, lane)].into(), ..table };
        self.plane.set(&self.key, Some(table));
    }

    /// A Secret of the rule's namespace is this from now on.
    pub(super) fn secret(&self, name: &str, wanted: Use, fields: &[(&str, &str)]) {
        let key = SecretKey { namespace: "web".to_owned(), name: name.to_owned() };
        let data = fields.iter().map(|(name, text)| ((*name).to_owned(), ByteString(text.as_bytes().to_vec())));
        let secret = Secret { data: Some(data.collect()), ..Secret::default() };
        self.plane.secrets().set(&key, wanted, Some(&secret));
    }

    pub(super) fn rule(&self) -> Arc<Rule> {
        self.plane.rules().pop().expect("a rule")
    }

    pub(super) fn report(&self) -> RuleReport {
        self.rule().report()
    }

    pub(super) async fn held(&self, count: u32) {
        eventually("so many wait", || async move {
            let held = self.report().held;
            if held == count { Ok(()) } else { Err(format!("{held} instead of {count}")) }
        })
        .await;
    }

    pub(super) async fn in_flight(&self, count: u32) {
        eventually("so many are in flight", || async move {
            let found = self.report().in_flight;
            if found == count { Ok(()) } else { Err(format!("{found} instead of {count}")) }
        })
        .await;
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.expect("a connection")
    }

    pub(super) async fn http1(&self) -> Http1Client {
        let stream = self.connect().await;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.with_upgrades().await) });
        Http1Client { sender, _tasks: tasks }
    }

    pub(super) async fn http2(&self) -> Http2Client {
        let stream = self.connect().await;
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = handshake.expect("a handshake");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        Http2Client { sender, _tasks: tasks }
    }

    /// A request on a connection of its own.
    pub(super) async fn send(&self, request: Request<Body>) -> Response<Incoming> {
        let mut client = self.http1().await;
        let response = client.sender.send_request(request).await.expect("a response");
        // The connection must live as long as the body is read.
        let (mut parts, body) = response.into_parts();
        parts.extensions.insert(Arc::new(client));
        Response::from_parts(parts, body)
    }

    pub(super) async fn get(&self, path: &str) -> (http::response::Parts, String) {
        read(self.send(get(path)).await).await
    }
}

#[derive(Debug)]
pub(super) struct Http1Client {
    pub(super) sender: http1::SendRequest<Body>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct Http2Client {
    pub(super) sender: http2::SendRequest<Body>,
    _tasks: JoinSet<()>,
}

pub(super) fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "shop").body(full("")).expect("a request")
}

pub(super) fn post(path: &str, body: Body) -> Request<Body> {
    Request::post(path).header("host", "shop").body(body).expect("a request")
}

pub(super) async fn read(response: Response<Incoming>) -> (http::response::Parts, String) {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    (parts, String::from_utf8_lossy(&body).into_owned())
}

/// As the harness's own, for futures that fail with anything.
pub(super) async fn eventually<T, E, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let mut last = String::new();
    for _ in 0..10_000 {
        match probe().await {
            Ok(found) => return found,
            Err(error) => last = error.to_string(),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("{what}: never; last seen: {last}")
}
