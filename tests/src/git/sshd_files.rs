//! What one `sshd` needs on disk: its keys, its configuration and what its clients must know.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::program::{Git, output};
use crate::assets::{self, Tool};

/// The folder of one server.
#[derive(Debug)]
pub(super) struct SshdFiles {
    folder: PathBuf,
}

impl SshdFiles {
    pub(super) fn create(folder: &Path, address: SocketAddr) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let this = Self { folder: folder.to_owned() };
        for key in [this.host_key(), this.user_key()] {
            let mut keygen = Command::new(assets::tool(Tool::SshKeygen)?);
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "reeve-tests", "-f"]).arg(&key);
            output(keygen)?;
        }
        let public = this.host_key().with_extension("pub");
        let public = fs::read_to_string(&public).with_context(|| format!("cannot read {}", public.display()))?;
        let line = format!("[{}]:{} {public}", address.ip(), address.port());
        fs::write(this.known_hosts(), line).context("cannot write the known hosts")?;
        Ok(this)
    }

    fn host_key(&self) -> PathBuf {
        self.folder.join("host_key")
    }

    pub(super) fn user_key(&self) -> PathBuf {
        self.folder.join("user_key")
    }

    pub(super) fn known_hosts(&self) -> PathBuf {
        self.folder.join("known_hosts")
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.join("sshd_config")
    }

    pub(super) fn configure(&self, sshd: &Path, git: &Git, address: SocketAddr, user: &str) -> Result<()> {
        let variables: Vec<_> = git.isolation().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let text = format!(
            "ListenAddress {address}\n\
             HostKey {host_key}\n\
             AuthorizedKeysFile {user_key}.pub\n\
             AuthenticationMethods publickey\n\
             PermitRootLogin prohibit-password\n\
             UsePAM {pam}\n\
             StrictModes no\n\
             PidFile none\n\
             LogLevel VERBOSE\n\
             UseDNS no\n\
             MaxStartups 100\n\
             PermitUserRC no\n\
             DisableForwarding yes\n\
             AcceptEnv GIT_PROTOCOL\n\
             SetEnv {variables}\n\
             ForceCommand {git} shell -c \"$SSH_ORIGINAL_COMMAND\"\n",
            host_key = self.host_key().display(),
            user_key = self.user_key().display(),
            pam = if is_locked(user) { "yes" } else { "no" },
            variables = variables.join(" "),
            git = git.program().display(),
        );
        let file = self.config();
        fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
        // From 9.8 on, a few refused logins in a row would shut all of loopback out. Older ones do not know the word.
        let mut check = Command::new(sshd);
        check.args(["-t", "-o", "PerSourcePenalties=no", "-f"]).arg(&file);
        if check.output().is_ok_and(|done| done.status.success()) {
            fs::write(&file, format!("{text}PerSourcePenalties no\n")).context("cannot write the configuration")?;
        }
        Ok(())
    }
}

/// Without PAM, sshd turns away users whose password is locked (root's, on Ubuntu), though their keys would do.
fn is_locked(user: &str) -> bool {
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    shadow.lines().any(|line| line.starts_with(&format!("{user}:!")))
}
