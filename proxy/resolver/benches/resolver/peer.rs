//! The interceptor of KEDA's add-on for HTTP, before the same pod and the same API server.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::load;
use crate::place::{Place, cpu_of, own_socket, socket_of};

/// Names of Services are looked up: the file of names has the one there is.
const START: &str = r#"mount --bind "$0" /etc/hosts && exec "$1""#;

/// The peer as a process.
pub(crate) struct Interceptor {
    process: Child,
    pub(crate) address: SocketAddr,
    _hosts: tempfile::NamedTempFile,
}

impl Interceptor {
    /// Nothing if it was not built.
    pub(crate) async fn start(place: &Place, pod: SocketAddr) -> Option<Self> {
        let program = std::env::var_os("HTTP_ADD_ON")?;
        place.cluster.http_add_on_crds().await;
        create(place, pod).await;
        let hosts = tempfile::NamedTempFile::new().expect("a file");
        let names = format!("127.0.0.1 localhost\n{} peer.{}\n", pod.ip(), place.namespace);
        std::fs::write(hosts.path(), names).expect("written");
        let address = socket_of(own_socket().port());
        let process = Command::new("unshare")
            .args(["--mount", "sh", "-c", START])
            .arg(hosts.path())
            .arg(program)
            .env("KUBECONFIG", place.cluster.kubeconfig())
            .env("KEDA_HTTP_WATCH_NAMESPACE", &place.namespace)
            .env("KEDA_HTTP_PROXY_PORT", address.port().to_string())
            .env("KEDA_HTTP_ADMIN_PORT", own_socket().port().to_string())
            .env("OTEL_PROM_EXPORTER_PORT", own_socket().port().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the interceptor");
        load::answers(address).await;
        Some(Self { process, address, _hosts: hosts })
    }

    pub(crate) fn cpu(&self) -> Duration {
        cpu_of(&self.process)
    }
}

/// A Service of one pod, and a route to it.
async fn create(place: &Place, pod: SocketAddr) {
    let port = pod.port();
    let service = json!({ "spec": { "ports": [{ "port": port }] } });
    add(place, "v1", "Service", service).await;
    let slice = json!({
        "addressType": "IPv4",
        "ports": [{ "name": "", "port": port }],
        "endpoints": [{ "addresses": [pod.ip().to_string()], "conditions": { "ready": true } }],
    });
    add(place, "discovery.k8s.io/v1", "EndpointSlice", slice).await;
    let route = json!({ "spec": {
        "target": { "service": "peer", "port": port },
        "rules": [{ "hosts": ["shop"] }],
        "scalingMetric": { "concurrency": { "targetValue": 100 } },
    } });
    add(place, "http.keda.sh/v1beta1", "InterceptorRoute", route).await;
}

async fn add(place: &Place, api_version: &str, kind: &str, mut object: Value) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    (object["apiVersion"], object["kind"]) = (json!(api_version), json!(kind));
    object["metadata"] = json!({ "name": "peer", "labels": { "kubernetes.io/service-name": "peer" } });
    let api: Api<DynamicObject> = Api::namespaced_with(place.cluster.client(), &place.namespace, &resource);
    api.create(&PostParams::default(), &serde_json::from_value(object).expect("an object")).await.expect("created");
}
