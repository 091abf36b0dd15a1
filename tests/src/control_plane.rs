//! etcd and kube-apiserver, with controller-manager and scheduler on request.
//!
//! Owns their flags, certificates and kubeconfigs. Everything listens on loopback, or inside a [`crate::Node`]'s own
//! network namespace.

mod flags;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::assets::{self, Program};
use crate::cluster::Cluster;
use crate::kubeconfig;
use crate::pki::Authority;
use crate::supervisor::{Process, Server, Supervisor, while_running};

const START_LIMIT: Duration = Duration::from_secs(90);
/// A port that was free when we looked may be taken when the server binds it.
const PORT_ATTEMPTS: u32 = 3;

/// A Kubernetes API of one's own. Dropping it ends its servers and removes their files.
#[derive(Debug)]
pub struct ControlPlane {
    cluster: Cluster,
    supervisor: Supervisor,
    place: Place,
    etcd: Process,
    apiserver: Process,
}

/// Where the servers of a control plane listen.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The server whose namespaces the others join; the host's if none.
    pub(crate) inside: Option<String>,
    pub(crate) address: Ipv4Addr,
    pub(crate) ports: Ports,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) apiserver: u16,
    pub(crate) controller_manager: u16,
    pub(crate) scheduler: u16,
}

impl Ports {
    /// Ports that nothing on this machine uses right now.
    pub(crate) fn free() -> Result<Self> {
        // All are held until all are known, so that no two are the same.
        let listeners = (0..5)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<Result<Vec<_>, _>>()
            .context("cannot find a free port on loopback")?;
        let ports = listeners
            .iter()
            .map(|listener| listener.local_addr().map(|address| address.port()))
            .collect::<Result<Vec<_>, _>>()
            .context("cannot find a free port on loopback")?;
        Ok(Self {
            etcd: ports[0],
            etcd_peer: ports[1],
            apiserver: ports[2],
            controller_manager: ports[3],
            scheduler: ports[4],
        })
    }
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver on free loopback ports and waits until the API answers.
    pub async fn start() -> Result<Self> {
        let mut attempt = 1;
        loop {
            let place = Place { inside: None, address: Ipv4Addr::LOCALHOST, ports: Ports::free()? };
            match Self::start_at(Supervisor::start("control-plane")?, place).await {
                Err(error) if attempt < PORT_ATTEMPTS && format!("{error:#}").contains("address already in use") => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    pub(crate) async fn start_at(supervisor: Supervisor, place: Place) -> Result<Self> {
        let authority = Authority::new(&supervisor.data().join("pki"))?;
        let etcd = supervisor.spawn(
            Server::new("etcd", assets::find(Program::Etcd)?)
                .args(flags::etcd(&supervisor.data().join("etcd"), &place, flags::ETCD_QUOTA))
                .inside(place.inside.as_deref()),
        )?;
        let apiserver = supervisor.spawn(
            Server::new("kube-apiserver", assets::find(Program::KubeApiserver)?)
                .args(flags::apiserver(&supervisor, &authority, &place)?)
                .inside(place.inside.as_deref()),
        )?;
        let reached_at = crate::relay::host_address(&supervisor, &place, place.ports.apiserver)?;
        let kubeconfig = supervisor.data().join("admin.kubeconfig");
        let admin = authority.client("admin", "admin", Some("system:masters"))?;
        kubeconfig::write(&kubeconfig, reached_at, authority.certificate(), &admin)?;
        let from_inside = SocketAddr::from((place.address, place.ports.apiserver));
        for (file, user, group) in COMPONENTS {
            let pair = authority.client(file, user, group)?;
            let file = supervisor.data().join(format!("{file}.kubeconfig"));
            kubeconfig::write(&file, from_inside, authority.certificate(), &pair)?;
        }
        authority.server("kubelet-server", &[place.address.into()])?;

        let cluster = Cluster::new(kubeconfig, supervisor.data().join("audit.log"), supervisor.logs());
        let this = Self { cluster, supervisor, place, etcd, apiserver };
        this.supervisor.keeping_logs(this.ready()).await?;
        Ok(this)
    }

    /// Adds kube-controller-manager and kube-scheduler and waits until they work.
    pub async fn controllers(self) -> Result<Self> {
        let scheduler = self.spawn(Program::KubeScheduler, flags::scheduler(&self.supervisor, &self.place))?;
        let manager =
            self.spawn(Program::KubeControllerManager, flags::controller_manager(&self.supervisor, &self.place))?;
        // The controllers' first visible work is the ServiceAccount of the `default` namespace.
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), "default");
        let servers = [&manager, &scheduler];
        let working = while_running(&servers, START_LIMIT, "kube-controller-manager works", || async {
            accounts.get("default").await.context("no default ServiceAccount yet")
        });
        self.supervisor.keeping_logs(working).await?;
        Ok(self)
    }

    /// Waits until the API server says that it is ready, or says why it cannot be.
    pub async fn ready(&self) -> Result<()> {
        let client = self.client();
        while_running(&[&self.etcd, &self.apiserver], START_LIMIT, "kube-apiserver is ready", || async {
            let request = http::Request::get("/readyz?exclude=shutdown").body(Vec::new())?;
            client.request_text(request).await.context("/readyz does not answer ok")
        })
        .await
        .map(drop)
    }

    /// Starts a killed etcd again, with the same data and address, and this much room; with plenty if it is not said.
    pub async fn restart_etcd(&mut self, quota: Option<u64>) -> Result<()> {
        let data = self.supervisor.data().join("etcd");
        self.etcd = self.spawn(Program::Etcd, flags::etcd(&data, &self.place, quota.unwrap_or(flags::ETCD_QUOTA)))?;
        self.ready().await
    }

    /// Takes etcd's alarms back. It keeps refusing writes until somebody does, although there is room again.
    pub async fn disarm_etcd(&self) -> Result<()> {
        let alarms = self.ask_etcd("/v3/maintenance/alarm", &json!({ "action": "GET" })).await?;
        for mut alarm in alarms["alarms"].as_array().cloned().unwrap_or_default() {
            alarm["action"] = json!("DEACTIVATE");
            self.ask_etcd("/v3/maintenance/alarm", &alarm).await?;
        }
        Ok(())
    }

    /// Asks etcd something by its JSON gateway.
    async fn ask_etcd(&self, path: &str, question: &Value) -> Result<Value> {
        let address = crate::relay::host_address(&self.supervisor, &self.place, self.place.ports.etcd)?;
        let mut connection = TcpStream::connect(address).await.context("cannot reach etcd")?;
        let question = question.to_string();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", question.len());
        connection.write_all((head + &question).as_bytes()).await.context("cannot ask etcd")?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.context("etcd does not answer")?;
        let (head, body) = answer.split_once("\r\n\r\n").context("etcd's answer is cut off")?;
        ensure!(head.contains(" 200 "), "etcd answers {answer}");
        serde_json::from_str(body).with_context(|| format!("etcd answers {body}"))
    }

    fn spawn(&self, program: Program, args: Vec<String>) -> Result<Process> {
        let server =
            Server::new(program.name(), assets::find(program)?).args(args).inside(self.place.inside.as_deref());
        self.supervisor.spawn(server)
    }

    /// The supervisor of its servers, to start more that live as long.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    pub fn etcd(&self) -> &Process {
        &self.etcd
    }

