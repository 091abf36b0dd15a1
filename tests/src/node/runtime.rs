//! containerd alone, in namespaces of its own: for what stands before a container runtime and needs no cluster.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{ADDRESS, Image, containerd, namespace, on_node};
use crate::cgroup;
use crate::supervisor::{Process, Supervisor};

/// A container runtime without kubelet. Dropping it ends everything on it.
#[derive(Debug)]
pub struct ContainerRuntime {
    supervisor: Supervisor,
    holder: Process,
    containerd: Process,
    cgroup: String,
}

impl ContainerRuntime {
    /// Starts containerd and waits until it answers.
    pub async fn start() -> Result<Self> {
        super::need_root()?;
        let supervisor = Supervisor::start("runtime")?;
        supervisor.keeping_logs(Box::pin(Self::start_below(&supervisor))).await
    }

    async fn start_below(supervisor: &Supervisor) -> Result<Self> {
        let holder = namespace::hold(supervisor, ADDRESS).await?;
        let containerd = containerd::start(supervisor, holder.name())?;
        let data = supervisor.data();
        let run = data.parent().and_then(|folder| folder.file_name()).context("the run has no folder")?;
        let cgroup = cgroup::name_of_run(&run.to_string_lossy());
        supervisor.own_cgroup(&cgroup)?;
        cgroup::create(&cgroup)?;
        containerd::ready(&containerd, supervisor).await?;
        let this = Self { supervisor: supervisor.clone(), holder, containerd, cgroup: format!("/{cgroup}") };
        this.load(&Image::pause()?)?;
        Ok(this)
    }

    /// Makes an image known, without any registry.
    pub fn load(&self, image: &Image) -> Result<()> {
        containerd::load(&self.supervisor, &self.holder, image)
    }

    /// Starts it again after it was killed, with what it had.
    pub async fn restart(&mut self) -> Result<()> {
        self.containerd = containerd::start(&self.supervisor, self.holder.name())?;
        containerd::ready(&self.containerd, &self.supervisor).await
    }

    /// A command that runs in its network, with its mounts.
    pub fn command(&self, program: &str) -> Command {
        on_node(&self.holder, program)
    }

    /// A control group that is made for its pods and removed at the end.
    pub fn cgroup(&self) -> &str {
        &self.cgroup
    }

    pub fn inside(&self) -> &str {
        self.holder.name()
    }

    pub fn socket(&self) -> PathBuf {
        containerd::socket(&self.supervisor)
    }

    pub fn containerd(&self) -> &Process {
        &self.containerd
    }

    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }
}
