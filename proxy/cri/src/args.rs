//! The command line: our own names, and those of koord-runtime-proxy with its defaults, so that it can be replaced in
//! place.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use reeve_process::ProcessArgs;

use crate::hooks::Scope;
use crate::proxy::Endpoints;
use crate::registry::Places;

mod config;
mod host;
mod klog;
mod replay;
mod run;
mod runtime;
mod sight;

/// Stands between kubelet and the container runtime and lets plugins change or refuse what kubelet asks
#[derive(Clone, Debug, Parser)]
#[command(name = "reeve-cri", version = reeve_process::version::LONG, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Without one, the proxy runs
    #[command(subcommand)]
    pub command: Option<Command>,

    /// TOML file with these flags by their own names; the command line counts for more
    #[arg(long, value_name = "FILE", default_value = "/etc/reeve-cri/config.toml")]
    pub config: PathBuf,

    /// Unix socket to listen on: kubelet's --container-runtime-endpoint
    #[arg(long, visible_alias = "koord-runtimeproxy-endpoint", value_name = "SOCKET")]
    #[arg(default_value = "/var/run/koord-runtimeproxy/runtimeproxy.sock")]
    pub listen: Socket,

    /// Unix socket of the container runtime
    #[arg(long, visible_alias = "remote-runtime-service-endpoint", value_name = "SOCKET")]
    #[arg(default_value = "/var/run/containerd/containerd.sock")]
    pub runtime_endpoint: Socket,

    /// Unix socket for calls of the image service, if the runtime does not serve them
    #[arg(long, visible_alias = "remote-image-service-endpoint", value_name = "SOCKET")]
    pub image_endpoint: Option<Socket>,

    /// What is behind the runtime's socket
    #[arg(long, visible_alias = "backend-runtime-mode", value_name = "MODE")]
    #[arg(value_enum, ignore_case = true, default_value = "Containerd")]
    pub mode: BackendMode,

    /// Folder with a JSON file for each plugin
    #[arg(long, value_name = "FOLDER", default_value = "/etc/runtime/hookserver.d")]
    pub hooks_dir: PathBuf,

    /// File with the hooks of the node's NodeHooks, which reeve-cri-feed writes
    #[arg(long, value_name = "FILE", default_value = "/var/lib/reeve-cri/hooks.json")]
    pub hook_set: PathBuf,

    /// Unix socket on which the proxy tells root which hooks are in force, and how their plugins do
    #[arg(long, value_name = "SOCKET", default_value = "/run/reeve-cri/state.sock")]
    pub state_socket: Socket,

    /// Label of pods that plugins are not asked about: their own
    #[arg(long, visible_alias = "runtime-hook-server-key", value_name = "KEY")]
    #[arg(default_value = "runtimeproxy.koordinator.sh/skip-hookserver")]
    pub skip_label_key: String,

    /// Value of that label
    #[arg(long, visible_alias = "runtime-hook-server-val", value_name = "VALUE", default_value = "true")]
    pub skip_label_value: String,

    /// Namespaces whose pods start although a plugin with failure policy Fail has failed, as static pods do
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', default_value = "kube-system")]
    pub exempt_namespaces: Vec<String>,

    /// Take the socket on standard input over from the process that started this one
    #[arg(long, hide = true)]
    pub take_over: bool,

    /// Where systemd hears of us
    #[arg(long, env = "NOTIFY_SOCKET", hide = true)]
    pub notify_socket: Option<String>,

    #[command(flatten)]
    pub process: ProcessArgs,
}

/// What else there is to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Make the proxy a service of this host and have kubelet speak to it; starts nothing, and prints what is left to do
    Install(host::InstallArgs),
    /// Take back what install wrote; stops nothing, and prints what is left to do
    Uninstall(host::UninstallArgs),
    /// Show which plugins are in force, in the order in which they are asked, and how they do
    Hooks(sight::HooksArgs),
    /// Show what plugins changed, refused or failed of a pod, and by which revision of a NodeHook and which commit
    Why(sight::WhyArgs),
    /// Print hooked calls as they come, one JSON document a line, without values of variables
    Record(replay::RecordArgs),
    /// Show what other hooks would have made of recorded calls; asks no plugin, and ends with 1 if anything differs
    Replay(replay::ReplayArgs),
}

/// What is behind the runtime's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendMode {
    /// a server of the CRI: containerd, CRI-O and others
    #[value(name = "Containerd")]
    Containerd,
    /// the Docker Engine API, for cri-dockerd
    #[value(name = "Docker")]
    Docker,
}

/// The path of a unix socket, with or without `unix://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket(pub PathBuf);

impl FromStr for Socket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(text.strip_prefix("unix://").unwrap_or(text));
        if path.is_absolute() {
            return Ok(Self(path));
        }
        Err("wanted the absolute path of a unix socket, such as /run/containerd/containerd.sock".to_owned())
    }
}

impl Args {
    /// Reads the command line, or says what is wrong with it and exits.
    pub fn from_command_line() -> Self {
        Self::read(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        // On a host, what every network can reach is a door. And a drain has no deadline, since calls have none.
        let command = Self::command()
            .mut_arg("admin_address", |arg| arg.default_value("127.0.0.1:9464"))
            .mut_arg("shutdown_deadline", |arg| arg.default_value("87600h").hide_default_value(true));
        let arguments = klog::without(arguments);
        let matches = command.clone().try_get_matches_from(&arguments)?;
        let args = Self::from_arg_matches(&matches)?;
        if args.command.is_some() {
            return Ok(args);
        }
        let in_file = |message: String| command.clone().error(ErrorKind::InvalidValue, message);
        let more = config::arguments(&args.config, &command, &matches).map_err(|error| in_file(error.to_string()))?;
        if more.is_empty() {
            return Ok(args);
        }
        let (program, given) = arguments.split_at(arguments.len().min(1));
        let all = program.iter().cloned().chain(more).chain(given.iter().cloned());
        let matches = command.clone().try_get_matches_from(all);
        Self::from_arg_matches(&matches.map_err(|error| in_file(format!("{}: {error}", args.config.display())))?)
    }

    fn endpoints(&self) -> Endpoints {
        Endpoints {
            runtime: self.runtime_endpoint.0.clone(),
            image: self.image_endpoint.as_ref().map(|socket| socket.0.clone()),
        }
    }

    fn places(&self) -> Places {
        Places { folder: self.hooks_dir.clone(), hook_set: self.hook_set.clone() }
    }

    fn scope(&self) -> Scope {
        Scope {
            skip_label: (self.skip_label_key.clone(), self.skip_label_value.clone()),
            exempt_namespaces: self.exempt_namespaces.clone(),
        }
    }

    /// Runs the proxy until it is told to stop, or does what else was asked.
    pub fn run(self) -> ExitCode {
        match &self.command {
            Some(Command::Install(args)) => return host::install(args),
            Some(Command::Uninstall(args)) => return host::uninstall(args),
            Some(Command::Hooks(args)) => return sight::hooks(args),
            Some(Command::Why(args)) => return sight::why(args),
            Some(Command::Record(args)) => return replay::record(args),
            Some(Command::Replay(args)) => return replay::replay(args, self.scope().skip_label),
            None => {}
        }
        let mut process = self.process.clone();
        process.share_admin_address = true;
        process.one_thread = true;
        reeve_process::run(&process, "reeve-cri", |process| run::proxy(self, process))
    }
}

#[cfg(test)]
mod tests;
