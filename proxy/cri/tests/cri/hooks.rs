//! Plugins before a real containerd.

use std::path::{Path, PathBuf};

use reeve_tests::{ContainerRuntime, Image, Process, eventually};
use serde_json::{Value, json};

use crate::place::{Client, Plugin, listening, start_proxy};

pub(crate) const ALL: [&str; 7] = [
    "PreRunPodSandbox",
    "PostStopPodSandbox",
    "PreCreateContainer",
    "PreStartContainer",
    "PostStartContainer",
    "PostStopContainer",
    "PreUpdateContainerResources",
];

pub(crate) struct Place {
    pub(crate) runtime: ContainerRuntime,
    image: Image,
    pub(crate) hooks: PathBuf,
    proxy: Process,
    pub(crate) socket: PathBuf,
}

impl Place {
    pub(crate) async fn start() -> Self {
        let runtime = ContainerRuntime::start().await.unwrap();
        let image = Image::busybox().unwrap();
        runtime.load(&image).unwrap();
        let hooks = runtime.supervisor().data().join("hooks");
        let (proxy, socket) =
            start_proxy(runtime.supervisor(), "proxy", Some(runtime.inside()), &runtime.socket(), &hooks);
        listening(&socket).await;
        Self { runtime, image, hooks, proxy, socket }
    }

    async fn restart_proxy(&mut self) {
        self.proxy.kill().unwrap();
        let (runtime, inside) = (self.runtime.socket(), Some(self.runtime.inside()));
        (self.proxy, self.socket) = start_proxy(self.runtime.supervisor(), "again", inside, &runtime, &self.hooks);
        listening(&self.socket).await;
    }

    pub(crate) fn sandbox(&self, name: &str, namespace: &str) -> Value {
        json!({
            "metadata": {"name": name, "uid": format!("uid-{name}"), "namespace": namespace},
            "labels": {"app": name},
            "annotations": {"note": "of the pod"},
            "linux": {
                "cgroup_parent": self.runtime.cgroup(),
                "security_context": {"namespace_options": {"network": "NODE"}},
            },
        })
    }

    pub(crate) fn container(&self, pod: &str, sandbox: &Value) -> Value {
        json!({
            "pod_sandbox_id": pod,
            "sandbox_config": sandbox,
            "config": {
                "metadata": {"name": "main"},
                "image": {"image": self.image.name()},
                "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"],
                "envs": [{"key": "COLOUR", "value": "red"}],
                "annotations": {"note": "of the container"},
                "linux": {"resources": {"cpu_shares": "512", "memory_limit_in_bytes": "67108864"}},
            },
        })
    }

    /// Waits until the proxy has read what is registered.
    pub(crate) async fn in_force(&self, plugins: &[&str]) {
        let written = serde_json::to_string(&format!("{plugins:?}")).unwrap();
        eventually(&format!("{plugins:?} is in force"), || async {
            let log = std::fs::read_to_string(self.proxy.log()).unwrap_or_default();
            let last = log.lines().rfind(|line| line.contains("hooks are in force")).unwrap_or_default().to_owned();
            if last.contains(&written) { Ok(()) } else { Err(last) }
        })
        .await;
    }

    pub(crate) fn cgroup_file(&self, container: &str, file: &str) -> String {
        let file = cgroup(self.runtime.cgroup(), container).join(file);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).trim().to_owned()
    }
}

/// The folder of a container's CPU control group.
fn cgroup(parent: &str, container: &str) -> PathBuf {
    let v1 = Path::new("/sys/fs/cgroup/cpu").join(parent.trim_start_matches('/')).join(container);
    if v1.exists() { v1 } else { Path::new("/sys/fs/cgroup").join(parent.trim_start_matches('/')).join(container) }
}

/// CPU shares as the kernel has them, or weight on cgroup v2.
pub(crate) fn shares(place: &Place, container: &str) -> String {
    let folder = cgroup(place.runtime.cgroup(), container);
    place.cgroup_file(container, if folder.join("cpu.shares").exists() { "cpu.shares" } else { "cpu.weight" })
}

