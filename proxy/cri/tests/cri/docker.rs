//! The Docker mode before a real dockerd, with containers as cri-dockerd makes them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reeve_tests::assets::{self, Tool};
use reeve_tests::{ContainerRuntime, Docker, Image, Process, eventually};
use serde_json::{Value, json};
use tokio::net::UnixStream;

use crate::hooks::{ALL, tear_down};
use crate::place::{Client, Plugin, listening, start_proxy_as};

struct Place {
    runtime: ContainerRuntime,
    docker: Docker,
    image: Image,
    hooks: PathBuf,
    proxy: Process,
    socket: PathBuf,
}

impl Place {
    async fn start() -> Self {
        let runtime = ContainerRuntime::start().await.unwrap();
        let docker = Docker::start(&runtime).await.unwrap();
        let image = Image::busybox().unwrap();
        docker.load(&runtime, &image).unwrap();
        let supervisor = runtime.supervisor();
        let hooks = supervisor.data().join("hooks");
        let inside = Some(runtime.inside());
        let (proxy, socket) = start_proxy_as(supervisor, "proxy", inside, &docker.socket(), &hooks, "Docker");
        listening(&socket).await;
        Self { runtime, docker, image, hooks, proxy, socket }
    }

    /// What cri-dockerd writes for the container `name` of the pod `web`.
    fn config(&self, kind: &str, name: &str, sandbox: &str) -> Value {
        json!({
            "Image": self.image.name(),
            "Cmd": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
            "Env": ["COLOUR=red"],
            "OpenStdin": true,
            "Labels": {
                "io.kubernetes.docker.type": kind,
                "io.kubernetes.sandbox.id": sandbox,
                "io.kubernetes.container.name": name,
                "io.kubernetes.pod.name": "web",
                "io.kubernetes.pod.namespace": "shop",
                "io.kubernetes.pod.uid": "uid",
                "annotation.note": "kept",
            },
            "HostConfig": {
                "NetworkMode": "none",
                "CpuShares": 512,
                "Memory": 67_108_864,
                "CgroupParent": self.runtime.cgroup(),
            },
        })
    }

    async fn create(&self, kind: &str, name: &str, sandbox: &str) -> (u16, Value) {
        let path = format!("/v1.41/containers/create?name=k8s_{name}_web_shop_uid_1");
        call(&self.socket, "POST", &path, Some(&self.config(kind, name, sandbox))).await
    }

    /// Runs Docker's own client through the proxy.
    fn docker(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command: Command = self.runtime.command(&assets::tool(Tool::Docker).unwrap().to_string_lossy());
        command.arg("--host").arg(format!("unix://{}", self.socket.display())).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Dropping it closes the client's side, which must not close the other.
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    fn shares(&self, id: &str) -> String {
        let below = self.runtime.cgroup().trim_start_matches('/');
        let v1 = Path::new("/sys/fs/cgroup/cpu").join(below).join(id).join("cpu.shares");
        let v2 = Path::new("/sys/fs/cgroup").join(below).join(id).join("cpu.weight");
        let file = if v1.exists() { v1 } else { v2 };
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).trim().to_owned()
    }

    async fn in_force(&self, plugins: &[&str]) {
        let written = serde_json::to_string(&format!("{plugins:?}")).unwrap();
        eventually(&format!("{plugins:?} is in force"), || async {
            let log = std::fs::read_to_string(self.proxy.log()).unwrap_or_default();
            let last = log.lines().rfind(|line| line.contains("hooks are in force")).unwrap_or_default().to_owned();
            if last.contains(&written) { Ok(()) } else { Err(last) }
        })
        .await;
    }
}

/// One call of the Docker API, on a connection of its own.
async fn call(socket: &Path, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    send(socket, method, path, body.map(Value::to_string).unwrap_or_default()).await
}

async fn send(socket: &Path, method: &str, path: &str, body: String) -> (u16, Value) {
    let stream = UnixStream::connect(socket).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut request = Request::builder().method(method).uri(path).header("Host", "docker");
    if !body.is_empty() {
        request = request.header("Content-Type", "application/json");
    }
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let answer = async move {
        let response = sender.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    };
    let (answer, _ended) = tokio::join!(answer, connection);
    answer
}

