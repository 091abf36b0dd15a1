//! The commands of `reeve`: what they are asked, what they answer, and with which status they end.
//!
//! Status 0: all is well. 1: there are findings or differences, or something is not ready. 2: the command could not do its
//! work. None but those in `cluster` talk to a cluster, and none but `new` and `chart` writes a file.

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod bundles;
mod chart;
mod cluster;
mod desired_runtime;
mod diff;
mod document;
mod explain;
mod failure;
mod following;
mod new;
mod plan;
mod progress;
mod render;
mod report;
mod run;
mod source;
mod style;
mod text;
mod validate;
mod workers;

use args::{Args, Command};
use failure::Failure;
use style::Style;

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// There is nothing to complain about.
    Fine,
    /// There are findings, or differences.
    Findings,
    /// The answer is there, but not all of it.
    Incomplete,
}

/// Where answers and findings go.
struct Terminal {
    out: BufWriter<io::Stdout>,
    style: Style,
    error_style: Style,
}

/// Parses, runs, reports.
pub(crate) fn main() -> ExitCode {
    let args = Args::parse();
    let (style, error_style) = args.styles();
    let args = match args {
        // The controller logs; it has nothing to print.
        Args { command: Command::Run(args), .. } => return run::run(*args),
        other => other,
    };
    let mut terminal = Terminal { out: BufWriter::with_capacity(64 << 10, io::stdout()), style, error_style };
    let result = run(args, &mut terminal).and_then(|status| {
        terminal.out.flush()?;
        Ok(status)
    });
    match result {
        Ok(Status::Fine) => ExitCode::SUCCESS,
        Ok(Status::Findings) => ExitCode::from(1),
        Ok(Status::Incomplete) => ExitCode::from(2),
        // As a shell shows it for whoever dies of a reader that went away.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(141),
        Err(failure) => {
            // What was printed so far is still an answer; that it cannot be written is not worth a second error.
            let _ = terminal.out.flush();
            let _ = io::stderr().write_all(failure.describe(error_style).as_bytes());
            ExitCode::from(2)
        }
    }
}

fn run(args: Args, terminal: &mut Terminal) -> Result<Status, Failure> {
    if let Some(directory) = &args.directory {
        std::env::set_current_dir(directory)
            .map_err(|cause| Failure::Folder { path: directory.display().to_string(), cause })?;
    }
    match args.command {
        Command::Render(args) => render::run(&args, terminal),
        Command::Validate(args) => validate::run(&args, terminal),
        Command::Diff(args) => diff::run(&args, terminal),
        Command::Explain(args) => explain::run(&args, terminal),
        Command::New(args) => new::run(&args, terminal),
        Command::Chart(args) => chart::run(&args, terminal),
        Command::Plan(args) => plan::run(&args, terminal),
        Command::Cluster(command) => cluster::run(command, args.directory.is_some(), terminal),
        Command::Run(args) => Ok(match run::run(*args) {
            code if code == ExitCode::SUCCESS => Status::Fine,
            _ => Status::Incomplete,
        }),
        Command::Completions { shell } => {
            args::write_completions(shell, &mut terminal.out);
            Ok(Status::Fine)
        }
        Command::FetchChild => {
            reeve_reconciler_git::child::run()?;
            Ok(Status::Fine)
        }
    }
}
