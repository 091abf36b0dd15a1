//! The flags that every binary has. A binary flattens [`ProcessArgs`] into its own; nothing else reads the environment.

use std::fmt;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

#[cfg(feature = "args")]
use clap::{Args, ValueEnum};
use jiff::SignedDuration;

use crate::logs::{LogFilter, LogStyle};

/// Per flag: a heading of the whole struct would spread to the flags of the binary that follow.
#[cfg(feature = "args")]
const HEADING: &str = "Process";

/// Flags that every Reeve binary has.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "args", derive(Args))]
pub struct ProcessArgs {
    /// What to log, as `LEVEL` or `TARGET=LEVEL,...`. Libraries stay at `info` unless their target is named
    #[cfg_attr(feature = "args", arg(long, env = "RUST_LOG", default_value_t, value_name = "FILTER", global = true, help_heading = HEADING))]
    pub log: LogFilter,

    /// How a log line looks; `auto` is human on a terminal and JSON elsewhere
    #[cfg_attr(feature = "args", arg(long, value_enum, default_value_t, global = true, help_heading = HEADING))]
    pub log_format: LogFormat,

    // All addresses, since probes and scrapes reach a pod by its own; 9464 is where exporters live by custom and seldom
    // taken, which counts for the binary that runs on the host's network.
    /// Where `/livez`, `/readyz` and `/metrics` are served: an address with port, or `none`
    #[cfg_attr(feature = "args", arg(long, default_value = "0.0.0.0:9464", value_name = "ADDRESS", global = true, help_heading = HEADING))]
    pub admin_address: AdminAddress,

    /// Whether a process that takes this one's work over may serve the same address while this one ends.
    #[cfg_attr(feature = "args", arg(skip))]
    pub share_admin_address: bool,

    /// Whether one thread does all there is to do: for a process that hands bytes on, where a wake-up of another thread costs
    /// more than the work itself.
    #[cfg_attr(feature = "args", arg(skip))]
    pub one_thread: bool,

    /// How long to stay in service, not ready, after the signal to stop: until load balancers have noticed
    #[cfg_attr(feature = "args", arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION", global = true, help_heading = HEADING))]
    pub drain_delay: Duration,

    // Five seconds before the kubelet's default of 30 s kills without a word.
    /// Exit this long after the signal to stop, finished or not
    #[cfg_attr(feature = "args", arg(long, default_value = "25s", value_parser = duration, value_name = "DURATION", global = true, help_heading = HEADING))]
    pub shutdown_deadline: Duration,
}

impl ProcessArgs {
    /// How log lines look on the standard error stream of this process.
    pub(crate) fn log_style(&self) -> LogStyle {
        let terminal = std::io::stderr().is_terminal();
        // https://no-color.org: set and not empty
        let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match (self.log_format, terminal) {
            (LogFormat::Human, _) | (LogFormat::Auto, true) => LogStyle::Human { colour },
            (LogFormat::Json, _) | (LogFormat::Auto, false) => LogStyle::Json,
        }
    }
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "args", derive(ValueEnum))]
pub enum LogFormat {
    #[default]
    Auto,
    Human,
    Json,
}

/// Where the admin server listens, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminAddress {
    None,
    At(SocketAddr),
}

impl FromStr for AdminAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::None);
        }
        let wanted = "wanted an address with port such as 127.0.0.1:9464, or `none`";
        text.parse().map(Self::At).map_err(|cause| format!("{cause}; {wanted}"))
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::At(address) => address.fmt(f),
        }
    }
}

/// Reads `25s`, `500ms` or `1m30s`: the value parser for every duration flag.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wanted = "wanted a duration such as 25s, 500ms or 1m30s";
    let signed: SignedDuration = text.parse().map_err(|cause| format!("{cause}; {wanted}"))?;
    signed.try_into().map_err(|_| format!("a negative duration; {wanted}"))
}

#[cfg(all(test, feature = "args"))]
mod tests;