#[tokio::test]
#[ignore = "needs dockerd and cri-dockerd; make e2e ONLY=cri-docker"]
async fn all_hooks_are_asked_about_containers_of_cri_dockerd() {
    let place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.register(&place.hooks, &ALL, &json!({"failure-policy": "Fail"}));
    place.in_force(&["plugin"]).await;
    plugin.answer(&json!({
        "PreRunPodSandbox": {"echo": true, "response": {"annotations": {"added": "by the plugin"}}},
        "PreCreateContainer": {"echo": true, "response": {"container_envs": {"ADDED": "yes"}, "container_resources": {"cpu_shares": "2048"}}},
        "PreUpdateContainerResources": {"echo": true, "response": {"container_resources": {"cpu_shares": "4096"}}},
    }));
    let id = |(status, answer): (u16, Value)| {
        assert_eq!(status, 201, "{answer}");
        answer["Id"].as_str().unwrap().to_owned()
    };
    let sandbox = id(place.create("podsandbox", "POD", "").await);
    let inspect = async |id: &str| call(&place.socket, "GET", &format!("/v1.41/containers/{id}/json"), None).await.1;
    assert_eq!(inspect(&sandbox).await["Config"]["Labels"]["annotation.added"], "by the plugin");
    assert_eq!(call(&place.socket, "POST", &format!("/v1.41/containers/{sandbox}/start"), None).await.0, 204);
    let container = id(place.create("container", "main", &sandbox).await);
    assert_eq!(call(&place.socket, "POST", &format!("/v1.41/containers/{container}/start"), None).await.0, 204);
    println!("cpu shares 512 -> {} by plugin", place.shares(&container));
    assert_ne!(place.shares(&container), "512");
    let made = inspect(&container).await;
    assert!(made["Config"]["Env"].as_array().unwrap().contains(&json!("ADDED=yes")), "{}", made["Config"]["Env"]);
    assert_eq!(made["HostConfig"]["Memory"], 67_108_864);
    let before = place.shares(&container);
    let update = json!({"Memory": 134_217_728, "MemorySwap": 268_435_456});
    let updated = call(&place.socket, "POST", &format!("/v1.41/containers/{container}/update"), Some(&update)).await;
    assert_eq!(updated.0, 200, "{}", updated.1);
    assert_ne!(place.shares(&container), before);

    what_plugins_cannot_be_shown_does_not_pass(&place, &container).await;
    hijacked_streams_are_whole(&place, &container);

    for path in [format!("{container}/stop?t=1"), format!("{container}/stop?t=1"), format!("{sandbox}/stop?t=1")] {
        let (status, said) = call(&place.socket, "POST", &format!("/v1.41/containers/{path}"), None).await;
        assert!(status == 204 || status == 304, "{path}: {status} {said}");
    }
    for id in [&container, &sandbox] {
        assert_eq!(call(&place.socket, "DELETE", &format!("/containers/{id}?v=1&force=1"), None).await.0, 204);
    }
    let order: Vec<String> = eventually("PostStopPodSandbox is told", || async {
        let order: Vec<String> = plugin.asked().into_iter().map(|(hook, _)| hook).collect();
        if order.iter().any(|hook| hook == "PostStopPodSandbox") { Ok(order) } else { Err(format!("{order:?}")) }
    })
    .await;
    let expected = [
        "PreRunPodSandbox",
        "PreCreateContainer",
        "PreStartContainer",
        "PostStartContainer",
        "PreUpdateContainerResources",
        "PostStopContainer",
        "PostStopPodSandbox",
    ];
    assert_eq!(order, expected);
    let asked = plugin.asked();
    let created = &asked.iter().find(|(hook, _)| hook == "PreCreateContainer").unwrap().1;
    assert_eq!(created["pod_meta"]["namespace"], "shop");
    assert_eq!(created["container_meta"]["name"], "main");
    assert_eq!(created["container_envs"]["COLOUR"], "red");
    assert_eq!(created["pod_annotations"]["added"], "by the plugin");
}

/// dockerd reads the first value of a body and no further; what cannot be shown to a plugin with policy Fail must not reach it.
async fn what_plugins_cannot_be_shown_does_not_pass(place: &Place, container: &str) {
    let before = place.shares(container);
    let path = format!("/v1.41/containers/{container}/update");
    let (status, said) = send(&place.socket, "POST", &path, "{\"CpuShares\": 7777} x".to_owned()).await;
    assert_eq!((status, place.shares(container)), (503, before), "{said}");
}

