//! containerd with data, state, socket and network configuration of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Image, image, on_node};
use crate::assets::{self, Tool};
use crate::supervisor::{Process, Server, Supervisor, while_running};

pub(super) const POD_NETWORK: &str = "10.244.0.0/24";

/// containerd allows 104 bytes for the path of a socket, and appends to ours.
const LONGEST_FOLDER: usize = 80;

pub(super) fn socket(supervisor: &Supervisor) -> PathBuf {
    supervisor.data().join("containerd.sock")
}

pub(super) fn start(supervisor: &Supervisor, inside: &str) -> Result<Process> {
    for tool in [Tool::Ctr, Tool::Iptables, Tool::Runc] {
        assets::tool(tool)?;
    }
    let plugins = assets::tool(Tool::CniPlugins)?.parent().map(Path::to_owned).context("CNI plugins have no folder")?;
    let data = supervisor.data();
    if data.as_os_str().len() > LONGEST_FOLDER {
        bail!("{} is too long for containerd's sockets: set TMPDIR to a shorter path", data.display());
    }
    fs::create_dir_all(data.join("cni")).context("cannot create the CNI folder")?;
    write(&data.join("cni/10-bridge.conflist"), &network(&data))?;
    let config = data.join("containerd.toml");
    write(&config, &configuration(&data, &plugins, &socket(supervisor)))?;
    supervisor.spawn(
        Server::new("containerd", assets::tool(Tool::Containerd)?)
            .args(["--config", &config.to_string_lossy()])
            .inside(Some(inside)),
    )
}

pub(super) async fn ready(containerd: &Process, supervisor: &Supervisor) -> Result<()> {
    let socket = socket(supervisor);
    while_running(&[containerd], Duration::from_mins(1), "containerd answers", || async {
        let mut ctr = tokio::process::Command::new(assets::tool(Tool::Ctr)?);
        let output = ctr.arg("--address").arg(&socket).args(["--timeout", "2s", "version"]).output().await?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Ok(())
    })
    .await
}

/// Makes an image known to containerd, without any registry.
pub(super) fn load(supervisor: &Supervisor, holder: &Process, image: &Image) -> Result<()> {
    let archive = tempfile::NamedTempFile::new_in(supervisor.data()).context("cannot write an image")?;
    image.write(archive.path())?;
    let output = on_node(holder, &assets::tool(Tool::Ctr)?.to_string_lossy())
        .arg("--address")
        .arg(socket(supervisor))
        .args(["--namespace", "k8s.io", "images", "import"])
        .arg(archive.path())
        .output()
        .context("cannot start ctr")?;
    if !output.status.success() {
        bail!("cannot load image {}: {}", image.name(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Where a process may not lower its OOM score (no `CAP_SYS_RESOURCE`), containerd has to leave it alone.
fn configuration(data: &Path, plugins: &Path, socket: &Path) -> String {
    let cri = r#"plugins."io.containerd.grpc.v1.cri""#;
    format!(
        "version = 2\n\
         root = '{data}/containerd'\n\
         state = '/run/containerd'\n\
         [grpc]\n\
         address = '{socket}'\n\
         [{cri}]\n\
         sandbox_image = '{pause}'\n\
         restrict_oom_score_adj = true\n\
         [{cri}.cni]\n\
         bin_dir = '{plugins}'\n\
         conf_dir = '{data}/cni'\n",
        data = data.display(),
        socket = socket.display(),
        plugins = plugins.display(),
        pause = image::PAUSE,
    )
}

fn network(data: &Path) -> String {
    json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": true,
                "ipMasq": true,
                "hairpinMode": true,
                "ipam": {
                    "type": "host-local",
                    "dataDir": data.join("cni-addresses"),
                    "ranges": [[{"subnet": POD_NETWORK}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
    .to_string()
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
