//! What `reeve diff` can be asked.

use clap::{Arg, Args as Group, ValueEnum};

use super::RevisionArgs;
use super::cluster::ConnectionArgs;

/// The two ways of asking.
pub(super) const USAGE: &str = "reeve diff [OPTIONS] <A> <B>
       reeve diff --live [OPTIONS] [PATH]";

/// What `--namespace` means here.
const NAMESPACE: &str = "Namespace of the GitSource and its inventories; without it that of the context";

#[derive(Debug, Group)]
pub(in crate::cli) struct DiffArgs {
    /// Before: a revision of the repository here, or a folder; with --live the fleet repository
    #[arg(value_name = "A", required_unless_present = "live")]
    pub(in crate::cli) before: Option<String>,
    /// After: likewise
    #[arg(value_name = "B", required_unless_present = "live", conflicts_with = "live")]
    pub(in crate::cli) after: Option<String>,
    /// Compare the repository with the objects in a cluster, as the API server would make them
    #[arg(long)]
    pub(in crate::cli) live: bool,
    /// Only this runtime; may be given several times
    #[arg(short, long = "runtime", value_name = "NAME")]
    pub(in crate::cli) runtimes: Vec<String>,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: DiffFormat,
    /// With --live: ask as the accounts that `reeve run` applies as, which needs the right to impersonate them
    #[arg(long)]
    pub(in crate::cli) impersonate: bool,
    #[command(flatten)]
    pub(in crate::cli) revision: RevisionArgs,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// What only a cluster needs is refused where there is none. That B is there would excuse the lack of --live, so both are
/// said.
pub(super) fn only_live(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "git" => arg.requires("live").conflicts_with_all(["before", "after"]),
        "rev" | "kubeconfig" | "context" | "impersonate" => arg.requires("live").conflicts_with("after"),
        "namespace" => arg.requires("live").conflicts_with("after").help(NAMESPACE),
        _ => arg,
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum DiffFormat {
    /// For people
    Text,
    /// One document with all groups of runtimes and their changes
    Json,
}