/// Exec with and without input, attach, logs and events as Docker's client has them from dockerd itself.
fn hijacked_streams_are_whole(place: &Place, container: &str) {
    let input: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    let through = place.docker(&["exec", "--interactive", container, "cat"], &input);
    assert!(through.status.success(), "{}", String::from_utf8_lossy(&through.stderr));
    assert_eq!(through.stdout.len(), input.len(), "what follows the half-close comes back");
    assert!(through.stdout == input);
    let failed = place.docker(&["exec", container, "sh", "-c", "echo out; echo err >&2; exit 7"], b"");
    assert_eq!(failed.status.code(), Some(7));
    assert_eq!((failed.stdout.as_slice(), failed.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    let missing = place.docker(&["exec", "nobody", "true"], b"");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("No such container"), "{missing:?}");
    let listed = place.docker(&["ps", "--quiet", "--no-trunc"], b"");
    assert!(String::from_utf8_lossy(&listed.stdout).contains(container), "{listed:?}");
}

#[tokio::test]
#[ignore = "needs dockerd and cri-dockerd; make e2e ONLY=cri-docker"]
async fn what_is_not_of_kubernetes_passes_and_a_refusal_never_reaches_dockerd() {
    let place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.register(&place.hooks, &ALL, &json!({"failure-policy": "Fail"}));
    place.in_force(&["plugin"]).await;
    plugin.answer(&json!({"PreRunPodSandbox": {"code": "PERMISSION_DENIED", "message": "not on this node"}}));
    let (status, said) = place.create("podsandbox", "POD", "").await;
    assert_eq!((status, &said["message"]), (403, &json!("plugin plugin refuses PreRunPodSandbox: not on this node")));
    plugin.process.kill().unwrap();
    let (status, said) = place.create("container", "main", "none").await;
    assert_eq!(status, 503, "{said}");
    let all = call(&place.socket, "GET", "/containers/json?all=1", None).await.1;
    assert_eq!(all, json!([]), "nothing was made");

    let mut plain = place.config("container", "main", "");
    plain["Labels"] = json!({"app": "web"});
    let (status, made) = call(&place.socket, "POST", "/containers/create", Some(&plain)).await;
    assert_eq!(status, 201, "{made}");
    for (method, path) in
        [("GET", "/_ping"), ("GET", "/v1.24/version"), ("GET", "/v1.41/containers/nobody/json"), ("POST", "/v9.99/x")]
    {
        let through = call(&place.socket, method, path, None).await;
        assert_eq!(through.0, call(&place.docker.socket(), method, path, None).await.0, "{method} {path}");
    }
    let nonsense = call(&place.docker.socket(), "POST", "/containers/create", Some(&json!([1]))).await;
    assert_eq!(call(&place.socket, "POST", "/containers/create", Some(&json!([1]))).await, nonsense);
}

#[tokio::test]
#[ignore = "needs dockerd and cri-dockerd; make e2e ONLY=cri-docker"]
async fn a_pod_of_cri_dockerd_lives_and_ends_with_its_hooks() {
    let place = Place::start().await;
    let (_cri, cri) = Docker::start_cri(&place.runtime, &place.socket).await.unwrap();
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.register(&place.hooks, &ALL, &json!({"failure-policy": "Fail"}));
    place.in_force(&["plugin"]).await;
    // cri-dockerd asks for -998, which a machine without CAP_SYS_RESOURCE refuses.
    plugin.answer(&json!({
        "PreRunPodSandbox": {"echo": true, "response": {"annotations": {"added": "by the plugin"}, "resources": {"oom_score_adj": "1"}}},
        "PreCreateContainer": {"echo": true, "response": {"container_resources": {"cpu_shares": "2048"}}},
    }));
    let mut client = Client::dial(&cri);
    let sandbox = json!({
        "metadata": {"name": "web", "uid": "uid", "namespace": "shop", "attempt": 2},
        "labels": {"app": "web", "io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "uid"},
        "annotations": {"note": "of the pod"},
        "linux": {"cgroup_parent": place.runtime.cgroup(), "security_context": {"namespace_options": {"network": "NODE"}}},
    });
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let status = client.call("PodSandboxStatus", &json!({"pod_sandbox_id": pod}));
    assert_eq!(status.response["status"]["annotations"]["added"], "by the plugin");
    let request = json!({
        "pod_sandbox_id": pod,
        "sandbox_config": sandbox,
        "config": {
            "metadata": {"name": "main"},
            "image": {"image": place.image.name()},
            "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
            "envs": [{"key": "COLOUR", "value": "red"}],
            "labels": {"io.kubernetes.container.name": "main", "io.kubernetes.pod.name": "web",
                "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "uid"},
            "linux": {"resources": {"cpu_shares": "512", "memory_limit_in_bytes": "67108864"}},
        },
    });
    let container = client.call("CreateContainer", &request).field("container_id");
    let started = client.call("StartContainer", &json!({"container_id": container}));
    assert_eq!(started.code, "OK", "{}", started.message);
    println!("cpu shares 512 -> {} by plugin, through cri-dockerd", place.shares(&container));
    assert_ne!(place.shares(&container), "512");
    let said = client.call("ExecSync", &json!({"container_id": container, "cmd": ["sh", "-c", "echo -n $COLOUR"]}));
    assert_eq!(said.field("stdout"), "cmVk", "red");
    let update = json!({"container_id": container, "linux": {"memory_limit_in_bytes": "134217728"}});
    assert_eq!(client.call("UpdateContainerResources", &update).code, "OK");
    tear_down(&mut client, &pod, &container);
    let hooks: BTreeSet<String> = eventually("every hook is told", || async {
        let hooks: BTreeSet<String> = plugin.asked().into_iter().map(|(hook, _)| hook).collect();
        if hooks.len() == ALL.len() { Ok(hooks) } else { Err(format!("{hooks:?}")) }
    })
    .await;
    println!("hooks={}", hooks.len());
    let asked = plugin.asked();
    let told = |hook: &str| asked.iter().filter(|(told, _)| told == hook).count();
    assert_eq!((told("PostStopContainer"), told("PostStopPodSandbox")), (1, 1), "once each");
    let first = &asked.iter().find(|(hook, _)| hook == "PreRunPodSandbox").unwrap().1;
    assert_eq!((&first["pod_meta"]["name"], &first["labels"]["app"]), (&json!("web"), &json!("web")));
    assert_eq!(first["annotations"]["note"], "of the pod");
}
