//! The command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use reeve_process::{Process, ProcessArgs};
use tracing::info;

use crate::cgroup::Cgroups;
use crate::classes::Classes;
use crate::serve;

/// Gives pods resources by their class: an example of a plugin for node hooks
#[derive(Clone, Debug, Parser)]
#[command(name = "reeve-cri-example", version = reeve_process::version::LONG)]
pub struct Args {
    /// Unix socket to listen on: the endpoint of the plugin in its NodeHook
    #[arg(long, value_name = "SOCKET", default_value = "/run/reeve-cri-example/hook.sock")]
    pub listen: PathBuf,

    /// JSON file with the classes
    #[arg(long, value_name = "FILE", default_value = "/etc/reeve-cri-example/classes.json")]
    pub classes: PathBuf,

    /// Where control groups are mounted
    #[arg(long, value_name = "FOLDER", default_value = "/sys/fs/cgroup")]
    pub cgroups: PathBuf,

    #[command(flatten)]
    pub process: ProcessArgs,
}

impl Args {
    /// Serves until it is told to stop.
    pub fn run(self) -> ExitCode {
        reeve_process::run(&self.process.clone(), "reeve-cri-example", |process| self.work(process))
    }

    async fn work(self, process: Process) -> anyhow::Result<()> {
        let text = std::fs::read(&self.classes).with_context(|| format!("cannot read {}", self.classes.display()))?;
        let classes = Classes::parse(&text).with_context(|| format!("cannot use {}", self.classes.display()))?;
        let plugin = Arc::new(serve::Plugin { classes, cgroups: Cgroups::new(&self.cgroups) });
        let listener = listen(&self.listen).with_context(|| format!("cannot listen on {}", self.listen.display()))?;
        info!(listen = %self.listen.display(), "serving");
        process.health.check("socket").pass();
        serve::serve(listener, plugin, process.shutdown.draining_token()).await;
        Ok(())
    }
}

fn listen(path: &Path) -> std::io::Result<tokio::net::UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let _ = std::fs::remove_file(path);
    tokio::net::UnixListener::bind(path)
}
