//! What `reeve` can be asked. The environment is read here and nowhere else.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Group, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use reeve_reconciler_git::UserCredentials;

use super::style::Style;

pub(super) mod chart;
pub(super) mod cluster;
pub(super) mod diff;
mod examples;
pub(super) mod plan;

/// Looks at a fleet repository and the clusters it governs: what it renders to, what is wrong, what a change does, and why.
#[derive(Debug, Parser)]
#[command(name = "reeve", version = reeve_process::version::LONG, after_help = examples::REEVE)]
pub(super) struct Args {
    /// Work in this folder, as if started there
    #[arg(short = 'C', long, global = true, value_name = "PATH")]
    pub(super) directory: Option<PathBuf>,
    /// When to use colours; `NO_COLOR` is respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColorChoice {
    /// On a terminal only
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the objects of each runtime
    #[command(after_help = examples::RENDER)]
    Render(RenderArgs),
    /// Check the whole repository and say all that is wrong with it
    #[command(after_help = examples::VALIDATE)]
    Validate(ValidateArgs),
    /// Show what differs between the objects of two revisions or folders, or of a repository and a cluster
    #[command(after_help = examples::DIFF, override_usage = diff::USAGE, mut_args(diff::only_live))]
    Diff(Box<diff::DiffArgs>),
    /// Say why a value or a field of an object is what it is
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Start a fleet repository, a chart or a runtime
    #[command(after_help = examples::NEW)]
    New(NewArgs),
    /// Bring charts into the repository, and show what newer ones do
    #[command(after_help = examples::CHART)]
    Chart(Box<chart::ChartArgs>),
    #[command(flatten)]
    Cluster(cluster::ClusterCommand),
    /// Show what `reeve run` would do to a cluster, or between two revisions (`--rev A..B`)
    #[command(after_help = examples::PLAN)]
    Plan(Box<plan::PlanArgs>),
    /// Follow `GitSources` and keep the cluster to them
    #[command(after_help = examples::RUN)]
    Run(Box<RunArgs>),
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions { shell: Shell },
    /// Fetch one repository, as standard input says
    #[command(hide = true)]
    FetchChild,
}

#[derive(Debug, Group)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) process: reeve_process::ProcessArgs,
    #[command(flatten)]
    pub(super) connection: cluster::ConnectionArgs,
    /// Follow only the `GitSources` and Runtimes of this namespace
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) watch_namespace: Option<String>,
    /// Where repositories are mirrored
    #[arg(long, value_name = "PATH", env = "REEVE_DATA", default_value = "/var/lib/reeve")]
    pub(super) data_folder: PathBuf,
    /// Where `POST /hooks/<id>` is served, for Git servers that tell of pushes
    #[arg(long, value_name = "ADDRESS")]
    pub(super) webhook_address: Option<std::net::SocketAddr>,
    /// Under which address other replicas reach this one, to hand webhook calls over to whoever leads
    #[arg(long, value_name = "IP", requires = "webhook_address")]
    pub(super) pod_address: Option<std::net::IpAddr>,
    /// How many writes may be under way at once, of all runtimes together
    #[arg(long, value_name = "NUMBER", default_value = "32", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) concurrency: u16,
    /// Account as which components are applied whose target is the control plane
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "reeve-system/reeve-control-plane", value_parser = account)]
    pub(super) control_plane_account: (String, String),
    /// Kinds that such components may have, as `GROUP/Kind`, or `/Kind` of the core group; may be given several times
    #[arg(long = "control-plane-kind", value_name = "GROUP/KIND", value_parser = group_and_kind)]
    pub(super) control_plane_kinds: Vec<String>,
    /// Namespace of the leader lease; that of the pod or the context if not given
    #[arg(long, value_name = "NAMESPACE")]
    pub(super) lease_namespace: Option<String>,
    /// Lead without a lease: only where nobody else runs
    #[arg(long)]
    pub(super) no_lease: bool,
}

/// Reads `reeve-system/reeve-applier`.
fn account(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = pair.ok_or("wanted a namespace and a name, such as reeve-system/reeve-applier")?;
    Ok((namespace.to_owned(), name.to_owned()))
}

/// Reads `cluster.x-k8s.io/Cluster`.
fn group_and_kind(text: &str) -> Result<String, String> {
    let kind = text.split_once('/').map(|(_, kind)| kind);
    let fine =
        kind.is_some_and(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()) && !kind.contains('/'));
    let said = "wanted a group and a kind, such as cluster.x-k8s.io/Cluster, or /Secret of the core group";
    if fine { Ok(text.to_owned()) } else { Err(said.to_owned()) }
}

