//! What `reeve plan` can be asked.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};

use super::cluster::ConnectionArgs;
use super::{RevisionArgs, group_and_kind};

#[derive(Debug, Group)]
pub(in crate::cli) struct PlanArgs {
    /// The fleet repository
    #[arg(default_value = ".", conflicts_with = "git")]
    pub(in crate::cli) path: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) revision: RevisionArgs,
    /// Only this runtime; may be given several times
    #[arg(short, long = "runtime", value_name = "NAME")]
    pub(in crate::cli) runtimes: Vec<String>,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: PlanFormat,
    /// Kinds that components of the control plane may have, as `reeve run` was told; without any that is not checked
    #[arg(long = "control-plane-kind", value_name = "GROUP/KIND", value_parser = group_and_kind)]
    pub(in crate::cli) control_plane_kinds: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum PlanFormat {
    Text,
    Json,
}