fn asked(plugin: &Plugin, hook: &str) -> Vec<Value> {
    plugin.asked().into_iter().filter(|(name, _)| name == hook).map(|(_, request)| request).collect()
}

#[tokio::test]
async fn a_plugin_that_is_registered_by_file_changes_the_cpu_shares_of_the_next_container() {
    let place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.answer(&json!({"PreCreateContainer": {"response": {"container_resources": {"cpu_shares": "2048"}}}}));
    let mut client = Client::dial(&place.socket);
    let sandbox = place.sandbox("shares", "default");
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let mut run = || {
        let container = client.call("CreateContainer", &place.container(&pod, &sandbox)).field("container_id");
        assert_eq!(client.call("StartContainer", &json!({"container_id": container})).code, "OK");
        let value = shares(&place, &container);
        client.call("StopContainer", &json!({"container_id": container, "timeout": "1"}));
        client.call("RemoveContainer", &json!({"container_id": container}));
        value
    };
    let old = run();
    plugin.register(&place.hooks, &["PreCreateContainer"], &json!({}));
    place.in_force(&["plugin"]).await;
    let new = run();
    println!("cpu shares {old} -> {new} by plugin");
    assert_ne!(old, new);
    assert_eq!(plugin.asked().len(), 1);
    std::fs::remove_file(place.hooks.join("plugin.json")).unwrap();
    place.in_force(&[]).await;
    assert_eq!(run(), old, "a plugin whose file is gone is not asked");
}

/// Stops and removes all, and each stop twice, as kubelet does.
pub(crate) fn tear_down(client: &mut Client, pod: &str, container: &str) {
    let (by_container, by_pod) = (json!({"container_id": container}), json!({"pod_sandbox_id": pod}));
    for (method, request) in [
        ("StopContainer", &by_container),
        ("StopContainer", &by_container),
        ("RemoveContainer", &by_container),
        ("StopPodSandbox", &by_pod),
        ("StopPodSandbox", &by_pod),
        ("RemovePodSandbox", &by_pod),
    ] {
        assert_eq!(client.call(method, request).code, "OK", "{method}");
    }
}

/// Leaves of a request's resources the CPU shares alone, for a comparison.
fn keep_shares(request: &mut Value) {
    request["container_resources"].as_object_mut().unwrap().retain(|key, _| key == "cpu_shares");
}

#[tokio::test]
async fn all_hooks_are_asked_in_order_with_complete_requests_also_after_a_restart() {
    let mut place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    plugin.register(&place.hooks, &ALL, &json!({}));
    place.in_force(&["plugin"]).await;
    plugin.answer(&json!({
        "PreRunPodSandbox": {"echo": true, "response": {"annotations": {"added": "by the plugin"}}},
        "PreCreateContainer": {"echo": true, "response": {"container_envs": {"ADDED": "yes"}}},
        "PreStartContainer": {"echo": true, "response": {"container_resources": {"cpu_shares": "256"}}},
        "PreUpdateContainerResources": {"echo": true, "response": {"container_resources": {"cpu_shares": "4096"}}},
    }));
    let mut client = Client::dial(&place.socket);
    let sandbox = place.sandbox("all", "default");
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let status = client.call("PodSandboxStatus", &json!({"pod_sandbox_id": pod}));
    assert_eq!(status.response["status"]["annotations"]["added"], "by the plugin");
    let container = client.call("CreateContainer", &place.container(&pod, &sandbox)).field("container_id");
    assert_eq!(client.call("StartContainer", &json!({"container_id": container})).code, "OK");
    let at_start = shares(&place, &container);
    let said =
        client.call("ExecSync", &json!({"container_id": container, "cmd": ["sh", "-c", "echo -n $COLOUR $ADDED"]}));
    assert_eq!(said.field("stdout"), "cmVkIHllcw==", "red yes");

    // A proxy that has just started knows nothing, and shows the plugin all the same.
    let before = eventually("PostStartContainer is told", || async {
        asked(&plugin, "PostStartContainer").pop().ok_or("not yet")
    })
    .await;
    place.restart_proxy().await;
    let mut client = Client::dial(&place.socket);
    let update = json!({"container_id": container, "linux": {"memory_limit_in_bytes": "134217728"}});
    assert_eq!(client.call("UpdateContainerResources", &update).code, "OK");
    println!("cpu shares {at_start} -> {} by plugin", shares(&place, &container));
    assert_ne!(shares(&place, &container), at_start);
    let mut after = asked(&plugin, "PreUpdateContainerResources").pop().unwrap();
    assert_eq!(after["container_resources"]["memory_limit_in_bytes"], "134217728", "kubelet's change is shown");
    let mut expected = before;
    keep_shares(&mut after);
    keep_shares(&mut expected);
    assert_eq!(after, expected, "what it is shown after a restart is what it was shown before");
    assert_eq!(after["container_envs"]["ADDED"], "yes");
    assert_eq!(after["pod_annotations"]["added"], "by the plugin");
    assert_eq!(after["pod_cgroup_parent"], place.runtime.cgroup());

    tear_down(&mut client, &pod, &container);
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
}

