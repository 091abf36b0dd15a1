//! A whole node: containerd, kubelet, kube-proxy and CNI with a control plane of its own, apart from the host.
//!
//! Everything runs in network and mount namespaces made for it: rules, bridges, addresses and mounts never touch the
//! host, vanish with the processes, and two nodes on one machine do not meet.

mod containerd;
mod dns;
mod image;
mod kubelet;
mod namespace;

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;

pub use image::Image;

use crate::assets::{self, Tool};
use crate::control_plane::{ControlPlane, Place, Ports};
use crate::relay;
use crate::supervisor::{Process, Supervisor, while_running};

const START_LIMIT: Duration = Duration::from_mins(2);
/// An address of the range that is reserved for documentation: nobody's, and not loopback, which kubelet refuses.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// In a namespace of its own every port is free.
const PORTS: Ports =
    Ports { etcd: 2379, etcd_peer: 2380, apiserver: 6443, controller_manager: 10257, scheduler: 10259 };
const NAME: &str = "node";

/// A node on which pods really run. Dropping it ends everything on it.
#[derive(Debug)]
pub struct Node {
    control_plane: ControlPlane,
    holder: Process,
    containerd: Process,
    kubelet: Process,
    kube_proxy: Process,
}

impl Node {
    /// Starts a control plane with controllers and a node below it, and waits until the node is Ready.
    pub async fn start() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            bail!("a node needs root: run the tests as root");
        }
        let supervisor = Supervisor::start("node")?;
        supervisor.keeping_logs(Box::pin(Self::start_below(&supervisor))).await
    }

    async fn start_below(supervisor: &Supervisor) -> Result<Self> {
        let holder = namespace::hold(supervisor, ADDRESS).await?;
        // Images are unpacked while the API server starts.
        let containerd = containerd::start(supervisor, holder.name())?;
        let place = Place { inside: Some(holder.name().into()), address: ADDRESS, ports: PORTS };
        let control_plane = ControlPlane::start_at(supervisor.clone(), place).await?;
        containerd::ready(&containerd, supervisor).await?;
        let (kubelet, kube_proxy) = kubelet::start(supervisor, holder.name(), ADDRESS)?;
        let control_plane = control_plane.controllers().await?;
        let this = Self { control_plane, holder, containerd, kubelet, kube_proxy };
        this.load(&Image::pause()?)?;
        this.ready().await?;
        Ok(this)
    }

    /// Waits until the node is Ready and its Service addresses are served.
    async fn ready(&self) -> Result<()> {
        let servers = [&self.containerd, &self.kubelet, &self.kube_proxy];
        let nodes: Api<NodeObject> = Api::all(self.client());
        while_running(&servers, START_LIMIT, "the node is Ready", || async {
            let node = nodes.get(NAME).await.context("it is not registered")?;
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            match conditions.iter().find(|condition| condition.type_ == "Ready") {
                Some(ready) if ready.status == "True" => Ok(()),
                Some(ready) => bail!("it says {}", ready.message.as_deref().unwrap_or("nothing")),
                None => bail!("it says nothing yet"),
            }
        })
        .await?;
        while_running(&servers, START_LIMIT, "kube-proxy is healthy", || async {
            if self.answers_on_itself("http://127.0.0.1:10256/healthz")? { Ok(()) } else { bail!("it is not yet") }
        })
        .await
    }

    /// Whether a GET from the node itself is answered with a 2xx.
    fn answers_on_itself(&self, url: &str) -> Result<bool> {
        let busybox = assets::tool(Tool::Busybox)?;
        let output = self.command(&busybox.to_string_lossy()).args(["wget", "-q", "-O", "-", url]).output()?;
        Ok(output.status.success())
    }

    /// Adds cluster DNS, so that pods find Services by name. `coredns` comes from [`assets::released`].
    pub async fn dns(self, coredns: &Path) -> Result<Self> {
        let is_ready = || self.answers_on_itself("http://127.0.0.1:8181/ready");
        dns::start(self.supervisor(), self.inside(), ADDRESS, coredns, is_ready).await?;
        Ok(self)
    }

    /// Makes an image known to the node, without any registry. Pods name it with `imagePullPolicy: Never`.
    pub fn load(&self, image: &Image) -> Result<()> {
        let supervisor = self.control_plane.supervisor();
        let archive = tempfile::NamedTempFile::new_in(supervisor.data()).context("cannot write an image")?;
        image.write(archive.path())?;
        let output = self
            .command(&assets::tool(Tool::Ctr)?.to_string_lossy())
            .arg("--address")
            .arg(self.containerd_socket())
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(archive.path())
            .output()
            .context("cannot start ctr")?;
        if !output.status.success() {
            bail!("cannot load image {}: {}", image.name(), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// A loopback address of the host that leads to `target` as the node sees it: a pod, a Service, a node port.
    pub fn reach(&self, target: SocketAddr) -> Result<SocketAddr> {
        relay::open(self.control_plane.supervisor(), self.holder.name(), target)
    }

    /// A command that runs on the node: in its network, with its mounts.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.pid().to_string(), "--net", "--mount", "--", program]);
        command
    }

    /// The name under which a [`crate::Server`] joins the node: `Server::new(..).inside(Some(node.inside()))`.
    pub fn inside(&self) -> &str {
        self.holder.name()
    }

    pub fn name(&self) -> &'static str {
        NAME
    }

    pub fn containerd_socket(&self) -> PathBuf {
        containerd::socket(self.control_plane.supervisor())
    }

    pub fn containerd(&self) -> &Process {
        &self.containerd
    }

    pub fn kubelet(&self) -> &Process {
        &self.kubelet
    }

    pub fn kube_proxy(&self) -> &Process {
        &self.kube_proxy
    }
}

impl Deref for Node {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.control_plane
    }
}
