//! The commands that show what the proxy of this host does. They print, since a person reads them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::state::client::{self, ReadError};
use crate::state::{Change, State};

/// Flags of `hooks`.
#[derive(Clone, Debug, clap::Args)]
pub struct HooksArgs {
    #[command(flatten)]
    pub socket: SocketArgs,
}

/// Flags of `why`.
#[derive(Clone, Debug, clap::Args)]
pub struct WhyArgs {
    /// The pod, as NAMESPACE/NAME
    #[arg(value_name = "POD")]
    pub pod: String,

    #[command(flatten)]
    pub socket: SocketArgs,
}

/// Where the proxy is asked.
#[derive(Clone, Debug, clap::Args)]
pub struct SocketArgs {
    /// Unix socket on which the proxy tells how its hooks do
    #[arg(long, value_name = "SOCKET", default_value = "/run/reeve-cri/state.sock")]
    pub state_socket: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) fn hooks(args: &HooksArgs) -> ExitCode {
    let socket = &args.socket;
    match block_on(client::read(&socket.state_socket)) {
        Ok(state) if socket.json => print(&[serde_json::to_string_pretty(&state).unwrap_or_default()]),
        Ok(state) => print(&of_state(&state)),
        Err(error) => failed(&error),
    }
}

pub(super) fn why(args: &WhyArgs) -> ExitCode {
    let socket = &args.socket;
    let changes = match block_on(client::read_changes(&socket.state_socket)) {
        Ok(changes) => changes,
        Err(error) => return failed(&error),
    };
    let is_of = |change: &Change| format!("{}/{}", change.namespace, change.pod) == args.pod;
    let changes: Vec<Change> = changes.into_iter().filter(is_of).collect();
    if socket.json {
        return print(&[serde_json::to_string_pretty(&changes).unwrap_or_default()]);
    }
    if changes.is_empty() {
        return print(&[format!("no plugin changed {}, as far as the proxy remembers", args.pod)]);
    }
    print(&changes.iter().map(of_change).collect::<Vec<_>>())
}

fn of_state(state: &State) -> Vec<String> {
    let mut lines = vec![format!(
        "reeve-cri {} before {}, since {}, hook set {}",
        state.version,
        state.runtime.as_deref().unwrap_or("a runtime that does not answer"),
        state.started_at,
        state.digest
    )];
    for hook in &state.hooks {
        let returned = hook.returned.as_ref().map(|why| format!(", returned: {why}")).unwrap_or_default();
        let (name, generation, revision, percent) = (&hook.name, hook.generation, &hook.revision, hook.percent);
        lines.push(format!("NodeHook {name}, generation {generation}, {revision}, {percent} % of pods{returned}"));
    }
    for plugin in &state.plugins {
        let hooks: Vec<&str> = plugin.hooks.iter().map(|hook| hook.name()).collect();
        let calls = &plugin.calls;
        let error = plugin.last_error.as_ref().map(|error| format!(", last error: {}", error.message));
        lines.push(format!(
            "plugin {} of {} at {}: {}; circuit {:?}, {} calls, {} failed, {} refused, {} changed{}",
            plugin.plugin,
            plugin.source,
            plugin.endpoint.display(),
            hooks.join(", "),
            plugin.circuit,
            calls.calls,
            calls.failures,
            calls.refusals,
            calls.changes,
            error.unwrap_or_default()
        ));
    }
    lines.extend(state.files.iter().map(|file| format!("file {}: {}", file.file, file.message)));
    lines.extend(state.bad_set.iter().map(|bad| format!("hook set: {bad}")));
    lines
}

fn of_change(change: &Change) -> String {
    let place = if change.container.is_empty() { "pod" } else { change.container.as_str() };
    let would = if change.audited { " (audited, not made)" } else { "" };
    let by = if change.revision.is_empty() { String::new() } else { format!(" at {}", change.revision) };
    let Change { time, hook, plugin, field, old, new, .. } = change;
    format!("{time} {place} {field}: {old} -> {new} by {plugin}{by}, {}{would}", hook.name())
}

fn block_on<T>(reading: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| ReadError::Connect(PathBuf::new(), cause))?.block_on(reading)
}

fn print(lines: &[String]) -> ExitCode {
    match writeln!(std::io::stdout().lock(), "{}", lines.join("\n")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_closed) => ExitCode::FAILURE,
    }
}

fn failed(error: &ReadError) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "reeve-cri: {}", reeve_process::error_chain(error));
    ExitCode::FAILURE
}
