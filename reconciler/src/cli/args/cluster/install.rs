//! What `reeve install` and `reeve bootstrap` can be asked.

use std::time::Duration;

use clap::{Args as Group, ValueEnum};

use super::ConnectionArgs;
use crate::cli::args::duration;

#[derive(Debug, Group)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(in crate::cli) struct InstallArgs {
    /// Change a value of the chart; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) values: Vec<String>,
    /// What the account may do as which objects are applied: `cluster-admin`, or `namespaces=a,b`; without it nothing yet
    #[arg(long, value_name = "RIGHTS")]
    pub(in crate::cli) applier: Option<ApplierRights>,
    /// Only the kinds
    #[arg(long, conflicts_with_all = ["skip_crds", "values", "applier"])]
    pub(in crate::cli) crds_only: bool,
    /// All but the kinds
    #[arg(long)]
    pub(in crate::cli) skip_crds: bool,
    /// Put it into the cluster instead of printing it
    #[arg(long, conflicts_with = "output")]
    pub(in crate::cli) apply: bool,
    /// Stay until it works
    #[arg(long, requires = "apply")]
    pub(in crate::cli) wait: bool,
    /// How long to stay
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub(in crate::cli) timeout: Duration,
    /// Take fields over that others have set otherwise
    #[arg(long, requires = "apply")]
    pub(in crate::cli) force_conflicts: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(in crate::cli) output: InstallFormat,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct BootstrapArgs {
    /// The runtime that the cluster is prepared for
    #[arg(short, long, value_name = "NAME")]
    pub(in crate::cli) runtime: String,
    /// What the account may do as which objects are applied: `cluster-admin`, or `namespaces=a,b`; without it nothing yet
    #[arg(long, value_name = "RIGHTS")]
    pub(in crate::cli) applier: Option<ApplierRights>,
    /// Prepare it instead of printing what that takes, and print the Secret for the control plane
    #[arg(long, conflicts_with = "output")]
    pub(in crate::cli) apply: bool,
    /// Address of its API server as the control plane reaches it; without it that of the kubeconfig
    #[arg(long, value_name = "URL", requires = "apply")]
    pub(in crate::cli) server: Option<String>,
    /// How long to wait for the token
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub(in crate::cli) timeout: Duration,
    /// Take fields over that others have set otherwise
    #[arg(long, requires = "apply")]
    pub(in crate::cli) force_conflicts: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub(in crate::cli) output: InstallFormat,
    #[command(flatten)]
    pub(in crate::cli) connection: ConnectionArgs,
}

/// What `--applier` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ApplierRights {
    ClusterAdmin,
    Namespaces(Vec<String>),
}

impl std::str::FromStr for ApplierRights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "cluster-admin" {
            return Ok(Self::ClusterAdmin);
        }
        let names: Vec<String> =
            text.strip_prefix("namespaces=").unwrap_or_default().split(',').map(str::to_owned).collect();
        if names.iter().any(|name| !reeve_renderer::names::is_label(name)) {
            return Err("wanted cluster-admin, or namespaces such as namespaces=shop,orders".to_owned());
        }
        Ok(Self::Namespaces(names))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum InstallFormat {
    /// Documents
    Yaml,
    /// One List
    Json,
    /// A line for each object
    Name,
}
