//! The commands that read and write Reeve's kinds in a cluster. They decide nothing that the controller decides: what they
//! show is what the objects say.

use std::io::{self, Write as _};

use super::args::cluster::ClusterCommand;
use super::failure::Failure;
use super::style::Paint;
use super::text::harmless;
use super::{Status, Terminal};

mod access;
mod age;
mod bootstrap;
mod cell;
mod check;
mod connection;
mod error;
mod events;
mod get;
mod governed;
mod install;
mod item;
mod kinds;
mod node;
mod reconcile;
mod suspend;
mod table;
mod trace;
mod tree;
mod uninstall;
mod version;
mod wake;

pub(super) use access::ClusterAccess;
pub(super) use connection::configure;
pub(super) use error::ClusterError;

/// Runs a command on a thread of its own making; nothing goes on after it.
pub(super) fn run(command: ClusterCommand, checkout: bool, terminal: &mut Terminal) -> Result<Status, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::Start)?;
    runtime.block_on(async {
        match command {
            ClusterCommand::Get(args) => get::run(&args, terminal).await,
            ClusterCommand::Tree(args) => tree::run(&args, terminal).await,
            ClusterCommand::Events(args) => events::run(&args, terminal).await,
            ClusterCommand::Trace(args) => trace::run(&args, checkout, terminal).await,
            ClusterCommand::Suspend(args) => suspend::run(&args, true, terminal).await,
            ClusterCommand::Resume(args) => suspend::run(&args, false, terminal).await,
            ClusterCommand::Wake(args) => wake::run(&args, wake::Ask::Wake, terminal).await,
            ClusterCommand::Sleep(args) => wake::run(&args, wake::Ask::Sleep, terminal).await,
            ClusterCommand::Node(args) => node::run(&args, terminal).await,
            ClusterCommand::Reconcile(args) => reconcile::run(&args, terminal).await,
            ClusterCommand::Install(args) => install::run(&args, terminal).await,
            ClusterCommand::Bootstrap(args) => bootstrap::run(&args, terminal).await,
            ClusterCommand::Uninstall(args) => uninstall::run(&args, terminal).await,
            ClusterCommand::Version(args) => version::run(&args, terminal).await,
            ClusterCommand::Check(args) => check::run(&args, terminal).await,
        }
    })
}

/// A failure of something that is not a plain request.
pub(super) fn refused(doing: &str, error: &(dyn std::error::Error + 'static)) -> Failure {
    let cause = error::Said(reeve_process::secret::scrub(&reeve_process::error_chain(error)).into_owned());
    ClusterError::Refused { doing: doing.to_owned(), cause }.into()
}

/// What a person should know although the command goes on.
pub(super) fn warn(terminal: &Terminal, text: &str) {
    let line = format!("{}: {}\n", terminal.error_style.paint(Paint::Warning, "warning"), harmless(text));
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().write_all(line.as_bytes());
}
