//! Thirty pods at once before a real containerd, straight and through the proxy with a plugin, in turns.

use std::path::Path;

use reeve_tests::assets::{self, Peer as Program};
use reeve_tests::{ContainerRuntime, HookPlugin, Image};
use serde::Deserialize;

use crate::place;

const PODS: usize = 30;
/// Straight, through, through, straight.
const ORDER: [bool; 4] = [false, true, true, false];

#[derive(Deserialize)]
struct Line {
    sum: f64,
    all: f64,
}

pub(crate) async fn bench() {
    let runtime = ContainerRuntime::start().await.expect("no runtime");
    let image = Image::busybox().expect("no image");
    runtime.load(&image).expect("cannot load an image");
    let supervisor = runtime.supervisor();
    let plugin = HookPlugin::start(supervisor, "pods-plugin").await;
    let hooks = ["PreRunPodSandbox", "PreCreateContainer", "PreStartContainer"];
    let ours = place::start(supervisor, "pods", &runtime.socket(), Some((&plugin, &hooks))).await;
    // One that is not counted: what a runtime does for the first time takes longer.
    run(&runtime, &image, &runtime.socket()).await;
    let (mut straight, mut through, mut sums) = (Vec::new(), Vec::new(), 0.0);
    let before = ours.cpu();
    for is_ours in ORDER {
        let socket = if is_ours { ours.socket.clone() } else { runtime.socket() };
        let line = run(&runtime, &image, &socket).await;
        if is_ours {
            sums += line.sum;
            through.push(line.all);
        } else {
            straight.push(line.all);
        }
    }
    let used = ours.cpu() - before;
    let (straight, through): (f64, f64) = (straight.iter().sum(), through.iter().sum());
    println!(
        "cri {PODS} pods at once, until all run: {:.2} of the time that they take without the proxy",
        through / straight
    );
    println!(
        "cri {PODS} pods at once, processor time of the proxy: {:.2} % of the pods' times to run (at most 1 %)",
        used * 100_000.0 / sums
    );
    assert!(plugin.asked().len() >= 2 * PODS * hooks.len(), "the plugin was not asked about every pod");
}

async fn run(runtime: &ContainerRuntime, image: &Image, socket: &Path) -> Line {
    let output = tokio::process::Command::new(assets::peer(Program::Cri).expect("no client"))
        .args(["pods", "-count", &PODS.to_string(), "-cgroup", runtime.cgroup(), "-image", image.name(), "-socket"])
        .arg(socket)
        .output()
        .await
        .expect("cannot start the client");
    assert!(output.status.success(), "{}: {}", socket.display(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the client prints figures")
}
