//! Why a cluster could not be asked, in words that say what to do.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::KubeconfigError;
use kube::runtime::watcher;
use reeve_process::secret::scrub;

/// Why a cluster could not be asked.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ClusterError {
    #[error("cannot start")]
    Start(#[source] io::Error),
    #[error("cannot use the kubeconfig{}", named(file.as_ref()))]
    Kubeconfig {
        file: Option<PathBuf>,
        #[source]
        cause: Said,
    },
    #[error("there is no kubeconfig{}, and this is no pod", named(file.as_ref()))]
    NoKubeconfig { file: Option<PathBuf> },
    #[error("cannot reach the API server at {server}")]
    Unreachable {
        server: String,
        #[source]
        cause: Said,
    },
    #[error("the API server at {server} did not answer within {} s: cannot {doing}", limit.as_secs_f32())]
    Slow { server: String, doing: String, limit: Duration },
    #[error("the cluster at {server} does not know Reeve's kinds")]
    NotInstalled { server: String },
    #[error("the API server does not let you {doing}")]
    Forbidden {
        doing: String,
        #[source]
        cause: Said,
    },
    #[error("the API server does not know you")]
    Unauthorized {
        #[source]
        cause: Said,
    },
    #[error("cannot {doing}")]
    Refused {
        doing: String,
        #[source]
        cause: Said,
    },
}

fn named(file: Option<&PathBuf>) -> String {
    file.map_or_else(String::new, |file| format!(" {}", file.display()))
}

/// What someone else said of an error, once and without credentials.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::cli) struct Said(pub(super) String);

impl ClusterError {
    /// What can be done about it.
    pub(in crate::cli) fn help(&self) -> Option<&str> {
        Some(match self {
            Self::Kubeconfig { .. } => "name another with --kubeconfig or KUBECONFIG, or another --context of it",
            Self::NoKubeconfig { .. } => "name one with --kubeconfig or KUBECONFIG, or put it into ~/.kube/config",
            Self::Unreachable { .. } => "see whether the server runs, and whether --context names the cluster you mean",
            Self::Slow { .. } => "try again, or give it longer with --request-timeout",
            Self::NotInstalled { .. } => "run `reeve install --apply`, or name the cluster you mean with --context",
            Self::Forbidden { .. } => "ask whoever runs the cluster for the right to do it, or use another --context",
            Self::Unauthorized { .. } => "log in again, or use another --context",
            Self::Start(_) | Self::Refused { .. } => return None,
        })
    }

    /// What a request that failed means.
    pub(super) fn from_request(error: kube::Error, doing: &str, server: &str) -> Self {
        let doing = doing.to_owned();
        match error {
            kube::Error::Api(status) if status.code == 401 => Self::Unauthorized { cause: said(&status.message) },
            kube::Error::Api(status) if status.is_forbidden() => {
                Self::Forbidden { doing, cause: said(&status.message) }
            }
            kube::Error::Api(status) if status.message.trim_start().starts_with('<') => {
                let cause = format!("{server} answers with a web page, as no API server does");
                Self::Refused { doing, cause: said(&cause) }
            }
            kube::Error::Api(status) => Self::Refused { doing, cause: said(&status.message) },
            error @ (kube::Error::Service(_) | kube::Error::HyperError(_)) => {
                Self::Unreachable { server: server.to_owned(), cause: innermost(&error) }
            }
            error => Self::Refused { doing, cause: innermost(&error) },
        }
    }

    /// What a refusal means that was understood already: its reason in one word, and its message.
    pub(super) fn from_api_error(reason: &str, message: &str, doing: &str, server: &str) -> Self {
        // The client says that it is a client, and that it could not connect, before it says why.
        let message = message.strip_prefix("ServiceError: client error (Connect): ").unwrap_or(message);
        let (doing, server, cause) = (doing.to_owned(), server.to_owned(), said(message));
        match reason {
            "Unauthorized" => Self::Unauthorized { cause },
            "Forbidden" => Self::Forbidden { doing, cause },
            "MissingKind" => Self::NotInstalled { server },
            "Unreachable" | "Timeout" => Self::Unreachable { server, cause },
            _ => Self::Refused { doing, cause },
        }
    }

    /// What a kubeconfig that cannot be used means; `None` if there is none.
    pub(super) fn from_kubeconfig(error: &KubeconfigError, file: Option<PathBuf>) -> Option<Self> {
        match error {
            KubeconfigError::FindPath => None,
            KubeconfigError::ReadConfig(cause, _) if file.is_none() && cause.kind() == io::ErrorKind::NotFound => None,
            KubeconfigError::ReadConfig(cause, path) => {
                Some(Self::Kubeconfig { file: Some(path.clone()), cause: said(&cause.to_string()) })
            }
            other => Some(Self::Kubeconfig { file, cause: said(&other.to_string()) }),
        }
    }
}

/// What broke a watch, in a few words.
pub(super) fn broken_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::WatchError(status)
        | watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.message.clone(),
        other => innermost(other).0,
    }
}

/// The kube crates repeat each source in the text of what wraps it; the last one says it all.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> Said {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    said(&last.to_string())
}

pub(super) fn said(text: &str) -> Said {
    Said(scrub(text).into_owned())
}
