//! What the edges of a source work with.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use reeve_crds::{GitSource, Reason, Runtime};
use reeve_reconciler_engine::api_error::ApiError;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::rollup::Rollup;

use super::SourceSetup;

/// One source, and what it is followed with.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) setup: SourceSetup,
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) rollup: Rollup,
}

impl Context {
    fn own(&self) -> Result<Client, ReconcileError> {
        let own = self.setup.engine.targets.home.cluster.own();
        own.map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))
    }

    pub(super) fn client(&self) -> Option<Client> {
        self.setup.engine.targets.home.cluster.own().ok()
    }

    /// The `GitSource`s of its namespace.
    pub(super) fn sources(&self) -> Result<Api<GitSource>, ReconcileError> {
        Ok(Api::namespaced(self.own()?, &self.namespace))
    }

    /// The Runtimes of its namespace.
    pub(super) fn runtimes(&self) -> Result<Api<Runtime>, ReconcileError> {
        Ok(Api::namespaced(self.own()?, &self.namespace))
    }

    /// A Secret of the source's own namespace, read anew each time so that a change counts at once.
    pub(super) async fn secret(&self, name: Option<&str>) -> Result<Option<Secret>, ReconcileError> {
        let Some(name) = name else { return Ok(None) };
        let api: Api<Secret> = Api::namespaced(self.own()?, &self.namespace);
        match api.get_opt(name).await {
            Ok(Some(secret)) => Ok(Some(secret)),
            Ok(None) => Err(ReconcileError::terminal(
                Reason::SecretNotFound,
                format!("there is no Secret {name} in {}: create it", self.namespace),
            )),
            Err(error) => {
                let api_error = ApiError::of(&error);
                let message = format!("cannot read Secret {name}: {}", api_error.message);
                Err(ReconcileError::of_request(message, api_error))
            }
        }
    }
}
