//! What the commands that talk to a cluster can be asked.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Group, Subcommand, ValueEnum};

mod examples;
mod install;
mod node;

pub(in crate::cli) use install::{ApplierRights, BootstrapArgs, InstallArgs, InstallFormat};
pub(in crate::cli) use node::{FeedArgs, NodeArgs, NodeCommand, NodeHooksArgs, NodeWhyArgs};

/// Where options that say which cluster are shown.
const CLUSTER: &str = "Cluster";
/// What `--namespace` means to commands about Reeve itself.
const OWN_NAMESPACE: &str = "Namespace that Reeve runs in; without it reeve-system";

/// What it means to the command that prepares a cluster.
const OF_RUNTIME: &str = "Namespace of the Runtime, in the control plane; the cluster gets one of that name";

/// Commands that read or write Reeve's kinds in a cluster.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ClusterCommand {
    /// List sources, runtimes and components of a cluster, and how they are doing
    #[command(after_help = examples::GET)]
    Get(GetArgs),
    /// Show sources, their runtimes, the components of these and all their objects
    #[command(after_help = examples::TREE)]
    Tree(TreeArgs),
    /// Show what happened to sources, runtimes and components
    #[command(after_help = examples::EVENTS)]
    Events(EventsArgs),
    /// Say where an object comes from: component, chart, file, commit
    #[command(after_help = examples::TRACE)]
    Trace(TraceArgs),
    /// Keep Reeve's hands off
    #[command(after_help = examples::SUSPEND)]
    Suspend(NamesArgs),
    /// Let Reeve go on
    #[command(after_help = examples::RESUME)]
    Resume(NamesArgs),
    /// Wake what scaling rules let sleep
    #[command(after_help = examples::WAKE)]
    Wake(RulesArgs),
    /// Let targets of scaling rules sleep now, as soon as no request is in flight
    #[command(after_help = examples::SLEEP)]
    Sleep(RulesArgs),
    /// Ask the CRI proxy of a node which hooks are in force, and what they did
    Node(NodeArgs),
    /// Ask for a reconciliation now
    #[command(after_help = examples::RECONCILE)]
    Reconcile(ReconcileArgs),
    /// Print what installs Reeve in a cluster, or put it there
    #[command(after_help = examples::INSTALL, mut_arg("namespace", |namespace| namespace.help(OWN_NAMESPACE)))]
    Install(InstallArgs),
    /// Prepare another cluster for a runtime, and print the Secret that leads there
    #[command(after_help = examples::BOOTSTRAP, mut_arg("namespace", |namespace| namespace.help(OF_RUNTIME)))]
    Bootstrap(BootstrapArgs),
    /// List what `reeve install` put into a cluster, or take it away; what Reeve applied stays
    #[command(after_help = examples::UNINSTALL, mut_arg("namespace", |namespace| namespace.hide(true)))]
    Uninstall(UninstallArgs),
    /// Say which Reeve this is, and which one runs in the cluster
    #[command(after_help = examples::VERSION, mut_arg("namespace", |namespace| namespace.help(OWN_NAMESPACE)))]
    Version(VersionArgs),
    /// Say whether Reeve can be installed, or how an installation is doing
    #[command(after_help = examples::CHECK, mut_arg("namespace", |namespace| namespace.help(OWN_NAMESPACE)))]
    Check(CheckArgs),
}