/// Which revision of which repository.
#[derive(Debug, Default, Group)]
pub(super) struct RevisionArgs {
    /// Read the repository at this URL or path instead of a folder
    #[arg(long, value_name = "URL")]
    pub(super) git: Option<String>,
    /// Branch, tag, commit, or HEAD~2; without --git of the repository that the folder is in
    #[arg(long, value_name = "REV")]
    pub(super) rev: Option<String>,
    /// How long a fetch may take
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(super) timeout: Duration,
}

impl RevisionArgs {
    /// What a Git server may be shown.
    pub(super) fn credentials() -> UserCredentials {
        UserCredentials { home: std::env::home_dir() }
    }
}

#[derive(Debug, Group)]
pub(super) struct RenderArgs {
    /// The fleet repository
    #[arg(default_value = ".", conflicts_with = "git")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) revision: RevisionArgs,
    /// Only this runtime; may be given several times
    #[arg(short, long = "runtime", value_name = "NAME")]
    pub(super) runtimes: Vec<String>,
    /// Only this component; may be given several times
    #[arg(short, long = "component", value_name = "NAME")]
    pub(super) components: Vec<String>,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(super) output: RenderFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RenderFormat {
    /// Documents, each with a comment that says where it comes from
    Yaml,
    /// One List of all objects
    Json,
    /// A line for each object: runtime, component, kind, name
    Name,
    /// A line for each runtime, or for each component with --component
    Digest,
}

#[derive(Debug, Group)]
pub(super) struct ValidateArgs {
    /// The fleet repository
    #[arg(default_value = ".", conflicts_with = "git")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) revision: RevisionArgs,
    /// Also check that chart versions which are in this revision or folder did not change
    #[arg(long, value_name = "REV|PATH")]
    pub(super) against: Option<String>,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(super) output: ReportFormat,
    /// Treat warnings as errors
    #[arg(long)]
    pub(super) warnings_as_errors: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ReportFormat {
    /// For people
    Text,
    /// One document with all findings and a summary
    Json,
    /// Annotations of GitHub workflows
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Debug, Group)]
pub(super) struct ExplainArgs {
    /// A path of values such as image.tag, or an object as KIND/NAME or KIND/NAMESPACE/NAME
    #[arg(value_name = "VALUE.PATH|KIND/NAME")]
    pub(super) subject: String,
    /// A field of the object, such as .spec.replicas
    pub(super) field: Option<String>,
    /// The runtime
    #[arg(short, long, value_name = "NAME")]
    pub(super) runtime: String,
    /// The component; all that know the path or the object if left out
    #[arg(short, long, value_name = "NAME")]
    pub(super) component: Option<String>,
    #[command(flatten)]
    pub(super) revision: RevisionArgs,
}

#[derive(Debug, Group)]
pub(super) struct NewArgs {
    #[command(subcommand)]
    pub(super) what: NewCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum NewCommand {
    /// A fleet repository in a folder of this name or path, with a chart and a runtime
    Fleet(NewThing),
    /// A chart in charts/NAME/0.1.0
    Chart(NewThing),
    /// A runtime in runtimes/NAME.yaml
    Runtime(NewThing),
}

#[derive(Debug, Group)]
pub(super) struct NewThing {
    /// What it is called
    pub(super) name: String,
    /// Where: the folder to make a fleet in, or the fleet repository
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
}

impl Args {
    /// How standard output and standard error are written.
    pub(super) fn styles(&self) -> (Style, Style) {
        let wanted = |terminal: bool| match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                terminal && !plain && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        };
        (Style::new(wanted(io::stdout().is_terminal())), Style::new(wanted(io::stderr().is_terminal())))
    }
}

/// Writes the completions of a shell.
pub(super) fn write_completions(shell: Shell, out: &mut dyn io::Write) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "reeve", &mut script);
    // A reader that goes away is noticed when the rest is flushed.
    let _ = out.write_all(&script);
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    let number = number.parse::<u32>().map_or(0, u64::from);
    match number.saturating_mul(seconds) {
        0 => Err("write it like 30s, 5m or 1h".to_owned()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        for bad in ["", "s", "0s", "-1s", "1d", "99999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
