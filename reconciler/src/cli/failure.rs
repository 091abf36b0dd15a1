//! Why a command could not do its work.

use std::error::Error;
use std::fmt::Write as _;
use std::io;

use reeve_reconciler_git::GitError;
use reeve_renderer::tree::TreeError;

use super::chart::ChartError;
use super::cluster::ClusterError;
use super::style::{Paint, Style};
use super::text::harmless;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot open the folder {path}")]
    Folder {
        path: String,
        #[source]
        cause: io::Error,
    },
    #[error("{place} is not a fleet repository: there is no fleet.yaml")]
    NoFleet { place: String, help: String },
    #[error("`{name}` is neither a folder nor a revision of a Git repository here")]
    Neither {
        name: String,
        #[source]
        cause: GitError,
    },
    #[error("{message}")]
    Unknown { message: String, help: Option<String> },
    #[error("cannot write {path}")]
    Create {
        path: String,
        #[source]
        cause: io::Error,
    },
    #[error("{path} is there already")]
    Exists { path: String },
    #[error("cannot write the answer")]
    Write(#[from] io::Error),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Failure {
    /// Something that is not there, with what was probably meant.
    pub(super) fn unknown(message: impl Into<String>, help: Option<String>) -> Self {
        Self::Unknown { message: message.into(), help }
    }

    /// The failure with all its causes, a line for each.
    pub(super) fn describe(&self, style: Style) -> String {
        let mut text = format!("{}: {}\n", style.paint(Paint::Error, "error"), harmless(&self.to_string()));
        let mut cause = self.source();
        while let Some(error) = cause {
            // Writing to text cannot fail.
            let _ = writeln!(text, "  {} {}", style.paint(Paint::Strong, "because:"), harmless(&error.to_string()));
            cause = error.source();
        }
        let help = match self {
            Self::NoFleet { help, .. } => Some(help.as_str()),
            Self::Unknown { help, .. } => help.as_deref(),
            Self::Chart(error) => error.help(),
            Self::Cluster(error) => error.help(),
            Self::Neither { .. } => Some("name two folders, or stand in the repository whose revisions you compare"),
            Self::Exists { .. } => Some("nothing was written; choose another name, or remove it first"),
            Self::Folder { .. } | Self::Create { .. } | Self::Write(_) | Self::Git(_) | Self::Tree(_) => None,
        };
        if let Some(help) = help {
            let _ = writeln!(text, "  {} {}", style.paint(Paint::Help, "help:"), harmless(help));
        }
        text
    }
}
