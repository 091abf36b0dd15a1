//! A replica of the data plane as a process: what it reads, writes and reports.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use reeve_crds::ScalingRule;
use reeve_proxy_resolver::args::LEASE;
use reeve_proxy_resolver::report::{RULE_LABEL, ReplicaReport, RuleReport, SERVICE_LABEL};
use reeve_tests::{Cluster, Process, Server, Supervisor, eventually, until};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A rule, its Deployment at zero, a replica, and somebody who takes its reports.
struct Shop {
    cluster: &'static Cluster,
    namespace: String,
    place: IpAddr,
    port: u16,
    reports: Arc<Mutex<Option<ReplicaReport>>>,
    replica: Process,
    _supervisor: Supervisor,
    _tasks: JoinSet<()>,
}

impl Shop {
    async fn open(name: &str, spec: Value) -> Self {
        let cluster = Cluster::shared().await;
        let namespace = cluster.namespace(name).await;
        cluster.crds().await;
        let (reports, mut tasks) = (Arc::<Mutex<Option<ReplicaReport>>>::default(), JoinSet::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let leader = listener.local_addr().unwrap();
        let into = Arc::clone(&reports);
        tasks.spawn(serve(listener, move |request| take_report(request, Arc::clone(&into))));

        let supervisor = Supervisor::start(name).unwrap();
        // A replica has every rule's ports, those of other tests too: each test has an address of its own for them.
        let place = IpAddr::from([127, 9, (std::process::id() % 200) as u8, number()]);
        let shop_port = free_port(place).await;
        let kubeconfig = cluster.kubeconfig().display().to_string();
        let server = Server::new(name, env!("CARGO_BIN_EXE_reeve-resolver")).args([
            "data-plane".to_owned(),
            format!("--replica={name}"),
            format!("--kubeconfig={kubeconfig}"),
            format!("--lease-namespace={namespace}"),
            format!("--pod-address={}", own_address()),
            format!("--listen-address={place}"),
            "--admin-address=none".to_owned(),
        ]);
        let replica = supervisor.spawn(server).unwrap();
        let shop = Self {
            cluster,
            namespace,
            place,
            port: shop_port,
            reports,
            replica,
            _supervisor: supervisor,
            _tasks: tasks,
        };
        shop.create_objects(leader, spec).await;
        shop
    }

    async fn create_objects(&self, leader: SocketAddr, mut spec: Value) {
        self.create::<k8s_openapi::api::coordination::v1::Lease>(json!({
            "metadata": { "name": LEASE, "annotations": { "reeve.dev/address": leader.to_string() } },
            "spec": { "holderIdentity": "a-switch" },
        }))
        .await;
        self.create::<Deployment>(json!({
            "metadata": { "name": "shop" },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": "shop" } },
                "template": {
                    "metadata": { "labels": { "app": "shop" } },
                    "spec": { "containers": [{ "name": "shop", "image": "shop" }] },
                },
            },
        }))
        .await;
        spec["services"] = json!([{ "name": "shop" }]);
        self.create::<ScalingRule>(json!({
            "apiVersion": "reeve.dev/v1alpha1",
            "kind": "ScalingRule",
            "metadata": { "name": "shop" },
            "spec": spec,
        }))
        .await;
        self.set_mode("Asleep").await;
    }

    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
        K::DynamicType: Default,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api::<K>().create(&PostParams::default(), &object).await.unwrap();
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.cluster.client(), &self.namespace)
    }

    /// As the switch would write it.
    async fn set_mode(&self, mode: &str) {
        let status = json!({ "status": {
            "mode": mode,
            "modeChanges": 7,
            "target": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "shop" },
            "ports": [{ "service": "shop", "port": 80, "name": "http", "resolverPort": self.port }],
        } });
        let patch = Patch::Merge(&status);
        self.api::<ScalingRule>().patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    /// As the controller of slices would write it for the shadow Service.
    async fn set_ready(&self, pod: SocketAddr) {
        self.create::<k8s_openapi::api::discovery::v1::EndpointSlice>(json!({
            "metadata": {
                "name": "shop-shadow-1",
                "labels": { RULE_LABEL: "shop", SERVICE_LABEL: "shop", "kubernetes.io/service-name": "shop-shadow" },
            },
            "addressType": "IPv4",
            "ports": [{ "name": "http", "port": pod.port() }],
            "endpoints": [{ "addresses": [pod.ip().to_string()], "conditions": { "ready": true } }],
        }))
        .await;
    }

    /// Waits for a report of which this is true.
    async fn reported(&self, what: &str, is_met: impl Fn(&ReplicaReport, &RuleReport) -> bool) -> ReplicaReport {
        eventually(what, || async {
            let report = self.reports.lock().unwrap().clone();
            let rule = report
                .as_ref()
                .and_then(|report| report.rules.iter().find(|rule| rule.rule.namespace == self.namespace).cloned());
            match (report, rule) {
                (Some(report), Some(rule)) if is_met(&report, &rule) => Ok(report),
                (report, _) => Err(format!("{report:?}")),
            }
        })
        .await
    }

    async fn get(&self) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
        get(SocketAddr::new(self.place, self.port)).await
    }
}

