//! Our example plugin, which speaks `reeve.hook.v1`, before a real containerd.

use reeve_tests::{Process, Server, beside, eventually};
use serde_json::{Value, json};

use crate::hooks::{Place, shares};
use crate::place::{Client, listening};

const HOOKS: [&str; 11] = [
    "PreRunPodSandbox",
    "PostStopPodSandbox",
    "PreCreateContainer",
    "PreStartContainer",
    "PostStartContainer",
    "PostStopContainer",
    "PreUpdateContainerResources",
    "PreUpdatePodSandboxResources",
    "PreRemovePodSandbox",
    "PostRemovePodSandbox",
    "PostRemoveContainer",
];

/// Starts the example and registers it for every hook.
async fn start_example(place: &Place) -> Process {
    let data = place.runtime.supervisor().data();
    let (socket, classes) = (data.join("example.sock"), data.join("classes.json"));
    let text = json!({
        "classes": [{
            "name": "batch",
            "labels": {"class": "batch"},
            "cpuShares": 64,
            "cpuPercent": 50,
            "files": {"memory.soft_limit_in_bytes": "33554432"},
        }],
        "requiredIn": ["jobs"],
    });
    std::fs::write(&classes, text.to_string()).unwrap();
    let example = Server::new("example", beside(env!("CARGO_BIN_EXE_reeve-cri"), "reeve-cri-example")).args([
        format!("--listen={}", socket.display()),
        format!("--classes={}", classes.display()),
        "--admin-address=none".to_owned(),
    ]);
    let example = place.runtime.supervisor().spawn(example).unwrap();
    listening(&socket).await;
    let registration = json!({"remote-endpoint": socket, "runtime-hooks": HOOKS, "protocol": "Reeve"});
    std::fs::write(place.hooks.join("example.json"), registration.to_string()).unwrap();
    place.in_force(&["example"]).await;
    example
}

/// The hooks that the example says it was asked at.
fn asked(example: &Process) -> Vec<String> {
    let log = std::fs::read_to_string(example.log()).unwrap();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == "asked").map(|line| line["hook"].as_str().unwrap().to_owned()).collect()
}

/// What is asked of a pod that is refused and of one with one container, in this order.
const ASKED: [&str; 12] = [
    "PreRunPodSandbox",
    "PreRunPodSandbox",
    "PreCreateContainer",
    "PreStartContainer",
    "PostStartContainer",
    "PreUpdateContainerResources",
    "PreUpdatePodSandboxResources",
    "PostStopContainer",
    "PostRemoveContainer",
    "PostStopPodSandbox",
    "PreRemovePodSandbox",
    "PostRemovePodSandbox",
];

#[tokio::test]
async fn our_own_protocol_changes_refuses_and_hears_of_removals() {
    let place = Place::start().await;
    let example = start_example(&place).await;
    let mut client = Client::dial(&place.socket);

    let refused = client.call("RunPodSandbox", &json!({"config": place.sandbox("none", "jobs")}));
    assert_eq!(refused.code, "PermissionDenied");
    let reason = "plugin example refuses PreRunPodSandbox: pods of namespace jobs need one of the classes batch";
    assert_eq!(refused.message, reason);

    let mut sandbox = place.sandbox("batch", "jobs");
    sandbox["labels"] = json!({"class": "batch"});
    let pod = client.call("RunPodSandbox", &json!({"config": sandbox})).field("pod_sandbox_id");
    let container = client.call("CreateContainer", &place.container(&pod, &sandbox)).field("container_id");
    assert_eq!(client.call("StartContainer", &json!({"container_id": container})).code, "OK");
    println!("cpu shares 512 -> {} by the example plugin", shares(&place, &container));
    assert_eq!(shares(&place, &container), "64");
    assert_eq!(place.cgroup_file(&container, "cpu.cfs_quota_us"), "50000");
    let soft = std::path::Path::new("/sys/fs/cgroup/memory").join(place.runtime.cgroup().trim_start_matches('/'));
    let soft = soft.join(&container).join("memory.soft_limit_in_bytes");
    eventually("what the CRI cannot carry is written after the start", || async {
        let text = std::fs::read_to_string(&soft).map_err(|error| error.to_string())?;
        if text.trim() == "33554432" { Ok(()) } else { Err(text) }
    })
    .await;

    // An update for more memory leaves the class's shares as they are.
    let update =
        json!({"container_id": container, "linux": {"memory_limit_in_bytes": "134217728", "cpu_shares": "900"}});
    assert_eq!(client.call("UpdateContainerResources", &update).code, "OK");
    assert_eq!(shares(&place, &container), "64");
    let update = json!({"pod_sandbox_id": pod, "resources": {"cpu_shares": "900"}});
    let outcome = client.call("UpdatePodSandboxResources", &update);
    assert!(["OK", "Unimplemented"].contains(&outcome.code.as_str()), "{outcome:?}");

    let (by_container, by_pod) = (json!({"container_id": container}), json!({"pod_sandbox_id": pod}));
    for (method, request) in [
        ("StopContainer", &by_container),
        ("RemoveContainer", &by_container),
        ("StopPodSandbox", &by_pod),
        ("RemovePodSandbox", &by_pod),
    ] {
        assert_eq!(client.call(method, request).code, "OK", "{method}");
    }
    eventually("it heard of everything", || async {
        let asked = asked(&example);
        // What has happened is told when the kubelet has its answer, so its next question may come before.
        let is_told = ["Pre", "Post"].iter().all(|kind| {
            let of_kind = |hook: &&str| hook.starts_with(kind);
            asked.iter().map(String::as_str).filter(of_kind).eq(ASKED.iter().copied().filter(of_kind))
        });
        if is_told { Ok(()) } else { Err(format!("{asked:?}")) }
    })
    .await;
}