#[tokio::test]
async fn a_refusal_refuses_a_failure_follows_its_policy_and_a_refused_call_never_reaches_containerd() {
    let place = Place::start().await;
    let plugin = Plugin::start(place.runtime.supervisor(), "plugin").await;
    let mut client = Client::dial(&place.socket);
    let pods = |client: &mut Client| {
        client.call("ListPodSandbox", &json!({})).response["items"].as_array().map_or(0, Vec::len)
    };
    let run = |client: &mut Client, name: &str, namespace: &str| {
        let sandbox = place.sandbox(name, namespace);
        client.call("RunPodSandbox", &json!({"config": sandbox}))
    };
    plugin.register(
        &place.hooks,
        &["PreRunPodSandbox"],
        &json!({"failure-policy": "Ignore", "timeout-milliseconds": 300}),
    );
    place.in_force(&["plugin"]).await;

    plugin.answer(&json!({"PreRunPodSandbox": {"code": "PERMISSION_DENIED", "message": "not on this node"}}));
    let refused = run(&mut client, "denied", "default");
    assert_eq!((refused.code.as_str(), pods(&mut client)), ("PermissionDenied", 0));
    assert_eq!(refused.message, "plugin plugin refuses PreRunPodSandbox: not on this node");

    for (name, rule) in [
        ("broken", json!({"code": "INTERNAL", "message": "bug"})),
        ("slow", json!({"delay": 60_000})),
        ("outside", json!({"echo": true, "response": {"cgroup_parent": "/elsewhere"}})),
    ] {
        plugin.answer(&json!({"PreRunPodSandbox": rule}));
        assert_eq!(run(&mut client, name, "default").code, "OK", "{name} is ignored");
    }
    assert_eq!(pods(&mut client), 3);

    plugin.register(
        &place.hooks,
        &["PreRunPodSandbox"],
        &json!({"failure-policy": "Fail", "timeout-milliseconds": 301}),
    );
    plugin.process.kill().unwrap();
    eventually("the absent plugin refuses", || async {
        let outcome = run(&mut Client::dial(&place.socket), "absent", "default");
        if outcome.code == "Unavailable" { Ok(()) } else { Err(format!("{outcome:?}")) }
    })
    .await;
    let left = pods(&mut client);
    let refused = run(&mut client, "absent-2", "default");
    assert!(refused.message.starts_with("plugin plugin failed on PreRunPodSandbox: "), "{}", refused.message);
    assert_eq!(pods(&mut client), left);
    assert_eq!(run(&mut client, "dns", "kube-system").code, "OK", "an exempt namespace always starts");
}
