//! Programs that come as Debian packages: found on the machine, installed when we may, else named in one line.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{is_executable, say};

/// Written while packages install, so that none of them starts a service (an sshd on a laptop, say).
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// A program of the distribution that the harness starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Busybox,
    CniPlugins,
    Containerd,
    Ctr,
    Dnsmasq,
    /// With dockerd: only e2e asks for them, so they are not among `ALL`.
    Docker,
    Dockerd,
    Git,
    Gpg,
    Ip,
    Iptables,
    Nft,
    Nsenter,
    RedisServer,
    Runc,
    Setpriv,
    Skopeo,
    SshKeygen,
    Sshd,
    Unshare,
}

impl Tool {
    pub const ALL: [Tool; 18] = [
        Tool::Busybox,
        Tool::CniPlugins,
        Tool::Containerd,
        Tool::Ctr,
        Tool::Dnsmasq,
        Tool::Git,
        Tool::Gpg,
        Tool::Ip,
        Tool::Iptables,
        Tool::Nft,
        Tool::Nsenter,
        Tool::RedisServer,
        Tool::Runc,
        Tool::Setpriv,
        Tool::Skopeo,
        Tool::SshKeygen,
        Tool::Sshd,
        Tool::Unshare,
    ];

    fn file_name(self) -> &'static str {
        match self {
            Tool::Busybox => "busybox",
            Tool::CniPlugins => "host-local",
            Tool::Containerd => "containerd",
            Tool::Ctr => "ctr",
            Tool::Dnsmasq => "dnsmasq",
            Tool::Docker => "docker",
            Tool::Dockerd => "dockerd",
            Tool::Git => "git",
            Tool::Gpg => "gpg",
            Tool::Ip => "ip",
            Tool::Iptables => "iptables",
            Tool::Nft => "nft",
            Tool::Nsenter => "nsenter",
            Tool::RedisServer => "redis-server",
            Tool::Runc => "runc",
            Tool::Setpriv => "setpriv",
            Tool::Skopeo => "skopeo",
            Tool::SshKeygen => "ssh-keygen",
            Tool::Sshd => "sshd",
            Tool::Unshare => "unshare",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Tool::Busybox => "busybox-static",
            Tool::CniPlugins => "containernetworking-plugins",
            Tool::Containerd | Tool::Ctr => "containerd",
            Tool::Dnsmasq => "dnsmasq-base",
            Tool::Docker | Tool::Dockerd => "docker.io",
            Tool::Git => "git",
            Tool::Gpg => "gnupg",
            Tool::Ip => "iproute2",
            Tool::Iptables => "iptables",
            Tool::Nft => "nftables",
            Tool::Nsenter | Tool::Setpriv | Tool::Unshare => "util-linux",
            Tool::RedisServer => "redis-server",
            Tool::Runc => "runc",
            Tool::Skopeo => "skopeo",
            Tool::SshKeygen => "openssh-client",
            Tool::Sshd => "openssh-server",
        }
    }

    pub(super) fn find(self) -> Result<PathBuf> {
        if let Some(found) = self.installed() {
            return Ok(found);
        }
        ensure(&[self])?;
        self.installed()
            .with_context(|| format!("package {} is installed but has no {}", self.package(), self.file_name()))
    }

    fn installed(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain(["/usr/sbin", "/sbin", "/usr/lib/cni", "/opt/cni/bin"].map(PathBuf::from))
            .map(|folder| folder.join(self.file_name()))
            .find(|file| is_executable(file))
    }
}

/// Installs the packages of those tools that are missing.
pub(super) fn ensure(tools: &[Tool]) -> Result<()> {
    let mut packages: Vec<_> =
        tools.iter().filter(|tool| tool.installed().is_none()).map(|tool| tool.package()).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    let wanted = packages.join(" ");
    if !rustix::process::geteuid().is_root() || Command::new("apt-get").arg("--version").output().is_err() {
        bail!(
            "these packages are missing: {wanted}; install them (on Debian or Ubuntu: `sudo apt-get install {wanted}`)"
        );
    }
    install(&packages).with_context(|| format!("cannot install {wanted}; try `apt-get install {wanted}` by hand"))
}

fn install(packages: &[&str]) -> Result<()> {
    let lock_file = std::env::temp_dir().join("reeve-harness-packages.lock");
    let lock = File::create(&lock_file).with_context(|| format!("cannot create {}", lock_file.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", lock_file.display()))?;
    say(&format!("installing {}", packages.join(" ")));
    let _policy = NoServices::declare()?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(packages);
    if apt_get(&arguments).is_err() {
        // A machine whose package lists were never fetched knows no package at all.
        apt_get(&["update", "-qq"])?;
        apt_get(&arguments)?;
    }
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let output = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("cannot start apt-get")?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().find(|line| line.starts_with("E:")).or(errors.lines().last()).unwrap_or("no output");
    bail!("apt-get said: {first}")
}

/// Keeps packages from starting their services while it lives. An existing policy is the machine's own and stays.
struct NoServices {
    ours: bool,
}

impl NoServices {
    fn declare() -> Result<Self> {
        match File::options().write(true).create_new(true).mode(0o755).open(POLICY) {
            Ok(mut file) => {
                file.write_all(b"#!/bin/sh\nexit 101\n").with_context(|| format!("cannot write {POLICY}"))?;
                Ok(Self { ours: true })
            }
            Err(_) if Path::new(POLICY).exists() => Ok(Self { ours: false }),
            Err(cause) => Err(cause).with_context(|| format!("cannot create {POLICY}")),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours {
            let _ = fs::remove_file(POLICY);
        }
    }
}
