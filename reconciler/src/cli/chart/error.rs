//! Why a chart could not be had.

use std::io;

use reeve_renderer::fleet::helm::archive::ArchiveError;

/// Why a chart could not be had.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ChartError {
    #[error("`{0}` is no place that charts come from")]
    Origin(String),
    #[error("a Helm repository has many charts, and none was named")]
    NoName,
    #[error("cannot read {path}")]
    Read {
        path: String,
        #[source]
        cause: io::Error,
    },
    #[error("{path} is a link or a device, which is not followed")]
    Link { path: String },
    #[error("the chart is larger than 64 MiB, or has more than 20000 files")]
    TooLarge,
    #[error("cannot unpack the chart")]
    Archive(#[source] ArchiveError),
    #[error("this is no chart: {0}")]
    NoChart(String),
    #[error("cannot start")]
    Start(#[source] io::Error),
    #[error("cannot connect to {place}: {why}")]
    Connect { place: String, why: String },
    #[error("{place} answered {status}")]
    Refused { place: String, status: u16 },
    #[error("{place} did not answer in time")]
    Late { place: String },
    #[error("what {place} answered cannot be read: {why}")]
    Answer { place: String, why: String },
    #[error("there is no `{name}` at {place}")]
    Missing { name: String, place: String },
    #[error("{place} has no version of `{name}` that fits {wanted}")]
    NoVersion { name: String, wanted: String, place: String },
    #[error("the chart at {place} is {found}, not {wanted}")]
    Other { place: String, found: String, wanted: String },
    #[error("{place} sent {found}, but {wanted} was announced")]
    Digest { place: String, found: String, wanted: String },
    #[error("charts/{chart} was not imported: there is no charts/{chart}/<version>.lock")]
    NotImported { chart: String },
}

impl ChartError {
    /// What to do about it.
    pub(in crate::cli) fn help(&self) -> Option<&'static str> {
        match self {
            Self::Origin(_) => Some("name a folder, a .tgz, oci://HOST/PATH/NAME or https://REPOSITORY and a chart"),
            Self::NoName => Some("name it after the URL: `reeve chart import https://HOST/charts NAME`"),
            Self::Link { .. } => Some("put the file itself there"),
            Self::Refused { status: 401 | 403, .. } => {
                Some("set REEVE_CHART_USERNAME and REEVE_CHART_PASSWORD, or check them")
            }
            Self::Connect { .. } => Some("a certificate of your own is trusted if SSL_CERT_FILE names its authority"),
            Self::Digest { .. } => Some("nothing was written; try again, and ask whoever keeps the registry"),
            Self::Other { .. } => {
                Some("nothing was written; leave the name or `--version` out to take the chart that is there")
            }
            Self::NotImported { .. } => Some("`reeve chart import` writes it"),
            _ => None,
        }
    }
}
