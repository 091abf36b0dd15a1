//! What `reeve chart` can be asked.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Group, Subcommand};

use super::duration;

#[derive(Debug, Group)]
pub(in crate::cli) struct ChartArgs {
    #[command(subcommand)]
    pub(in crate::cli) what: ChartCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ChartCommand {
    /// Put a chart into the repository, with a note of where it came from
    Import(ImportArgs),
    /// Show what a newer version of an imported chart does to the rendered fleet
    Update(UpdateArgs),
}

#[derive(Debug, Group)]
pub(in crate::cli) struct ImportArgs {
    /// A folder, an archive `.tgz`, `oci://HOST/PATH/NAME`, or the URL of a Helm repository
    #[arg(value_name = "DIR|TGZ|oci://REF|https://REPO")]
    pub(in crate::cli) origin: String,
    /// The chart, if the origin is a Helm repository
    pub(in crate::cli) name: Option<String>,
    /// This version, or the newest that fits a range such as `^1.2`; the newest release if not given
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) version: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) place: PlaceArgs,
}

#[derive(Debug, Group)]
pub(in crate::cli) struct UpdateArgs {
    /// The chart, as it is called below charts/
    pub(in crate::cli) chart: String,
    /// This version, or the newest that fits a range; the newest release if not given
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) version: Option<String>,
    /// Also put the new version beside the old one
    #[arg(long)]
    pub(in crate::cli) write: bool,
    #[command(flatten)]
    pub(in crate::cli) place: PlaceArgs,
}

/// Which fleet repository, and how registries are talked to.
#[derive(Debug, Group)]
pub(in crate::cli) struct PlaceArgs {
    /// The fleet repository
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(in crate::cli) fleet: PathBuf,
    /// Who asks the registry or repository
    #[arg(long, value_name = "NAME", env = "REEVE_CHART_USERNAME")]
    pub(in crate::cli) username: Option<String>,
    /// With which password or token; better given in the environment
    #[arg(long, value_name = "PASSWORD", env = "REEVE_CHART_PASSWORD", hide_env_values = true)]
    pub(in crate::cli) password: Option<String>,
    /// Talk to an OCI registry without TLS
    #[arg(long)]
    pub(in crate::cli) plain_http: bool,
    /// How long each request may take
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(in crate::cli) timeout: Duration,
}
