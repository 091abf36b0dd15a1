//! The namespaces of a node, held open by a process that does nothing else.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result};

use super::containerd;
use crate::assets::{self, Tool};
use crate::supervisor::{Process, Server, Supervisor, while_running};

/// Runs inside the new namespaces. `$1` is the node's address, `$2` a file to make when all is done, `$3` containerd's socket.
///
/// The part of kubelet that counts what pods send looks for containerd at one place only, so a link stands there.
///
/// Private `/run`, `/var/lib` and `/var/log` take what containerd, runc, CNI and kubelet write to fixed places. The kernel may lack
/// dummy links, so a bridge carries the address and the default route, which the API server and kubelet insist on.
const SET_UP: &str = r#"
set -eu
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/containerd
ln -s "$3" /run/containerd/containerd.sock
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t tmpfs -o mode=755 tmpfs /var/log
ip link set lo up
ip link add out0 type bridge
ip address add "$1/24" dev out0
ip link set out0 up
ip route add default dev out0
echo 1 > /proc/sys/net/ipv4/ip_forward
: > "$2"
exec sleep infinity
"#;

/// Makes the namespaces and waits until they are set up.
pub(super) async fn hold(supervisor: &Supervisor, address: Ipv4Addr) -> Result<Process> {
    for tool in [Tool::Ip, Tool::Nsenter, Tool::Setpriv] {
        assets::tool(tool)?;
    }
    let done = supervisor.data().join("namespace-ready");
    let holder = supervisor.spawn(
        Server::new("namespace", assets::tool(Tool::Unshare)?)
            .args(["--net", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", SET_UP, "set-up"])
            .args([address.to_string(), done.display().to_string()])
            .args([containerd::socket(supervisor).display().to_string()]),
    )?;
    while_running(&[&holder], Duration::from_secs(30), "the node's namespaces are set up", || async {
        done.metadata().map(drop).context("still at it")
    })
    .await?;
    Ok(holder)
}
