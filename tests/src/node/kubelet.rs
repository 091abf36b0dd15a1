//! kubelet and kube-proxy.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{NAME, containerd, dns};
use crate::assets::{self, Program, Tool};
use crate::cgroup;
use crate::supervisor::{Process, Server, Supervisor};

pub(super) fn start(
    supervisor: &Supervisor,
    inside: &str,
    address: Ipv4Addr,
    cri: &Path,
) -> Result<(Process, Process)> {
    assets::tool(Tool::Nft)?;
    let data = supervisor.data();
    let run = data.parent().and_then(|folder| folder.file_name()).context("the run has no folder")?;
    let group = cgroup::name_of_run(&run.to_string_lossy());
    supervisor.own_cgroup(&group)?;
    cgroup::create(&group)?;
    // Pods that ask for the node's own name server get none: there is none in here.
    fs::write(data.join("resolv.conf"), "").context("cannot write resolv.conf")?;
    let config = data.join("kubelet.json");
    fs::write(&config, configuration(supervisor, &group, address, cri).to_string())
        .context("cannot write kubelet's configuration")?;

    let kubeconfig = |name: &str| data.join(format!("{name}.kubeconfig")).display().to_string();
    let kubelet = [
        ("config", config.display().to_string()),
        ("kubeconfig", kubeconfig("kubelet")),
        ("root-dir", data.join("kubelet").display().to_string()),
        ("hostname-override", NAME.into()),
        ("node-ip", address.to_string()),
    ];
    let proxy = [
        ("kubeconfig", kubeconfig("proxy")),
        ("hostname-override", NAME.into()),
        // In the mode of iptables a connection begun while a Service's rules are rewritten may go out untranslated.
        ("proxy-mode", "nftables".into()),
        ("cluster-cidr", containerd::POD_NETWORK.into()),
        // Pods of one bridge reach each other through a Service only if answers come back the way they went.
        ("masquerade-all", "true".into()),
        // Connection tracking is sized by the host, not from in here.
        ("conntrack-max-per-core", "0".into()),
        ("conntrack-tcp-timeout-established", "0".into()),
        ("conntrack-tcp-timeout-close-wait", "0".into()),
        ("healthz-bind-address", "127.0.0.1:10256".into()),
        ("metrics-bind-address", "127.0.0.1:10249".into()),
    ];
    let spawn = |program: Program, flags: &[(&str, String)]| {
        let flags = flags.iter().map(|(flag, value)| format!("--{flag}={value}"));
        supervisor.spawn(Server::new(program.name(), assets::find(program)?).args(flags).inside(Some(inside)))
    };
    Ok((spawn(Program::Kubelet, &kubelet)?, spawn(Program::KubeProxy, &proxy)?))
}

fn configuration(supervisor: &Supervisor, group: &str, address: Ipv4Addr, cri: &Path) -> Value {
    let data = supervisor.data();
    let pki = |file: &str| data.join("pki").join(file);
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": pki("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": pki("kubelet-server.crt"),
        "tlsPrivateKeyFile": pki("kubelet-server.key"),
        "containerRuntimeEndpoint": format!("unix://{}", cri.display()),
        "podLogsDir": data.join("pod-logs"),
        "resolvConf": data.join("resolv.conf"),
        "clusterDNS": [address],
        "clusterDomain": dns::DOMAIN,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "failCgroupV1": false,
        "failSwapOn": false,
        "oomScoreAdj": 0,
        // The machine is not ours: nothing is reserved on it, and its full disk is not a reason to evict a test.
        "enforceNodeAllocatable": [],
        "evictionHard": {},
        "localStorageCapacityIsolation": false,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    })
}