/// Which cluster, as kubectl is asked.
#[derive(Debug, Group)]
pub(in crate::cli) struct ConnectionArgs {
    /// Kubeconfig file; without it $KUBECONFIG, then ~/.kube/config, then the account of the pod
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it the current one
    #[arg(long, value_name = "NAME", help_heading = CLUSTER)]
    pub(in crate::cli) context: Option<String>,
    /// Namespace; without it that of the context
    #[arg(short, long, value_name = "NAME", help_heading = CLUSTER)]
    pub(in crate::cli) namespace: Option<String>,
    /// How long one request may take
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = super::duration, help_heading = CLUSTER)]
    pub(in crate::cli) request_timeout: Duration,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct GetArgs {
    /// Which kind; without it sources, runtimes and components in one list
    pub(in crate::cli) kind: Option<GetKind>,
    /// Only these
    #[arg(value_name = "NAME")]
    pub(in crate::cli) names: Vec<String>,
    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(in crate::cli) all_namespaces: bool,
    /// Stay, and print each row again when it changes
    #[arg(short, long)]
    pub(in crate::cli) watch: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(in crate::cli) output: GetFormat,
    /// What comes first
    #[arg(long, value_name = "BY", default_value = "name")]
    pub(in crate::cli) sort: Sorting,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GetKind {
    #[value(aliases = ["source", "gitsources", "gitsource", "gsrc"])]
    Sources,
    #[value(aliases = ["runtime", "rt"])]
    Runtimes,
    #[value(aliases = ["component", "runtimecomponents", "runtimecomponent", "rtc"])]
    Components,
    #[value(aliases = ["inventories", "inv"])]
    Inventory,
    /// Scaling rules, where their traffic goes and what they saved
    #[value(aliases = ["scalingrules", "scalingrule", "sr"])]
    Scaling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GetFormat {
    /// Columns for people
    Table,
    /// More columns, and messages in full
    Wide,
    /// One List; with --watch a line for each object and no List
    Json,
    /// Documents
    Yaml,
    /// A line for each object: kind and name
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Sorting {
    Name,
    /// The worst first
    State,
}

/// One of the kinds that people suspend, resume and reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Noun {
    #[value(aliases = ["sources", "gitsource", "gitsources", "gsrc"])]
    Source,
    #[value(aliases = ["runtimes", "rt"])]
    Runtime,
    #[value(aliases = ["components", "runtimecomponent", "runtimecomponents", "rtc"])]
    Component,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct TreeArgs {
    /// Below what; without it all that there is
    pub(in crate::cli) root: Option<TreeRoot>,
    /// Only this one
    #[arg(requires = "root")]
    pub(in crate::cli) name: Option<String>,
    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    pub(in crate::cli) all_namespaces: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TreeRoot {
    #[value(aliases = ["sources", "gitsource", "gitsources", "gsrc"])]
    Source,
    #[value(aliases = ["runtimes", "rt"])]
    Runtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// For people
    Text,
    /// One document; with --watch a line for each object
    Json,
    /// One document; with --watch one for each object
    Yaml,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct EventsArgs {
    /// Of what; without it of all
    pub(in crate::cli) noun: Option<Noun>,
    /// Only this one
    #[arg(requires = "noun")]
    pub(in crate::cli) name: Option<String>,
    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    pub(in crate::cli) all_namespaces: bool,
    /// Stay, and print what happens
    #[arg(short, long)]
    pub(in crate::cli) watch: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct TraceArgs {
    /// The object: its kind as kubectl takes it, and its name
    #[arg(value_name = "KIND/NAME")]
    pub(in crate::cli) object: String,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct NamesArgs {
    /// Which kind
    pub(in crate::cli) noun: Noun,
    /// Which of them
    #[arg(value_name = "NAME", required = true)]
    pub(in crate::cli) names: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct RulesArgs {
    /// Which scaling rules
    #[arg(value_name = "RULE", required = true)]
    pub(in crate::cli) names: Vec<String>,
    /// Stay until it is done
    #[arg(long)]
    pub(in crate::cli) wait: bool,
    /// How long to stay
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = super::duration)]
    pub(in crate::cli) timeout: Duration,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct ReconcileArgs {
    /// Which kind
    pub(in crate::cli) noun: Noun,
    /// Which of them
    pub(in crate::cli) name: String,
    /// Look into the repository first
    #[arg(long)]
    pub(in crate::cli) with_source: bool,
    /// Stay until it is done
    #[arg(long)]
    pub(in crate::cli) wait: bool,
    /// How long to stay
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = super::duration)]
    pub(in crate::cli) timeout: Duration,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct UninstallArgs {
    /// Take it away instead of listing it
    #[arg(long)]
    pub(in crate::cli) apply: bool,
    /// Also the kinds, and with them every source, runtime and inventory
    #[arg(long)]
    pub(in crate::cli) crds: bool,
    /// How long to wait for each object to go
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = super::duration)]
    pub(in crate::cli) timeout: Duration,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct VersionArgs {
    /// Only this program, without a look at a cluster
    #[arg(long)]
    pub(in crate::cli) client: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct CheckArgs {
    /// Whether Reeve can be installed, instead of how it is doing
    #[arg(long)]
    pub(in crate::cli) pre: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: Format,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// Whether lines can be drawn on standard output: a terminal, in a locale that has them.
pub(in crate::cli) fn draws_lines() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    });
    utf8 && io::stdout().is_terminal()
}

/// How many columns standard output has, if it is a terminal.
pub(in crate::cli) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
