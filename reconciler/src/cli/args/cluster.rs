//! What the commands that talk to a cluster can be asked.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Group, Subcommand, ValueEnum};

mod examples;

/// Where options that say which cluster are shown.
const CLUSTER: &str = "Cluster";

/// Commands that read or write Reeve's kinds in a cluster.
#[derive(Debug, Subcommand)]
pub(in super::super) enum ClusterCommand {
    /// List sources, runtimes and components of a cluster, and how they are doing
    #[command(after_help = examples::GET)]
    Get(GetArgs),
}

/// Which cluster, as kubectl is asked.
#[derive(Debug, Group)]
pub(in super::super) struct ConnectionArgs {
    /// Kubeconfig file; without it $KUBECONFIG, then ~/.kube/config, then the account of the pod
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    pub(in super::super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it the current one
    #[arg(long, value_name = "NAME", help_heading = CLUSTER)]
    pub(in super::super) context: Option<String>,
    /// Namespace; without it that of the context
    #[arg(short, long, value_name = "NAME", help_heading = CLUSTER)]
    pub(in super::super) namespace: Option<String>,
    /// How long one request may take
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = super::duration, help_heading = CLUSTER)]
    pub(in super::super) request_timeout: Duration,
}

#[derive(Debug, Group)]
pub(in super::super) struct GetArgs {
    /// Which kind; without it sources, runtimes and components in one list
    pub(in super::super) kind: Option<GetKind>,
    /// Only these
    #[arg(value_name = "NAME")]
    pub(in super::super) names: Vec<String>,
    /// In all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(in super::super) all_namespaces: bool,
    /// Stay, and print each row again when it changes
    #[arg(short, long)]
    pub(in super::super) watch: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(in super::super) output: GetFormat,
    /// What comes first
    #[arg(long, value_name = "BY", default_value = "name")]
    pub(in super::super) sort: Sorting,
    #[command(flatten)]
    pub(in super::super) connection: ConnectionArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum GetKind {
    #[value(aliases = ["source", "gitsources", "gitsource", "gsrc"])]
    Sources,
    #[value(aliases = ["runtime", "rt"])]
    Runtimes,
    #[value(aliases = ["component", "runtimecomponents", "runtimecomponent", "rtc"])]
    Components,
    #[value(aliases = ["inventories", "inv"])]
    Inventory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum GetFormat {
    /// Columns for people
    Table,
    /// More columns, and messages in full
    Wide,
    /// One List; with --watch a line for each object
    Json,
    /// Documents
    Yaml,
    /// A line for each object: kind and name
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum Sorting {
    Name,
    /// The worst first
    State,
}

/// One of the kinds that people suspend, resume and reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum Noun {
    #[value(aliases = ["sources", "gitsource", "gitsources", "gsrc"])]
    Source,
    #[value(aliases = ["runtimes", "rt"])]
    Runtime,
    #[value(aliases = ["components", "runtimecomponent", "runtimecomponents", "rtc"])]
    Component,
}

/// Whether lines can be drawn on standard output: a terminal, in a locale that has them.
pub(in super::super) fn draws_lines() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    });
    utf8 && io::stdout().is_terminal()
}
