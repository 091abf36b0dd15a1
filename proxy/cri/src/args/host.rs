//! The commands that change the host. They print, since a person reads them.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Socket;
use crate::install::{self, Host, Service};

/// Flags of `install`.
#[derive(Clone, Debug, clap::Args)]
pub struct InstallArgs {
    /// Unix socket that kubelet is to dial
    #[arg(long, value_name = "SOCKET", default_value = "/run/reeve-cri/cri.sock")]
    pub listen: Socket,

    /// Unix socket of the container runtime
    #[arg(long, value_name = "SOCKET", default_value = "/run/containerd/containerd.sock")]
    pub runtime_endpoint: Socket,

    /// The program that the service runs; without it, this one where it is now
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,

    /// The root of the host, if it is mounted elsewhere
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,

    /// Further flags of the proxy
    #[arg(last = true, value_name = "FLAGS")]
    pub arguments: Vec<String>,
}

/// Flags of `uninstall`.
#[derive(Clone, Debug, clap::Args)]
pub struct UninstallArgs {
    /// The root of the host, if it is mounted elsewhere
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,
}

pub(super) fn install(args: &InstallArgs) -> ExitCode {
    let program = args.program.clone().map_or_else(std::env::current_exe, Ok);
    let program = match program {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    let service = Service {
        program,
        listen: args.listen.0.clone(),
        runtime: args.runtime_endpoint.0.clone(),
        arguments: args.arguments.clone(),
    };
    let host = Host::read(&args.root, kubelet_version(&args.root).as_deref());
    let plan = install::plan(&service, &host);
    match install::install(&args.root, &plan) {
        Ok(changed) => report("wrote", &changed, &plan.advice),
        Err(error) => failed(&error),
    }
}

pub(super) fn uninstall(args: &UninstallArgs) -> ExitCode {
    // In this order no call is lost: kubelet leaves before the proxy goes.
    let advice = ["systemctl daemon-reload", "systemctl restart kubelet    # pods run on", "systemctl stop reeve-cri"];
    match install::uninstall(&args.root) {
        Ok(removed) => report("removed", &removed, &advice),
        Err(error) => failed(&error),
    }
}

/// What kubelet of this host says of itself. That of another root is not run.
fn kubelet_version(root: &Path) -> Option<String> {
    if root != Path::new("/") {
        return None;
    }
    let output = std::process::Command::new("kubelet").arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()
}

fn report(what: &str, files: &[PathBuf], advice: &[impl Display]) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut lines: Vec<String> = files.iter().map(|file| format!("{what} {}", file.display())).collect();
    if files.is_empty() {
        lines.push(format!("{what} nothing: all is as it should be"));
    }
    lines.push("left to do:".to_owned());
    lines.extend(advice.iter().map(|line| format!("  {line}")));
    match writeln!(out, "{}", lines.join("\n")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_closed) => ExitCode::FAILURE,
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "reeve-cri: {}", reeve_process::error_chain(error));
    ExitCode::FAILURE
}
