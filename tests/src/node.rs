//! A whole node: containerd, kubelet, kube-proxy and CNI with a control plane of its own, apart from the host.
//!
//! Everything runs in network and mount namespaces made for it: rules, bridges, addresses and mounts never touch the
//! host, vanish with the processes, and two nodes on one machine do not meet.

mod containerd;
mod dns;
mod docker;
mod image;
mod kubelet;
mod namespace;
mod runtime;

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;

pub use docker::Docker;
pub use image::Image;
pub use runtime::ContainerRuntime;

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

/// What something that stands between kubelet and containerd needs to know.
#[derive(Debug)]
pub struct CriPlace<'a> {
    pub supervisor: &'a Supervisor,
    /// The name under which a [`crate::Server`] joins the node.
    pub inside: &'a str,
    pub containerd: PathBuf,
}

fn need_root() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("a node needs root: run the tests as root");
    }
    Ok(())
}

/// A command that runs in the namespaces that `holder` holds.
fn on_node(holder: &Process, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &holder.pid().to_string(), "--net", "--mount", "--", program]);
    command
}

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
        Self::start_behind(|node| Ok(node.containerd)).await
    }

    /// As [`Node::start`], but kubelet speaks the CRI to the socket that `proxy` gives, which it may begin to serve.
    pub async fn start_behind(proxy: impl FnOnce(CriPlace) -> Result<PathBuf>) -> Result<Self> {
        need_root()?;
        let supervisor = Supervisor::start("node")?;
        supervisor.keeping_logs(Box::pin(Self::start_below(&supervisor, proxy))).await
    }

    async fn start_below(supervisor: &Supervisor, proxy: impl FnOnce(CriPlace) -> Result<PathBuf>) -> Result<Self> {
        let holder = namespace::hold(supervisor, ADDRESS).await?;
        // Images are unpacked while the API server starts.
        let containerd = containerd::start(supervisor, holder.name())?;
        let place = Place { inside: Some(holder.name().into()), address: ADDRESS, ports: PORTS };
        let control_plane = ControlPlane::start_at(supervisor.clone(), place).await?;
        containerd::ready(&containerd, supervisor).await?;
        let containerd_socket = containerd::socket(supervisor);
        let cri = proxy(CriPlace { supervisor, inside: holder.name(), containerd: containerd_socket })?;
        let (kubelet, kube_proxy) = kubelet::start(supervisor, holder.name(), ADDRESS, &cri)?;
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
        containerd::load(self.control_plane.supervisor(), &self.holder, image)
    }

    /// A loopback address of the host that leads to `target` as the node sees it: a pod, a Service, a node port.
    pub fn reach(&self, target: SocketAddr) -> Result<SocketAddr> {
        relay::open(self.control_plane.supervisor(), self.holder.name(), target)
    }

    /// Lets the node reach `target`, a server of the host, at an address of its own. Pods reach those of
    /// [`Node::address`].
    pub async fn expose(&self, at: SocketAddr, target: SocketAddr) -> Result<()> {
        relay::expose(self.control_plane.supervisor(), self.holder.name(), at, target).await
    }

    /// Lets pods resolve these names, by a DNS server that knows no others. For Services there is [`Node::dns`].
    pub async fn resolve(&self, names: &[(&str, Ipv4Addr)]) -> Result<()> {
        dns::serve_names(self.supervisor(), self.inside(), ADDRESS, names).await
    }

    /// Its address, which pods reach.
    pub fn address(&self) -> Ipv4Addr {
        ADDRESS
    }

    /// A command that runs on the node: in its network, with its mounts.
    pub fn command(&self, program: &str) -> Command {
        on_node(&self.holder, program)
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
