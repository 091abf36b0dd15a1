//! A runtime that answers at once, and two proxies before it.

use std::path::{Path, PathBuf};
use std::process::Command;

use reeve_tests::assets::{self, Peer as Program};
use reeve_tests::{HookPlugin, Process, Server, Supervisor, listening, start_koord_runtime_proxy};
use serde_json::json;

pub(crate) struct Place {
    supervisor: Supervisor,
    _floor: Process,
}

/// A proxy that is measured.
pub(crate) struct Peer {
    pub(crate) socket: PathBuf,
    process: Process,
}

impl Peer {
    /// Processor time that it has used, in microseconds. Unlike times of calls it does not depend on what else runs.
    pub(crate) fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.pid())).expect("the proxy runs");
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks: f64 = [11, 12].map(|place: usize| fields[place].parse::<f64>().expect("a number")).iter().sum();
        ticks * 10_000.0
    }

    /// What it has in memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.pid());
        let status = std::fs::read_to_string(path).expect("the proxy runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }
}

/// The proxy as it is shipped: the bench itself need not be.
fn release() -> PathBuf {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", "reeve-proxy-cri", "--bin", "reeve-cri"])
        .current_dir(workspace)
        .status()
        .expect("cannot start cargo");
    assert!(built.success(), "cannot build reeve-cri");
    Path::new(workspace).join("target/release/reeve-cri")
}

impl Place {
    pub(crate) async fn start() -> Self {
        let supervisor = Supervisor::start("bench").expect("no supervisor");
        let socket = supervisor.data().join("floor.sock");
        let floor = Server::new("floor", assets::peer(Program::Cri).expect("no runtime"))
            .args(["floor".to_owned(), format!("-listen={}", socket.display())]);
        let floor = supervisor.spawn(floor).expect("cannot start the runtime");
        listening(&socket).await;
        Self { supervisor, _floor: floor }
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    pub(crate) fn floor(&self) -> PathBuf {
        self.supervisor().data().join("floor.sock")
    }

    pub(crate) async fn start_ours(&self, name: &str, plugin: Option<&HookPlugin>) -> Peer {
        start(self.supervisor(), name, &self.floor(), plugin.map(|plugin| (plugin, &["PreRunPodSandbox"][..]))).await
    }

    pub(crate) async fn start_theirs(&self, plugin: Option<&HookPlugin>) -> Peer {
        let name = if plugin.is_some() { "koord-hooked" } else { "koord" };
        let plugin = plugin.map(|plugin| (plugin, &["PreRunPodSandbox"][..]));
        let started = start_koord_runtime_proxy(self.supervisor(), name, &self.floor(), plugin).await;
        let (process, socket) = started.expect("cannot start koord-runtime-proxy");
        Peer { socket, process }
    }
}

/// Starts `reeve-cri` before a runtime, with a plugin for some hooks.
pub(crate) async fn start(
    supervisor: &Supervisor,
    name: &str,
    backend: &Path,
    plugin: Option<(&HookPlugin, &[&str])>,
) -> Peer {
    let data = supervisor.data();
    let (socket, hooks) = (data.join(format!("{name}.sock")), data.join(format!("{name}.hooks")));
    if let Some((plugin, names)) = plugin {
        plugin.register(&hooks, names, &json!({}));
    }
    let server = Server::new(name, release()).args([
        format!("--listen={}", socket.display()),
        format!("--runtime-endpoint={}", backend.display()),
        format!("--hooks-dir={}", hooks.display()),
        format!("--hook-set={}", data.join(format!("{name}.set/hooks.json")).display()),
        format!("--state-socket={}", data.join(format!("{name}.state")).display()),
        "--admin-address=none".to_owned(),
    ]);
    let process = supervisor.spawn(server).expect("cannot start reeve-cri");
    listening(&socket).await;
    Peer { socket, process }
}
