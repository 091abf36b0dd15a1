//! dockerd over the containerd of a [`ContainerRuntime`], in the same namespaces.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::UnixStream;

use super::{ContainerRuntime, Image, image};
use crate::assets::{self, Released, Tool};
use crate::supervisor::{Process, Server, while_running};

/// A Docker Engine. It ends with its runtime.
#[derive(Debug)]
pub struct Docker {
    process: Process,
    socket: PathBuf,
}

impl Docker {
    /// Starts dockerd and waits until it answers. It makes no network and touches no rule.
    pub async fn start(runtime: &ContainerRuntime) -> Result<Self> {
        let data = runtime.supervisor().data();
        let socket = data.join("docker.sock");
        let server = Server::new("dockerd", assets::tool(Tool::Dockerd)?)
            .args(["--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs"])
            // Where a process may not lower its OOM score, dockerd has to leave its own alone.
            .args(["--oom-score-adjust=0", "--exec-opt=native.cgroupdriver=cgroupfs"])
            .args([
                format!("--host=unix://{}", socket.display()),
                format!("--containerd={}", runtime.socket().display()),
                format!("--data-root={}", data.join("docker").display()),
                format!("--exec-root={}", data.join("docker-exec").display()),
                format!("--pidfile={}", data.join("docker.pid").display()),
            ])
            .inside(Some(runtime.inside()));
        let process = runtime.supervisor().spawn(server)?;
        while_running(&[&process], Duration::from_mins(1), "dockerd listens", || async {
            UnixStream::connect(&socket).await.map(drop).context("not yet")
        })
        .await?;
        let this = Self { process, socket };
        this.load(runtime, &Image::pause()?)?;
        Ok(this)
    }

    /// Starts cri-dockerd, which speaks to the socket `docker`, and waits until it listens. Returns its process and socket.
    pub async fn start_cri(runtime: &ContainerRuntime, docker: &Path) -> Result<(Process, PathBuf)> {
        let program = assets::released(Released::CriDockerd)?.context("cri-dockerd is not built")?;
        let data = runtime.supervisor().data();
        let socket = data.join("cri-dockerd.sock");
        let server = Server::new("cri-dockerd", program)
            .args([
                format!("--container-runtime-endpoint=unix://{}", socket.display()),
                format!("--docker-endpoint=unix://{}", docker.display()),
                format!("--cri-dockerd-root-directory={}", data.join("cri-dockerd").display()),
                format!("--cni-conf-dir={}", data.join("cni").display()),
                format!("--pod-infra-container-image={}", image::PAUSE),
            ])
            .args(["--streaming-bind-addr=127.0.0.1:0"])
            .inside(Some(runtime.inside()));
        let process = runtime.supervisor().spawn(server)?;
        while_running(&[&process], Duration::from_mins(1), "cri-dockerd listens", || async {
            UnixStream::connect(&socket).await.map(drop).context("not yet")
        })
        .await?;
        Ok((process, socket))
    }

    /// Makes an image known, without any registry.
    pub fn load(&self, runtime: &ContainerRuntime, image: &Image) -> Result<()> {
        let data = runtime.supervisor().data();
        let (from, to) = (data.join("image.oci"), data.join("image.docker"));
        image.write(&from)?;
        let _ = std::fs::remove_file(&to);
        let mut copy = std::process::Command::new(assets::tool(Tool::Skopeo)?);
        copy.args(["--insecure-policy", "copy", "--quiet"]);
        copy.arg(format!("oci-archive:{}", from.display()));
        copy.arg(format!("docker-archive:{}:{}", to.display(), image.name()));
        said(copy).context("cannot convert an image")?;
        let mut load = runtime.command(&assets::tool(Tool::Docker)?.to_string_lossy());
        load.arg("--host").arg(format!("unix://{}", self.socket.display())).arg("load").arg("--input").arg(&to);
        said(load).context("cannot load an image")
    }

    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    pub fn process(&self) -> &Process {
        &self.process
    }
}

fn said(mut command: std::process::Command) -> Result<()> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(())
}
