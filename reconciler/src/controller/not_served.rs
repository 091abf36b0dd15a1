//! Runtimes on which no worker works: their Runtime says so, instead of what was true when one last did.

use kube::Api;
use reeve_crds::condition::types;
use reeve_crds::{Reason, Runtime, State};
use reeve_reconciler_engine::conditions::set_condition;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::patch::{patch_status, to_json};
use reeve_reconciler_engine::rollup::{Rollup, RuntimeSummary};
use reeve_reconciler_engine::runtime::Setup;

/// Why nobody works on a runtime.
#[derive(Clone, Debug)]
pub(super) struct NotServed {
    state: State,
    reason: Reason,
    message: String,
    is_unreachable: bool,
}

impl NotServed {
    /// Its target is not served from here.
    pub(super) fn elsewhere(runtime: &Runtime) -> Self {
        let target = runtime.spec.target.kind;
        let message =
            format!("a target of type {target:?} is not served yet: InCluster and KubeConfig are; nothing is applied");
        Self { state: State::Warning, reason: Reason::Unsupported, message, is_unreachable: false }
    }

    /// The work on it fails as a whole, again and again.
    pub(super) fn failing(error: &ReconcileError) -> Self {
        Self { state: State::Error, reason: error.reason, message: error.message.clone(), is_unreachable: false }
    }

    /// Its cluster is not reached, so that nobody knows how it is: a person has to do something, or it passes by itself.
    pub(super) fn unreachable(error: &ReconcileError) -> Self {
        let state = if error.reason.is_transient() { State::Unknown } else { State::Warning };
        Self { state, reason: error.reason, message: error.message.clone(), is_unreachable: true }
    }

    /// Says so in the roll-up of its source.
    pub(super) fn summarize(&self, name: &str, rollup: &Rollup) {
        let (state, message) = (self.state, self.message.clone());
        rollup.set(name, RuntimeSummary { state, message, ..RuntimeSummary::default() });
        rollup.read(name);
    }

    /// Says so on the Runtime.
    pub(super) async fn patch_status(&self, setup: &Setup, runtime: &Runtime) -> Result<(), ReconcileError> {
        let before = runtime.status.clone().unwrap_or_default();
        let mut status = before.clone();
        let generation = runtime.metadata.generation;
        status.state = Some(self.state);
        status.observed_generation = generation;
        let now = setup.clock.now();
        let told = [types::READY].into_iter().chain(self.is_unreachable.then_some(types::REACHABLE));
        for kind in told {
            set_condition(&mut status.conditions, kind, false, self.reason, &self.message, generation, now);
        }
        if status == before {
            return Ok(());
        }
        let own = setup
            .targets
            .home
            .cluster
            .own()
            .map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))?;
        let api: Api<Runtime> = Api::namespaced(own, runtime.metadata.namespace.as_deref().unwrap_or_default());
        let name = runtime.metadata.name.as_deref().unwrap_or_default();
        patch_status(&api, name, &to_json(&status)).await.map(drop).map_err(|api_error| {
            let message = format!("cannot write the status: {}", api_error.message);
            ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
        })
    }
}
