//! The commands that show what the proxy of this host does. They print, since a person reads them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::state::client::{self, ReadError};
use crate::state::{Decision, Outcome, State};

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
    let decisions = match block_on(client::read_decisions(&socket.state_socket)) {
        Ok(decisions) => decisions,
        Err(error) => return failed(&error),
    };
    let is_of = |decision: &Decision| format!("{}/{}", decision.namespace, decision.pod) == args.pod;
    let decisions: Vec<Decision> = decisions.into_iter().filter(is_of).collect();
    if socket.json {
        return print(&[serde_json::to_string_pretty(&decisions).unwrap_or_default()]);
    }
    if decisions.is_empty() {
        return print(&[format!(
            "no plugin changed, refused or failed anything of {}, as far as the proxy remembers",
            args.pod
        )]);
    }
    print(&decisions.iter().map(of_decision).collect::<Vec<_>>())
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
        let commit = hook.commit.as_ref().map(|commit| format!(", from {commit}")).unwrap_or_default();
        let (name, generation, revision, percent) = (&hook.name, hook.generation, &hook.revision, hook.percent);
        lines.push(format!(
            "NodeHook {name}, generation {generation}, {revision}, {percent} % of pods{commit}{returned}"
        ));
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

fn of_decision(decision: &Decision) -> String {
    let place = if decision.container.is_empty() { "pod" } else { decision.container.as_str() };
    let Decision { time, hook, plugin, revision, commit, field, old, new, detail, .. } = decision;
    let what = match decision.outcome {
        Outcome::Changed => format!("{field}: {old} -> {new}"),
        Outcome::Audited => format!("{field}: {old} -> {new} (audited, not made)"),
        Outcome::NotAllowed => format!("{field}: not changed, its mask does not allow it"),
        Outcome::Kept => format!("{field}: not changed, {detail} set it before"),
        Outcome::Overruled => format!("{field}: taken over from {detail}"),
        Outcome::Failed => format!("failed: {detail}"),
        Outcome::Refused => format!("refused: {detail}"),
    };
    let at = if revision.is_empty() { String::new() } else { format!(" at {revision}") };
    let from = if commit.is_empty() { String::new() } else { format!(" from {commit}") };
    format!("{time} {place} {what} by {plugin}{at}{from}, {}", hook.name())
}

pub(super) fn block_on<T>(reading: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|cause| ReadError::Connect(PathBuf::new(), cause))?.block_on(reading)
}

/// The exit status of a command that has printed already.
pub(super) fn ended(result: Result<(), ReadError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has enough.
        Err(ReadError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
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
