//! Why a chart could not be had.

use std::io;

use reeve_renderer::fleet::helm::archive::ArchiveError;

/// Why a chart could not be had.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ChartError {
    #[error("`{0}` is no place that charts come from")]
    Origin(String),
    #[error("no place was named that a chart comes from")]
    NoOrigin,
    #[error("there is neither a folder nor an archive {0}")]
    NotThere(String),
    #[error("the URL {place} has a name or password in it, which would be written down")]
    Credentials { place: String },
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
    #[error("cannot unpack {place}")]
    Archive {
        place: String,
        #[source]
        cause: ArchiveError,
    },
    #[error("{place} is no chart: {why}")]
    NoChart { place: String, why: String },
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
            Self::Origin(_) | Self::NoOrigin => {
                Some("name a folder, a .tgz, oci://HOST/PATH/NAME or https://REPOSITORY and a chart")
            }
            Self::NotThere(_) => Some("check the path; a chart from elsewhere begins with oci:// or https://"),
            Self::Credentials { .. } => Some("set REEVE_CHART_USERNAME and REEVE_CHART_PASSWORD instead"),
            Self::NoName => Some("name it after the URL: `reeve chart import https://HOST/charts NAME`"),
            Self::Link { .. } => Some("put the file itself there"),
            Self::Refused { status: 401 | 403, .. } => {
                Some("set REEVE_CHART_USERNAME and REEVE_CHART_PASSWORD, or check them")
            }
            Self::Connect { why, .. } if why.contains("certificate") => {
                Some("a certificate of your own is trusted if SSL_CERT_FILE names its authority")
            }
            Self::Connect { why, .. } if why.contains("corrupt message") => {
                Some("what answers there speaks no TLS: `--plain-http` for a registry, http:// for a Helm repository")
            }
            Self::Connect { .. } => Some("check the address, and whether it can be reached from here"),
            Self::Archive { .. } => Some("nothing was written; get the archive again, or pack it with `helm package`"),
            Self::NoChart { .. } => Some("nothing was written; a chart is what has a Chart.yaml with name and version"),
            Self::Digest { .. } => Some("nothing was written; try again, and ask whoever keeps the registry"),
            Self::Other { .. } => {
                Some("nothing was written; leave the name or `--version` out to take the chart that is there")
            }
            Self::NotImported { .. } => Some("`reeve chart import` writes it"),
            _ => None,
        }
    }
}
