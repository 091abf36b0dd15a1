//! The commands of `reeve-harness`.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::assets::{Program, Released};
use crate::cluster::{self, Cluster};
use crate::control_plane::ControlPlane;
use crate::{assets, harness_binary, relay, supervisor};

/// Starts and supervises the real servers that Reeve's tests talk to
#[derive(Debug, Parser)]
#[command(name = "reeve-harness")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Find, build or install every server and tool that the tests need
    Setup,
    /// Print the path of one server or tool, built if it must be
    Find {
        #[arg(value_parser = wanted)]
        program: Wanted,
    },
    /// Run a command with a cluster that all test processes below it share
    Run {
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
    /// Serve a test's requests for servers on standard input (started by the harness itself)
    #[command(hide = true)]
    Supervise { folder: PathBuf },
    /// Forward connections on standard input's socket (started by the harness itself)
    #[command(hide = true)]
    Relay { target: SocketAddr },
}

/// Something that can be looked for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Server(Program),
    Released(Released),
}

impl Args {
    pub fn run(self) -> Result<ExitCode> {
        match self.action {
            Action::Setup => assets::ensure_all().map(|()| ExitCode::SUCCESS),
            Action::Find { program } => {
                let found = match program {
                    Wanted::Server(program) => Some(assets::find(program)?),
                    Wanted::Released(program) => assets::released(program)?,
                };
                let Some(found) = found else { return Ok(ExitCode::FAILURE) };
                println!("{}", found.display());
                Ok(ExitCode::SUCCESS)
            }
            Action::Run { command } => run(&command),
            Action::Supervise { folder } => supervisor::serve(&folder).map(|()| ExitCode::SUCCESS),
            Action::Relay { target } => relay::serve(target).map(|()| ExitCode::SUCCESS),
        }
    }
}

fn wanted(name: &str) -> Result<Wanted, String> {
    let servers = Program::ALL.into_iter().map(|program| (program.name(), Wanted::Server(program)));
    let released = Released::ALL.into_iter().map(|program| (program.name(), Wanted::Released(program)));
    let all: Vec<_> = servers.chain(released).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let message = format!("one of {}", names.join(", "));
    all.into_iter().find(|(known, _)| *known == name).map(|(_, wanted)| wanted).ok_or(message)
}

fn run(command: &[String]) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
    let control_plane = runtime.block_on(async { ControlPlane::start().await?.controllers().await })?;
    let description = control_plane.supervisor().data().join("cluster.json");
    let cluster: &Cluster = &control_plane;
    let text = serde_json::to_string(cluster).context("cannot describe the cluster")?;
    fs::write(&description, text).with_context(|| format!("cannot write {}", description.display()))?;

    let (program, arguments) = command.split_first().context("no command given")?;
    let kubectl = assets::find(Program::Kubectl)?;
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = kubectl.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&inherited));
    // Behind `setpriv` it ends with us: tests whose cluster is gone have nothing to go on for.
    let status = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "--", program])
        .args(arguments)
        // `kubectl` means this cluster, never the one that the user is logged in to.
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("KUBECACHEDIR", cluster.kubeconfig().with_extension("cache"))
        .env("PATH", std::env::join_paths(path).context("cannot put kubectl on PATH")?)
        .env(cluster::VARIABLE, &description)
        .env(harness_binary::VARIABLE, std::env::current_exe().context("cannot find our own program")?)
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    // As a shell says it: 128 and the signal.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
