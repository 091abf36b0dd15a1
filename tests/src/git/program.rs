//! The git program with none of the surroundings it usually listens to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::assets::{self, Tool};

#[derive(Clone, Debug)]
pub(super) struct Git {
    program: PathBuf,
    home: PathBuf,
}

impl Git {
    /// Git with `home` as its home folder.
    pub(super) fn new(home: &Path) -> Result<Self> {
        fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
        Ok(Self { program: assets::tool(Tool::Git)?, home: home.to_owned() })
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// What keeps configuration out, as variables for whoever starts git.
    pub(super) fn isolation(&self) -> [(&'static str, String); 3] {
        [
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
            ("HOME", self.home.display().to_string()),
        ]
    }

    pub(super) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            // Also proxies, and the `GIT_DIR` that a git hook which runs the tests would hand down.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.isolation())
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "Reeve Tests")
            .env("GIT_AUTHOR_EMAIL", "tests@reeve.invalid")
            .env("GIT_COMMITTER_NAME", "Reeve Tests")
            .env("GIT_COMMITTER_EMAIL", "tests@reeve.invalid")
            .current_dir(folder)
            // Files of a test need not survive a power cut, and no clean-up may go on in the background.
            .args(["-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, folder: &Path, args: &[&str]) -> Result<String> {
        let mut command = self.command(folder);
        command.args(args);
        output(command)
    }
}

/// What a command prints, without white space around it.
pub(super) fn output(mut command: Command) -> Result<String> {
    let done = command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !done.status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        let program = command.get_program().display();
        bail!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr).trim());
    }
    let text = String::from_utf8(done.stdout).context("git did not print text")?;
    Ok(text.trim().to_owned())
}
