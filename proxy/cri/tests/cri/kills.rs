//! Proxy, containerd and plugin are killed while containers come and go.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reeve_tests::{ContainerRuntime, Image, eventually};
use serde_json::{Value, json};

use crate::place::{Client, Plugin, listening, start_proxy};

#[derive(Default)]
struct Progress {
    made: AtomicUsize,
    stop: AtomicBool,
}

impl Progress {
    /// Waits until two more containers were made: the second was begun after whatever has just been done.
    async fn goes_on(&self) {
        let before = self.made.load(Ordering::Relaxed);
        eventually("containers are made", || async {
            let made = self.made.load(Ordering::Relaxed);
            if made >= before + 2 { Ok(()) } else { Err(format!("{made} after {before}")) }
        })
        .await;
    }
}

/// A caller that tries again as kubelet does, and notes what it has been told is there.
fn churn(socket: &Path, image: &str, cgroup: &str, progress: &Progress) -> Vec<String> {
    let mut client = Client::dial(socket);
    let mut made = Vec::new();
    let mut number = 0;
    while !progress.stop.load(Ordering::Relaxed) {
        number += 1;
        let name = format!("churn-{number}");
        let config = json!({
            "metadata": {"name": name, "uid": name, "namespace": "default"},
            "linux": {"cgroup_parent": cgroup, "security_context": {"namespace_options": {"network": "NODE"}}},
        });
        let mut attempt = 0;
        let pod = loop {
            // A call that broke off may have been done: the next attempt has another name, as kubelet's has.
            let mut config = config.clone();
            config["metadata"]["attempt"] = json!(attempt);
            let outcome = client.call("RunPodSandbox", &json!({"config": config}));
            if outcome.code == "OK" {
                break outcome.field("pod_sandbox_id");
            }
            attempt += 1;
            std::thread::sleep(std::time::Duration::from_millis(100));
        };
        let container = json!({
            "pod_sandbox_id": pod,
            "sandbox_config": config,
            "config": {"metadata": {"name": "main"}, "image": {"image": image}, "command": ["sleep", "1000"]},
        });
        let outcome = client.call("CreateContainer", &container);
        if outcome.code == "OK" {
            made.push(outcome.field("container_id"));
            progress.made.fetch_add(1, Ordering::Relaxed);
        }
    }
    made
}

#[tokio::test]
async fn no_container_is_lost_or_doubled_when_proxy_containerd_or_plugin_are_killed() {
    kill(3).await;
}

#[tokio::test]
#[ignore = "takes minutes; make soak ONLY=cri"]
async fn no_container_is_lost_or_doubled_when_each_is_killed_twenty_times() {
    kill(20).await;
}

/// Kills each so many times, and freezes the plugin as often.
async fn kill(rounds: usize) {
    let mut runtime = ContainerRuntime::start().await.unwrap();
    let image = Image::busybox().unwrap();
    runtime.load(&image).unwrap();
    let supervisor = runtime.supervisor().clone();
    let hooks = supervisor.data().join("hooks");
    let mut plugin = Plugin::start(&supervisor, "plugin").await;
    plugin.register(&hooks, &["PreRunPodSandbox", "PreCreateContainer"], &json!({"timeout-milliseconds": 300}));
    let inside = runtime.inside().to_owned();
    let (mut proxy, socket) = start_proxy(&supervisor, "proxy", Some(&inside), &runtime.socket(), &hooks);
    listening(&socket).await;
    let progress = Arc::new(Progress::default());
    let churning = {
        let (socket, image, cgroup) = (socket.clone(), image.name().to_owned(), runtime.cgroup().to_owned());
        let progress = Arc::clone(&progress);
        std::thread::spawn(move || churn(&socket, &image, &cgroup, &progress))
    };
    let mut kills = 0;
    for _ in 0..rounds {
        proxy.kill().unwrap();
        proxy = start_proxy(&supervisor, "proxy", Some(&inside), &runtime.socket(), &hooks).0;
        progress.goes_on().await;
        runtime.containerd().kill().unwrap();
        runtime.restart().await.unwrap();
        progress.goes_on().await;
        plugin.process.kill().unwrap();
        progress.goes_on().await;
        plugin = Plugin::start(&supervisor, "plugin").await;
        plugin.process.freeze().unwrap();
        progress.goes_on().await;
        plugin.process.thaw().unwrap();
        kills += 3;
    }
    progress.stop.store(true, Ordering::Relaxed);
    let made = churning.join().unwrap();
    let found = containers(&mut Client::dial(&runtime.socket()));
    let lost = made.iter().filter(|id| !found.iter().any(|container| container["id"] == id.as_str())).count();
    // Two containers of one name in one pod: a call that was done twice.
    let places: BTreeSet<String> =
        found.iter().map(|container| format!("{} {}", container["pod_sandbox_id"], container["metadata"])).collect();
    let doubled = found.len() - places.len();
    println!("kills={kills} freezes={rounds} containers={} lost={lost} doubled={doubled}", made.len());
    assert_eq!((lost, doubled), (0, 0));
    assert!(!made.is_empty());
}

fn containers(client: &mut Client) -> Vec<Value> {
    let listed = client.call("ListContainers", &json!({})).response;
    listed["containers"].as_array().cloned().unwrap_or_default()
}