    pub fn apiserver(&self) -> &Process {
        &self.apiserver
    }

    /// Starts a killed API server again, with the same data and address.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.apiserver = self.spawn(Program::KubeApiserver, flags::apiserver_again(&self.supervisor, &self.place))?;
        self.ready().await
    }
}

/// File, user and group of the components that talk to the API server as themselves.
const COMPONENTS: [(&str, &str, Option<&str>); 5] = [
    ("controller-manager", "system:kube-controller-manager", None),
    // Whatever else runs beside the API server and may do all.
    ("inside", "admin", Some("system:masters")),
    ("kubelet", "system:node:node", Some("system:nodes")),
    ("proxy", "system:kube-proxy", None),
    ("scheduler", "system:kube-scheduler", None),
];

impl Deref for ControlPlane {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

pub(crate) fn service_address() -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 96, 0, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_used_port_is_named() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ports = Ports { etcd: taken.local_addr().unwrap().port(), ..Ports::free().unwrap() };
        let place = Place { inside: None, address: Ipv4Addr::LOCALHOST, ports };
        let supervisor = Supervisor::start("used-port").unwrap();
        let folder = supervisor.data().parent().unwrap().to_owned();
        let error = format!("{:#}", ControlPlane::start_at(supervisor, place).await.unwrap_err());
        assert!(error.contains("etcd exited with code 1: its port is used by another program"), "{error}");
        assert!(error.contains(&ports.etcd.to_string()), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
