//! An API server, a replica of the data plane, and rules for it, as the switch would have written them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use reeve_crds::ScalingRule;
use reeve_proxy_resolver::report::{RULE_LABEL, SERVICE_LABEL};
use reeve_tests::Cluster;
use serde_json::json;
use tokio::process::{Child, Command};

/// Ticks of `/proc/<pid>/stat` in a second, everywhere that Linux runs today.
const TICKS: u64 = 100;

/// Every replica has the ports of all rules, those of another place too.
static NEXT_PORT: AtomicU16 = AtomicU16::new(22_000);

pub(crate) struct Place {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    replica: Child,
}

impl Place {
    pub(crate) async fn start() -> Self {
        let cluster = Cluster::shared().await;
        let namespace = cluster.namespace("resolver-bench").await;
        cluster.crds().await;
        let replica = Command::new(env!("CARGO_BIN_EXE_reeve-resolver"))
            .args(["data-plane", "--replica=bench", "--admin-address=none", "--listen-address=127.0.0.1"])
            .args(["--max-connections=12000", "--log=warn"])
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .arg(format!("--lease-namespace={namespace}"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("a replica");
        Self { cluster, namespace, replica }
    }

    /// A rule in this mode, and its pod. Returns the port that stands for it.
    pub(crate) async fn add_rule(&self, name: &str, mode: &str, pod: Option<SocketAddr>) -> u16 {
        let port = NEXT_PORT.fetch_add(1, Ordering::Relaxed);
        let rules: Api<ScalingRule> = Api::namespaced(self.cluster.client(), &self.namespace);
        let rule = json!({
            "apiVersion": "reeve.dev/v1alpha1",
            "kind": "ScalingRule",
            "metadata": { "name": name },
            "spec": { "services": [{ "name": name }], "hold": { "timeout": "10m" } },
        });
        let rule = serde_json::from_value(rule).expect("a rule");
        rules.create(&PostParams::default(), &rule).await.expect("created");
        let ports = json!([{ "service": name, "port": 80, "name": "http", "resolverPort": port }]);
        let status = json!({ "status": { "mode": mode, "ports": ports } });
        rules.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.expect("written");
        if let Some(pod) = pod {
            self.set_ready(name, pod).await;
        }
        port
    }

    pub(crate) async fn set_ready(&self, name: &str, pod: SocketAddr) {
        let slices: Api<EndpointSlice> = Api::namespaced(self.cluster.client(), &self.namespace);
        let slice = json!({
            "metadata": { "name": format!("{name}-1"), "labels": { RULE_LABEL: name, SERVICE_LABEL: name } },
            "addressType": "IPv4",
            "ports": [{ "name": "http", "port": pod.port() }],
            "endpoints": [{ "addresses": [pod.ip().to_string()] }],
        });
        let slice = serde_json::from_value(slice).expect("a slice");
        slices.create(&PostParams::default(), &slice).await.expect("created");
    }

    /// What the replica has used of processors.
    pub(crate) fn cpu(&self) -> Duration {
        cpu_of(&self.replica)
    }

    /// What the replica has in memory, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = read(&self.replica, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

/// What a process has used of processors.
pub(crate) fn cpu_of(process: &Child) -> Duration {
    let stat = read(process, "stat");
    let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 2..].split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|field: &usize| fields[*field].parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

fn read(process: &Child, file: &str) -> String {
    let pid = process.id().expect("it runs");
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it runs")
}

/// Where a port of the replica is.
pub(crate) fn socket_of(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// A free port at an address of this machine that may stand in a slice. Nothing is sent.
pub(crate) fn own_socket() -> SocketAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.connect("192.0.2.1:9").expect("a route");
    let listener = std::net::TcpListener::bind((socket.local_addr().expect("an address").ip(), 0)).expect("a port");
    listener.local_addr().expect("an address")
}
