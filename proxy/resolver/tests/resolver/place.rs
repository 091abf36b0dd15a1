//! A node with a resolver on it: one switch, two replicas of the data plane, and an image for applications.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};

use futures::{Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::TrafficMode;
use reeve_tests::assets::{self, Peer};
use reeve_tests::{Image, Node, Process, Server, eventually, until};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// Addresses of replicas, on the node's own network.
const ADDRESSES: [&str; 2] = ["192.0.2.11", "192.0.2.12"];
const SWITCH: &str = "192.0.2.10";
/// Port of a Service where bytes are echoed.
const BYTES: u16 = 81;

pub(crate) struct Place {
    pub(crate) node: Node,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) image: Image,
    report_ports: AtomicU16,
}

/// One node for all tests of this binary; it ends with the process.
pub(crate) async fn shared() -> &'static Place {
    static SHARED: OnceCell<(Place, Vec<Process>)> = OnceCell::const_new();
    let (place, _) = SHARED
        .get_or_init(|| async {
            let place = Place::start().await;
            let mut processes = vec![place.switch("switch-0")];
            processes.extend((0..ADDRESSES.len()).map(|number| place.replica(number, 0)));
            (place, processes)
        })
        .await;
    place
}

impl Place {
    pub(crate) async fn start() -> Self {
        let node = Node::start().await.unwrap();
        let image = Image::from_binary("reeve.local/web:tests", &assets::peer(Peer::Web).unwrap()).unwrap();
        node.load(&image).unwrap();
        node.crds().await;
        node.keda_crds().await;
        node.istio_crds().await;
        for address in ADDRESSES.iter().chain([&SWITCH]) {
            let added = node.command("ip").args(["address", "add", &format!("{address}/24"), "dev", "out0"]).status();
            assert!(added.unwrap().success());
        }
        let admin: Value = serde_json::from_slice(&std::fs::read(node.kubeconfig()).unwrap()).unwrap();
        let mut inside = admin;
        inside["clusters"][0]["cluster"]["server"] = json!("https://192.0.2.1:6443");
        let kubeconfig = node.supervisor().data().join("resolver.kubeconfig");
        std::fs::write(&kubeconfig, inside.to_string()).unwrap();
        Self { node, kubeconfig, image, report_ports: AtomicU16::new(9500) }
    }

    fn spawn(&self, name: &str, part: &[String], address: &str) -> Process {
        let server = Server::new(name, env!("CARGO_BIN_EXE_reeve-resolver"))
            .args(part.iter().cloned())
            .args([format!("--kubeconfig={}", self.kubeconfig.display())])
            .args(["--lease-namespace=default", "--admin-address=none", "--log=debug", "--log-format=human"])
            .args([format!("--pod-address={address}")])
            .inside(Some(self.node.inside()));
        self.node.supervisor().spawn(server).unwrap()
    }

    pub(crate) fn switch(&self, name: &str) -> Process {
        let port = self.report_ports.fetch_add(1, Ordering::Relaxed);
        self.spawn(name, &["switch".to_owned(), format!("--report-address={SWITCH}:{port}")], SWITCH)
    }

    /// `life` tells one process of a replica from the next.
    pub(crate) fn replica(&self, number: usize, life: usize) -> Process {
        let address = ADDRESSES[number];
        let part = [
            "data-plane".to_owned(),
            format!("--replica=replica-{number}"),
            format!("--listen-address={address}"),
            // In service until a new leader of the switch has had time to take it out of the slices.
            "--drain-delay=20s".to_owned(),
            "--shutdown-deadline=60s".to_owned(),
        ];
        self.spawn(&format!("replica-{number}-{life}"), &part, address)
    }

    pub(crate) fn client(&self) -> Client {
        self.node.client()
    }
}

/// An application with a Service and a rule, in a namespace of its own.
pub(crate) struct App {
    pub(crate) place: &'static Place,
    pub(crate) namespace: String,
    /// Leads to the Service.
    pub(crate) address: SocketAddr,
    cluster_ip: IpAddr,
    replicas: i32,
    slow_start: u32,
}

impl App {
    /// One that somebody else makes, with its Service.
    pub(crate) async fn found(place: &'static Place, namespace: &str) -> Self {
        let services: Api<Service> = Api::namespaced(place.client(), namespace);
        let service = until(&services, "web", "it is there", |_| true).await;
        let cluster_ip = service.spec.unwrap().cluster_ip.unwrap().parse().unwrap();
        let address = place.node.reach(SocketAddr::new(cluster_ip, 80)).unwrap();
        Self { place, namespace: namespace.to_owned(), address, cluster_ip, replicas: 1, slow_start: 0 }
    }

    /// The rule is in force before there are pods.
    pub(crate) async fn new(place: &'static Place, prefix: &str, spec: Value) -> Self {
        Self::slow(place, prefix, spec, 1, 0).await
    }

    pub(crate) async fn slow(place: &'static Place, prefix: &str, spec: Value, replicas: i32, slow_start: u32) -> Self {
        let app = Self::ruled(place, prefix, spec, replicas, slow_start).await;
        app.reaches(TrafficMode::Waking).await;
        app.capture_is_past().await;
        app.deploy().await;
        app
    }

