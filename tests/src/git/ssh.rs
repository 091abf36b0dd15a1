//! A repository over SSH: a real `sshd` on a loopback port, with keys made on the spot.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::GitRepository;
use super::program::output;
use super::sshd_files::SshdFiles;
use crate::assets::{self, Tool};
use crate::supervisor::{Process, Server, while_running};

const START_LIMIT: Duration = Duration::from_secs(30);
/// A port that was free when we looked may be taken when the server binds it.
const PORT_ATTEMPTS: u32 = 3;
/// A root sshd wants it for processes without rights. Packages have it made when the service starts, which ours never does.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// A repository behind an `sshd` of its own that runs nothing but git. Dropping it kills the server.
#[derive(Debug)]
pub struct GitSsh {
    address: SocketAddr,
    user: String,
    repository: PathBuf,
    files: SshdFiles,
    process: Process,
}

impl GitSsh {
    pub(super) async fn start(repository: &GitRepository) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once(repository).await {
                Err(error) if attempt < PORT_ATTEMPTS && format!("{error:#}").contains("Cannot bind any address") => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn start_once(repository: &GitRepository) -> Result<Self> {
        if rustix::process::geteuid().is_root() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(PRIVILEGE_SEPARATION)
                .with_context(|| format!("cannot create {PRIVILEGE_SEPARATION}"))?;
        }
        let user = output(whoami())?;
        let address = free_address()?;
        let name = format!("sshd-{}", address.port());
        let files = SshdFiles::create(&repository.supervisor.data().join(&name), address)?;
        let sshd = assets::tool(Tool::Sshd)?;
        files.configure(&sshd, &repository.git, address, &user)?;
        let config = files.config().display().to_string();
        let process = repository.supervisor.spawn(Server::new(&name, sshd).args(["-D", "-e", "-f", &config]))?;
        // Its own word: whoever answers on the port might be another program that took it.
        let word = format!("Server listening on {} port {}", address.ip(), address.port());
        while_running(&[&process], START_LIMIT, "sshd listens", || async {
            let log = fs::read_to_string(process.log()).context("no log yet")?;
            if log.contains(&word) { Ok(()) } else { bail!("its log does not say so yet: {log}") }
        })
        .await?;
        Ok(Self { address, user, repository: repository.bare.clone(), files, process })
    }

    /// Where it listens, for a [`crate::Forwarder`] to stand before it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The repository's address.
    pub fn url(&self) -> String {
        format!("ssh://{}@{}{}", self.user, self.address, self.repository.display())
    }

    /// The key that the server lets in, in OpenSSH's format.
    pub fn private_key(&self) -> PathBuf {
        self.files.user_key()
    }

    /// A file that holds the server's host key under its address.
    pub fn known_hosts(&self) -> PathBuf {
        self.files.known_hosts()
    }

    /// The value of git's `core.sshCommand` that uses [`private_key`](Self::private_key) and
    /// [`known_hosts`](Self::known_hosts) and nothing of the user's.
    pub fn command(&self) -> String {
        Self::command_with(&self.private_key(), &self.known_hosts())
    }

    /// As [`command`](Self::command), with another key and other hosts.
    pub fn command_with(private_key: &Path, known_hosts: &Path) -> String {
        format!(
            "ssh -F /dev/null -i '{}' -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes \
             -o StrictHostKeyChecking=yes -o UserKnownHostsFile='{}' -o GlobalKnownHostsFile=/dev/null",
            private_key.display(),
            known_hosts.display()
        )
    }

    /// The server, to freeze or kill.
    pub fn process(&self) -> &Process {
        &self.process
    }
}

impl Drop for GitSsh {
    fn drop(&mut self) {
        // It may be gone already, by a test's own hand.
        let _ = self.process.kill();
    }
}

fn whoami() -> Command {
    let mut command = Command::new("id");
    command.arg("-un");
    command
}

fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port on loopback")?;
    listener.local_addr().context("cannot read the port")
}
