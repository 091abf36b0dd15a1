//! A kubelet whose runtime is the proxy.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use reeve_tests::{Image, Node, Process, eventually, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::place::{Plugin, start_proxy};

fn pod(name: &str, image: &Image) -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "web",
                "image": image.name(),
                "imagePullPolicy": "Never",
                "command": ["sh", "-c", "echo serving; exec httpd -f -p 8080 -h /www"],
                "resources": {"requests": {"cpu": "100m"}},
                "readinessProbe": {"exec": {"command": ["cat", "/www/index.html"]}, "periodSeconds": 1},
            }],
        },
    }))
    .unwrap()
}

/// CPU shares of a pod's container, from cgroupfs.
async fn shares(node: &Node, pod: &str) -> String {
    let script = "cat /sys/fs/cgroup/cpu/cpu.shares 2>/dev/null || cat /sys/fs/cgroup/cpu.weight";
    let from_inside = node.kubectl(&["exec", pod, "--", "sh", "-c", script]).await;
    from_inside.trim().to_owned()
}

/// Asks the pod's server for its page, through a forwarded port.
async fn get(pods: &Api<Pod>, pod: &str) -> String {
    let mut ports = pods.portforward(pod, &[8080]).await.unwrap();
    let mut stream = ports.take_stream(8080).unwrap();
    stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}")).1.to_owned()
}

/// Has kubelet give the container more CPU without a restart. Returns its new shares.
async fn resize(node: &Node, pod: &str, old: &str) -> String {
    let more = r#"{"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "300m"}}}]}}"#;
    node.kubectl(&["patch", "pod", pod, "--subresource=resize", "--patch", more]).await;
    eventually("the container has more CPU", || async {
        let now = shares(node, pod).await;
        if now != old {
            return Ok(now);
        }
        Err(node.kubectl(&["get", "pod", pod, "-o", "jsonpath={.status}"]).await)
    })
    .await
}

#[tokio::test]
async fn pods_run_behind_the_proxy_and_a_plugin_changes_what_the_next_one_gets() {
    let mut started: Option<(Process, PathBuf)> = None;
    let node = Node::start_behind(|place| {
        let hooks = place.supervisor.data().join("hooks");
        let proxy = start_proxy(place.supervisor, "reeve-cri", Some(place.inside), &place.containerd, &hooks);
        let socket = proxy.1.clone();
        started = Some(proxy);
        Ok(socket)
    })
    .await
    .unwrap();
    let (proxy, _socket) = started.unwrap();
    let image = Image::busybox().unwrap().named("reeve.local/web:tests").file("/www/index.html", "hello from a pod\n");
    node.load(&image).unwrap();
    let pods: Api<Pod> = Api::namespaced(node.client(), "default");
    let ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    pods.create(&PostParams::default(), &pod("before", &image)).await.unwrap();
    until(&pods, "before", "the pod is ready", ready).await;
    assert_eq!(node.kubectl(&["logs", "before"]).await, "serving\n");
    assert_eq!(node.kubectl(&["exec", "before", "--", "cat", "/www/index.html"]).await, "hello from a pod\n");
    let old = shares(&node, "before").await;

    assert_eq!(get(&pods, "before").await, "hello from a pod\n", "ports are forwarded");
    let grown = resize(&node, "before", &old).await;
    println!("cpu shares {old} -> {grown} by an update in place");

    let plugin = Plugin::start(node.supervisor(), "plugin").await;
    plugin.answer(
        &json!({"PreCreateContainer": {"echo": true, "response": {"container_resources": {"cpu_shares": "2048"}}}}),
    );
    plugin.register(&node.supervisor().data().join("hooks"), &["PreCreateContainer"], &json!({}));
    eventually("the plugin is in force", || async {
        let log = std::fs::read_to_string(proxy.log()).unwrap_or_default();
        if log.contains(r#"plugins":"[\"plugin\"]"#) || log.contains("[\"plugin\"]") { Ok(()) } else { Err("not yet") }
    })
    .await;
    pods.create(&PostParams::default(), &pod("after", &image)).await.unwrap();
    until(&pods, "after", "the pod is ready", ready).await;
    let new = shares(&node, "after").await;
    println!("cpu shares {old} -> {new} by plugin, read in cgroupfs");
    assert_ne!(old, new);
    let (_, request) = plugin.asked().pop().unwrap();
    assert_eq!(request["pod_meta"]["name"], "after");
    assert!(request["pod_cgroup_parent"].as_str().unwrap_or_default().contains("pod"), "{request}");

    for name in ["before", "after"] {
        pods.delete(name, &DeleteParams::default()).await.unwrap();
    }
    eventually("the pods are gone", || async {
        let left = pods.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} are left")) }
    })
    .await;
}
