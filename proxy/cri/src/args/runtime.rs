//! What is behind the proxy: a server of the CRI, or dockerd.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Args, BackendMode};
use crate::backend::Backend;
use crate::docker::{self, Engine};
use crate::grpc::unary;
use crate::hooks::{Hooks, update_running};
use crate::message::cri::{VersionRequest, VersionResponse};
use crate::proxy::Session;
use crate::server;

/// Between two tries to reach a backend that is not there yet.
const DIAL_PAUSE: Duration = Duration::from_millis(200);
const VERSION: &str = "/runtime.v1.RuntimeService/Version";
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// A container runtime.
pub(super) enum Runtime {
    Cri(Arc<Backend>),
    Docker(Arc<Engine>),
}

impl Runtime {
    pub(super) fn new(args: &Args) -> Self {
        let socket = &args.runtime_endpoint.0;
        match args.mode {
            BackendMode::Containerd => Self::Cri(Arc::new(Backend::new(socket))),
            BackendMode::Docker => Self::Docker(Arc::new(Engine::new(socket))),
        }
    }

    /// Waits for the backend: kubelet gives up when its first call fails, and until then it had better find no socket.
    pub(super) async fn reach(&self) {
        let mut said = false;
        loop {
            let reached: Result<(), String> = match self {
                Self::Cri(backend) => backend.connect().await.map_err(|error| reeve_process::error_chain(&error)),
                Self::Docker(engine) => {
                    engine.connect().await.map(drop).map_err(|error| reeve_process::error_chain(&error))
                }
            };
            let Err(error) = reached else { return };
            if !std::mem::replace(&mut said, true) {
                warn!(error, "waiting for the runtime");
            }
            tokio::time::sleep(DIAL_PAUSE).await;
        }
    }

    /// Its name and version, if it says so.
    pub(super) async fn version(&self) -> Option<String> {
        match self {
            Self::Cri(backend) => {
                let request = VersionRequest { version: "v1".to_owned() };
                let asked = unary::<VersionResponse>(backend, VERSION, &request, VERSION_WITHIN, 1 << 20);
                let version = asked.await.ok()?;
                Some(format!("{} {}", version.runtime_name, version.runtime_version))
            }
            Self::Docker(engine) => engine.version().await.ok(),
        }
    }

    /// Holds running containers to hooks that change. Never returns.
    pub(super) async fn update_running(&self, hooks: &Arc<Hooks>) {
        match self {
            Self::Cri(backend) => update_running(Arc::clone(hooks), Arc::clone(backend)).await,
            Self::Docker(engine) => update_running(Arc::clone(hooks), Arc::clone(engine)).await,
        }
    }

    /// Serves clients until `stop`, and their calls to the end.
    pub(super) async fn serve(
        &self,
        args: &Args,
        listener: Arc<UnixListener>,
        hooks: &Arc<Hooks>,
        stop: CancellationToken,
    ) {
        match self {
            Self::Cri(_) => {
                let endpoints = args.endpoints();
                let serve_one =
                    |stream, stop| server::client(stream, Arc::new(Session::new(&endpoints, Arc::clone(hooks))), stop);
                server::serve(listener, Arc::clone(hooks), stop, serve_one).await;
            }
            Self::Docker(engine) => {
                let serve_one = |stream, stop| docker::serve(stream, Arc::clone(engine), Arc::clone(hooks), stop);
                server::serve(listener, Arc::clone(hooks), stop, serve_one).await;
            }
        }
    }
}
