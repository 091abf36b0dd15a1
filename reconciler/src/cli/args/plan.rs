//! What `reeve plan` can be asked.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};

use super::RevisionArgs;
use super::cluster::ConnectionArgs;

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
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum PlanFormat {
    Text,
    Json,
}
