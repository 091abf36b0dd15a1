//! koord-runtime-proxy, the peer of `reeve-cri`, with registrations of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use crate::assets::{self, Released};
use crate::hook_plugin::{HookPlugin, listening};
use crate::supervisor::{Process, Server, Supervisor};

/// Where it looks for registrations, below /etc; it cannot be told otherwise.
const FOLDER: &str = "runtime/hookserver.d";

/// Starts it before a runtime, with one plugin for some hooks. Returns its process and socket.
///
/// It runs in a namespace of mounts with an /etc of its own, so nothing is written to that of the machine.
pub async fn start_koord_runtime_proxy(
    supervisor: &Supervisor,
    name: &str,
    backend: &Path,
    plugin: Option<(&HookPlugin, &[&str])>,
) -> Result<(Process, PathBuf)> {
    let program = assets::released(Released::KoordRuntimeProxy)?.context("koord-runtime-proxy is not built")?;
    let data = supervisor.data();
    let (socket, etc) = (data.join(format!("{name}.sock")), data.join(format!("{name}.etc")));
    let hooks = etc.join(FOLDER);
    std::fs::create_dir_all(&hooks).context("cannot create a folder for registrations")?;
    if let Some((plugin, names)) = plugin {
        plugin.register(&hooks, names, &json!({"failure-policy": "Fail"}));
    }
    let script = format!(
        "cp -a /etc/passwd /etc/group {0}/ && mount --bind {0} /etc && exec {1} \
         --koord-runtimeproxy-endpoint={2} --remote-runtime-service-endpoint={3}",
        etc.display(),
        program.display(),
        socket.display(),
        backend.display(),
    );
    let server = Server::new(name, "unshare").args(["--mount", "sh", "-ec", &script]);
    let process = supervisor.spawn(server)?;
    listening(&socket).await;
    Ok((process, socket))
}
