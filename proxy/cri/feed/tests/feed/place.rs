//! A node whose kubelet speaks to the proxy, with a feed beside it.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_tests::{HookPlugin, Image, Node, Process, Server, Supervisor, beside, until};
use serde_json::{Value, json};

pub(crate) const FEED: &str = env!("CARGO_BIN_EXE_reeve-cri-feed");

pub(crate) struct Place {
    pub(crate) node: Node,
    pub(crate) proxy: Process,
    pub(crate) feed: Option<Process>,
    pub(crate) plugin: HookPlugin,
    image: Image,
}

/// Starts the proxy of a node, with its socket at one name whoever serves it.
fn start_proxy(supervisor: &Supervisor, inside: &str, containerd: &std::path::Path) -> (Process, PathBuf) {
    let data = supervisor.data();
    let socket = data.join("cri.sock");
    let server = Server::new("reeve-cri", beside(FEED, "reeve-cri"))
        .args([
            format!("--listen={}", socket.display()),
            format!("--runtime-endpoint={}", containerd.display()),
            format!("--hooks-dir={}", data.join("hooks").display()),
            format!("--hook-set={}", data.join("feed/hooks.json").display()),
            format!("--state-socket={}", data.join("run/state.sock").display()),
        ])
        .args(["--admin-address=none", "--log=info"])
        .inside(Some(inside));
    (supervisor.spawn(server).unwrap(), socket)
}

fn start_feed(node: &Node) -> Process {
    let data = node.supervisor().data();
    let server = Server::new("reeve-cri-feed", FEED).args([
        format!("--node={}", node.name()),
        format!("--hook-set={}", data.join("feed/hooks.json").display()),
        format!("--state-socket={}", data.join("run/state.sock").display()),
        format!("--kubeconfig={}", node.kubeconfig().display()),
        "--lease-namespace=default".to_owned(),
        "--admin-address=none".to_owned(),
    ]);
    node.supervisor().spawn(server).unwrap()
}

impl Place {
    pub(crate) async fn start() -> Self {
        let mut place = Self::without_feed().await;
        place.start_feed();
        place
    }

    pub(crate) async fn without_feed() -> Self {
        let mut proxy = None;
        let node = Node::start_behind(|place| {
            let (process, socket) = start_proxy(place.supervisor, place.inside, &place.containerd);
            proxy = Some(process);
            Ok(socket)
        })
        .await
        .unwrap();
        node.crds().await;
        let image = Image::busybox().unwrap().named("reeve.local/web:tests").file("/www/index.html", "hello\n");
        node.load(&image).unwrap();
        let plugin = HookPlugin::start(node.supervisor(), "plugin").await;
        Self { proxy: proxy.unwrap(), feed: None, plugin, image, node }
    }

    /// Kills the proxy, and starts another in its place.
    pub(crate) fn restart_proxy(&mut self) {
        self.proxy.kill().unwrap();
        let (containerd, inside) = (self.node.containerd_socket(), self.node.inside().to_owned());
        self.proxy = start_proxy(self.node.supervisor(), &inside, &containerd).0;
    }

    pub(crate) fn hook_set(&self) -> PathBuf {
        self.node.supervisor().data().join("feed/hooks.json")
    }

    pub(crate) fn start_feed(&mut self) {
        self.feed = Some(start_feed(&self.node));
    }

    pub(crate) fn kill_feed(&mut self) {
        self.feed.take().unwrap().kill().unwrap();
    }

    /// Runs a pod, and returns the CPU shares of its container as cgroupfs has them.
    pub(crate) async fn shares(&self, name: &str) -> String {
        let pods: Api<Pod> = Api::namespaced(self.node.client(), "default");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "web",
                    "image": self.image.name(),
                    "imagePullPolicy": "Never",
                    "command": ["httpd", "-f", "-p", "8080", "-h", "/www"],
                    "resources": {"requests": {"cpu": "100m"}},
                    "readinessProbe": {"exec": {"command": ["cat", "/www/index.html"]}, "periodSeconds": 1},
                }],
            },
        }))
        .unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        until(&pods, name, "the pod is ready", |pod| {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
            conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
        })
        .await;
        let shares = self.shares_of(name).await;
        pods.delete(name, &DeleteParams::default()).await.unwrap();
        shares
    }

    pub(crate) async fn shares_of(&self, pod: &str) -> String {
        let script = "cat /sys/fs/cgroup/cpu/cpu.shares 2>/dev/null || cat /sys/fs/cgroup/cpu.weight";
        self.node.kubectl(&["exec", pod, "--", "sh", "-c", script]).await.trim().to_owned()
    }

    /// Makes an object, or changes it.
    pub(crate) async fn apply(&self, namespace: Option<&str>, object: Value) {
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let (api_version, kind, name) =
            (text("apiVersion"), text("kind"), object["metadata"]["name"].as_str().unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.node.client(), namespace, &resource),
            None => Api::all_with(self.node.client(), &resource),
        };
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(&object)).await.unwrap();
    }
}
