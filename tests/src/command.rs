//! The commands of `reeve-harness`.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::assets::{Program, Released};
use crate::parts::{self, Verb};
use crate::shared_cluster::SharedCluster;
use crate::{assets, relay, supervisor};

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
    /// Run the parts of a `make` target that `tests/parts.toml` lists, all of them if none is named
    Parts { verb: Verb, only: Vec<String> },
    /// Serve a test's requests for servers on standard input (started by the harness itself)
    #[command(hide = true)]
    Supervise { folder: PathBuf },
    /// Forward connections on standard input's socket (started by the harness itself)
    #[command(hide = true)]
    Relay { target: SocketAddr },
    /// Accept inside a node for a server outside (started by the harness itself)
    #[command(hide = true)]
    Enter { at: SocketAddr, socket: PathBuf },
    /// Dial a server outside for those inside a node (started by the harness itself)
    #[command(hide = true)]
    Leave { socket: PathBuf, target: SocketAddr },
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
            Action::Parts { verb, only } => parts::run(verb, &only),
            Action::Supervise { folder } => supervisor::serve(&folder).map(|()| ExitCode::SUCCESS),
            Action::Relay { target } => relay::serve(target).map(|()| ExitCode::SUCCESS),
            Action::Enter { at, socket } => relay::enter(at, &socket).map(|()| ExitCode::SUCCESS),
            Action::Leave { socket, target } => relay::leave(&socket, target).map(|()| ExitCode::SUCCESS),
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
    let cluster = SharedCluster::start()?;
    let (program, arguments) = command.split_first().context("no command given")?;
    let status = cluster.command(program, arguments)?.status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    // As a shell says it: 128 and the signal.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