async fn get(address: SocketAddr) -> Result<(StatusCode, String), Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    let request = Request::get("/orders").header("host", "shop").body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

async fn take_report(request: Request<Incoming>, into: Arc<Mutex<Option<ReplicaReport>>>) -> Response<Full<Bytes>> {
    assert!(request.uri().path().starts_with("/v1/replicas/"), "{}", request.uri());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    *into.lock().unwrap() = Some(serde_json::from_slice(&body).unwrap());
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

async fn serve<F>(listener: TcpListener, handle: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static)
where
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let mut clients = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let handle = handle.clone();
        clients.spawn(async move {
            let service = service_fn(move |request| {
                let answer = handle(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            drop(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

/// An address of this machine that may stand in a slice: not loopback. Nothing is sent.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").unwrap();
    socket.local_addr().unwrap().ip()
}

/// Another one each time.
fn number() -> u8 {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Below those that outgoing connections take.
async fn free_port(place: IpAddr) -> u16 {
    let first = 21_000 + std::process::id() * 7 + u32::from(number()) * 100;
    for offset in 0..2000 {
        let port = u16::try_from(21_000 + (first + offset * 13) % 9000).unwrap();
        if TcpListener::bind((place, port)).await.is_ok() {
            return port;
        }
    }
    panic!("no free port");
}

#[tokio::test]
async fn a_replica_wakes_a_target_that_sleeps_and_tells_the_switch() {
    let shop = Shop::open("data-plane-wake", json!({ "replicas": { "wake": 2 } })).await;
    let report = shop.reported("the port is bound", |report, rule| {
        rule.holding
            && rule.mode_changes == 7
            && report.listeners.iter().any(|listener| listener.port == shop.port && listener.bound)
    });
    let report = report.await;
    assert_eq!((report.addresses, report.draining), (vec![own_address()], false));

    let pod = TcpListener::bind((own_address(), 0)).await.unwrap();
    let address = pod.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(pod, |_| async { Response::new(Full::from("from the pod")) }));
    let (answered, ()) = tokio::join!(shop.get(), async {
        shop.reported("the request waits", |_, rule| rule.held == 1).await;
        let deployments = shop.api::<Deployment>();
        let deployment = until(&deployments, "shop", "it is woken", |deployment| {
            deployment.spec.as_ref().and_then(|spec| spec.replicas) == Some(2)
        });
        let deployment = deployment.await;
        let managers: Vec<_> = deployment.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect();
        assert!(managers.contains(&"reeve-resolver-wake".to_owned()), "{managers:?}");
        shop.set_ready(address).await;
    });
    assert_eq!(answered.unwrap(), (StatusCode::OK, "from the pod".to_owned()));
    let report = shop.reported("the wake is over", |_, rule| {
        rule.requests_total == 1 && rule.wake.as_ref().is_some_and(|wake| wake.first_byte_ms.is_some())
    });
    let report = report.await;
    let rule = report.rules.into_iter().find(|rule| rule.rule.namespace == shop.namespace).unwrap();
    let wake = rule.wake.unwrap();
    assert_eq!((wake.cause.as_str(), wake.replicas, wake.held, rule.held), ("GET /orders", 2, Some(1), 0));
    assert!(wake.scaled_ms <= wake.ready_ms && wake.ready_ms <= wake.first_byte_ms, "{wake:?}");

    shop.replica.terminate().unwrap();
    shop.reported("it drains", |report, _| report.draining).await;
}

#[tokio::test]
async fn a_certificate_comes_from_its_secret_and_a_new_one_counts_without_a_restart() {
    let ports = json!({ "ports": [{ "port": 80, "tls": { "secretName": "shop-tls" } }] });
    let shop = Shop::open("data-plane-tls", ports).await;
    let listener = |report: &ReplicaReport| report.listeners.iter().find(|one| one.port == shop.port).cloned();
    let report = shop.reported("there is no Secret", |report, _| {
        listener(report).is_some_and(|one| one.problem.is_some_and(|why| why == "Secret shop-tls: it is not there"))
    });
    assert!(!listener(&report.await).unwrap().bound, "no traffic is led here");
    let secrets = shop.api::<Secret>();
    let mut last = None;
    for _ in 0..2 {
        let made = rcgen::generate_simple_self_signed(["shop".to_owned()]).unwrap();
        let data = json!({ "tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem() });
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shop-tls" }, "stringData": data,
        });
        let params = PatchParams::apply("somebody").force();
        secrets.patch("shop-tls", &params, &Patch::Apply(&object)).await.unwrap();
        let presented = eventually("the certificate of the Secret is presented", || async {
            match presented(SocketAddr::new(shop.place, shop.port)).await {
                Ok(found) if found == made.cert.der().as_ref() => Ok(found),
                other => Err(format!("{:?}", other.map(|found| found.len()))),
            }
        });
        let shown = presented.await;
        assert_ne!(last.replace(shown.clone()), Some(shown));
    }
    shop.reported("the port can be served", |report, _| listener(report).is_some_and(|one| one.bound)).await;
}

/// The certificate that a port shows.
async fn presented(address: SocketAddr) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody)).with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect("shop".try_into()?, TcpStream::connect(address).await?).await?;
    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).ok_or("no certificate")?;
    Ok(shown.to_vec())
}

/// Trusts everybody: what is shown is compared.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[tokio::test]
async fn a_pushed_change_of_a_rule_counts_without_a_restart() {
    let shop = Shop::open("data-plane-live", json!({ "hold": { "timeout": "5m" } })).await;
    shop.reported("the rule is known", |report, rule| {
        rule.holding && report.listeners.iter().any(|listener| listener.port == shop.port && listener.bound)
    })
    .await;
    let patch = json!({ "spec": { "traffic": { "inside": "Refuse", "outside": "Refuse" } } });
    shop.api::<ScalingRule>().patch("shop", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let refused = eventually("the change counts", || async {
        match tokio::time::timeout(std::time::Duration::from_secs(1), shop.get()).await {
            Ok(Ok((status, body))) => Ok((status, body)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it waits".to_owned()),
        }
    });
    assert_eq!(refused.await.0, StatusCode::SERVICE_UNAVAILABLE);
    shop.set_mode("Draining").await;
    shop.reported("it holds", |_, rule| {
        rule.holding && rule.mode == Some(reeve_crds::scaling_rule::status::TrafficMode::Draining)
    })
    .await;
    let rules = shop.api::<ScalingRule>();
    rules.delete("shop", &kube::api::DeleteParams::default()).await.unwrap();
    eventually("the port is closed", || async {
        match TcpStream::connect((shop.place, shop.port)).await {
            Ok(_) => Err("open"),
            Err(_) => Ok(()),
        }
    })
    .await;
}
