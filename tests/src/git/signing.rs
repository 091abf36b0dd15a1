//! Keys to sign commits and tags with, made on the spot by `ssh-keygen` and `gpg`.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::GitRepository;
use super::program::output;
use crate::assets::{self, Tool};

/// A key that git can sign with. Its files go with it.
#[derive(Debug)]
pub struct SigningKey {
    kind: Kind,
    public: String,
    fingerprint: String,
    folder: TempDir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ssh,
    Pgp,
}

impl SigningKey {
    /// A key of SSH.
    pub fn ssh() -> Result<Self> {
        let folder = own_folder()?;
        let key = folder.path().join("key");
        let keygen = assets::tool(Tool::SshKeygen)?;
        let mut command = Command::new(&keygen);
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "tests@reeve.invalid", "-f"]).arg(&key);
        output(command)?;
        let public = key.with_extension("pub");
        let mut command = Command::new(&keygen);
        command.arg("-lf").arg(&public);
        let shown = output(command)?;
        let fingerprint = shown.split_whitespace().nth(1).context("ssh-keygen printed no fingerprint")?.to_owned();
        let public = fs::read_to_string(&public).with_context(|| format!("cannot read {}", public.display()))?;
        Ok(Self { kind: Kind::Ssh, public, fingerprint, folder })
    }

    /// A key of PGP.
    pub fn pgp() -> Result<Self> {
        let folder = own_folder()?;
        let program = Self::program_in(folder.path());
        let gpg = assets::tool(Tool::Gpg)?;
        // Git can name a program, but neither a folder of keys nor that nobody is there to be asked.
        let script = format!(
            "#!/bin/sh\nexec {} --homedir {} --batch --quiet --no-tty --pinentry-mode loopback --passphrase '' \"$@\"\n",
            gpg.display(),
            folder.path().display()
        );
        write_program(&program, &script)?;
        let run = |args: &[&str]| {
            let mut command = Command::new(&program);
            command.args(args);
            output(command)
        };
        run(&["--quick-gen-key", "tests <tests@reeve.invalid>", "ed25519", "sign", "never"])?;
        let listed = run(&["--with-colons", "--list-keys"])?;
        let line = listed.lines().find_map(|line| line.strip_prefix("fpr:"));
        let fingerprint = line.and_then(|line| line.split(':').find(|field| !field.is_empty()));
        let Some(fingerprint) = fingerprint else { bail!("gpg printed no fingerprint: {listed}") };
        let public = run(&["--armor", "--export"])?;
        Ok(Self { kind: Kind::Pgp, public, fingerprint: fingerprint.to_owned(), folder })
    }

    /// The public key, as its tool writes it.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The fingerprint, as its tool prints it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn program_in(folder: &Path) -> PathBuf {
        folder.join("gpg")
    }
}

impl Drop for SigningKey {
    fn drop(&mut self) {
        if self.kind == Kind::Pgp {
            // It would end by itself, but only when it next looks whether its folder is there.
            let _ = Command::new("gpgconf").arg("--homedir").arg(self.folder.path()).args(["--kill", "all"]).output();
        }
    }
}

impl GitRepository {
    /// Signs every commit from now on with this key, or none any more.
    pub fn sign_with(&self, key: Option<&SigningKey>) -> Result<()> {
        let Some(key) = key else { return self.git(&["config", "commit.gpgSign", "false"]).map(drop) };
        let file = key.folder.path().join("key").display().to_string();
        let program = SigningKey::program_in(key.folder.path()).display().to_string();
        let keygen = assets::tool(Tool::SshKeygen)?.display().to_string();
        let settings = match key.kind {
            Kind::Ssh => {
                [("gpg.format", "ssh"), ("gpg.ssh.program", keygen.as_str()), ("user.signingKey", file.as_str())]
            }
            Kind::Pgp => [
                ("gpg.format", "openpgp"),
                ("gpg.program", program.as_str()),
                ("user.signingKey", key.fingerprint.as_str()),
            ],
        };
        for (name, value) in settings.into_iter().chain([("commit.gpgSign", "true")]) {
            self.git(&["config", name, value])?;
        }
        Ok(())
    }

    /// As [`annotated_tag`](Self::annotated_tag), signed with the key of the last [`sign_with`](Self::sign_with).
    pub fn signed_tag(&self, name: &str, message: &str) -> Result<()> {
        self.git(&["tag", "--force", "--sign", "--message", message, name]).map(drop)
    }
}

/// With a short name: the sockets of `gpg-agent` in it have little room for one.
fn own_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("key-").tempdir().context("cannot create a folder for a key")?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).context("cannot keep a key to ourselves")?;
    Ok(folder)
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let file = fs::File::options().write(true).create_new(true).mode(0o700).open(path);
    let mut file = file.with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}
