//! DNS as a process on the node, at the address that kubelet gives to every pod: CoreDNS for Services, or Debian's dnsmasq
//! for a few names.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::assets::{self, Tool};
use crate::supervisor::{Process, Server, Supervisor, while_running};

pub(super) const DOMAIN: &str = "cluster.local";

pub(super) async fn start(
    supervisor: &Supervisor,
    inside: &str,
    address: Ipv4Addr,
    program: &Path,
    is_ready: impl Fn() -> Result<bool>,
) -> Result<Process> {
    let config = supervisor.data().join("Corefile");
    let kubeconfig = supervisor.data().join("inside.kubeconfig");
    let text = format!(
        ".:53 {{\n  bind {address}\n  errors\n  ready 127.0.0.1:8181\n  \
         kubernetes {DOMAIN} in-addr.arpa {{\n    kubeconfig {}\n    ttl 0\n  }}\n}}\n",
        kubeconfig.display()
    );
    fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
    let server = Server::new("coredns", program).args(["-conf", &config.to_string_lossy()]).inside(Some(inside));
    let coredns = supervisor.spawn(server)?;
    while_running(&[&coredns], Duration::from_mins(1), "CoreDNS is ready", || async {
        if is_ready()? { Ok(()) } else { bail!("it has not read the Services yet") }
    })
    .await?;
    Ok(coredns)
}

pub(super) async fn serve_names(
    supervisor: &Supervisor,
    inside: &str,
    address: Ipv4Addr,
    names: &[(&str, Ipv4Addr)],
) -> Result<()> {
    let mut server = Server::new("dnsmasq", assets::tool(Tool::Dnsmasq)?).inside(Some(inside)).args([
        "--keep-in-foreground",
        "--log-facility=-",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--user=root",
        "--pid-file",
    ]);
    server = server.args([format!("--listen-address={address}")]);
    server = server.args(names.iter().map(|(name, of)| format!("--host-record={name},{of}")));
    let dnsmasq = supervisor.spawn(server)?;
    while_running(&[&dnsmasq], Duration::from_secs(30), "dnsmasq is ready", || async {
        let log = fs::read_to_string(dnsmasq.log()).context("no log yet")?;
        if log.contains("started, version") { Ok(()) } else { bail!("it has not said so yet") }
    })
    .await
}