    /// A rule that stays out of the path.
    pub(crate) async fn observed(place: &'static Place, prefix: &str, spec: Value) -> Self {
        let app = Self::ruled(place, prefix, spec, 1, 0).await;
        app.deploy().await;
        app
    }

    /// A Service and its rule, without pods.
    pub(crate) async fn ruled(
        place: &'static Place,
        prefix: &str,
        mut spec: Value,
        replicas: i32,
        slow_start: u32,
    ) -> Self {
        let namespace = place.node.namespace(prefix).await;
        let service: Service = serde_json::from_value(json!({
            "metadata": { "name": "web" },
            "spec": { "selector": { "app": "web" }, "ports": [
                { "name": "http", "port": 80, "targetPort": 8080 },
                { "name": "bytes", "port": BYTES, "targetPort": 9000, "appProtocol": "tcp" },
            ] },
        }))
        .unwrap();
        let services: Api<Service> = Api::namespaced(place.client(), &namespace);
        let service = services.create(&PostParams::default(), &service).await.unwrap();
        let cluster_ip = service.spec.unwrap().cluster_ip.unwrap().parse().unwrap();
        let address = place.node.reach(SocketAddr::new(cluster_ip, 80)).unwrap();
        spec["services"] = json!([{ "name": "web" }]);
        if spec.get("scaleTarget").is_none() {
            spec["scaleTarget"] = json!({ "name": "web" });
        }
        let rule = ScalingRule::new("web", serde_json::from_value(spec).unwrap());
        let rules: Api<ScalingRule> = Api::namespaced(place.client(), &namespace);
        rules.create(&PostParams::default(), &rule).await.unwrap();
        Self { place, namespace, address, cluster_ip, replicas, slow_start }
    }

    /// A pod's creation time has whole seconds: only in a later one is it known to be younger than the capture.
    pub(crate) async fn capture_is_past(&self) {
        let service = self.services().get("web").await.unwrap();
        let captured: Timestamp = service.annotations()["reeve.dev/captured-at"].parse().unwrap();
        eventually("the second of the capture is over", || async {
            if Timestamp::now().as_second() > captured.as_second() { Ok(()) } else { Err("not yet") }
        })
        .await;
    }

    pub(crate) async fn deploy(&self) {
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": { "name": "web" },
            "spec": {
                "replicas": self.replicas,
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{
                            "name": "web",
                            "image": self.place.image.name(),
                            "imagePullPolicy": "Never",
                            "args": [format!("-delay={}s", self.slow_start)],
                            "readinessProbe": { "httpGet": { "path": "/", "port": 8080 }, "periodSeconds": 1 },
                        }],
                    },
                },
            },
        }))
        .unwrap();
        self.deployments().create(&PostParams::default(), &deployment).await.unwrap();
    }

    /// Leads to the port of the Service where bytes are echoed.
    pub(crate) fn bytes(&self) -> SocketAddr {
        self.place.node.reach(SocketAddr::new(self.cluster_ip, BYTES)).unwrap()
    }

    pub(crate) fn rules(&self) -> Api<ScalingRule> {
        Api::namespaced(self.place.client(), &self.namespace)
    }

    pub(crate) fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.place.client(), &self.namespace)
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::namespaced(self.place.client(), &self.namespace)
    }

    pub(crate) async fn reaches(&self, mode: TrafficMode) -> ScalingRule {
        until(&self.rules(), "web", &format!("the mode is {mode:?}"), |rule| mode_of(rule) == Some(mode)).await
    }

    /// The modes that the rule comes to, from the one that it has.
    pub(crate) fn modes(&self) -> impl Stream<Item = TrafficMode> + use<> {
        let config = watcher::Config::default().fields("metadata.name=web");
        let rules = watcher(self.rules(), config).default_backoff().applied_objects();
        rules.filter_map(|rule| async move { mode_of(&rule.ok()?) })
    }

    pub(crate) async fn change_rule(&self, patch: Value) {
        self.rules().patch("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn replicas(&self) -> i32 {
        self.deployments().get("web").await.unwrap().spec.unwrap().replicas.unwrap_or(1)
    }

    pub(crate) async fn scale(&self, replicas: i32) {
        let count = format!("--replicas={replicas}");
        self.place.node.kubectl(&["scale", "deployment/web", &count, "-n", &self.namespace]).await;
    }

    /// New pods are younger than any capture before.
    pub(crate) async fn replace_pods(&self) {
        self.place.node.kubectl(&["delete", "pods", "--all", "-n", &self.namespace]).await;
    }

    pub(crate) async fn pods_are_gone(&self) {
        eventually("the pods are gone", || async {
            let left = self.place.node.kubectl(&["get", "pods", "-n", &self.namespace, "-o", "name"]).await;
            if left.trim().is_empty() { Ok(()) } else { Err(left) }
        })
        .await;
    }
}

pub(crate) fn mode_of(rule: &ScalingRule) -> Option<TrafficMode> {
    rule.status.as_ref()?.mode.as_ref()?.known().copied()
}
