//! Runtimes that this process does not apply to: it says so instead of saying nothing.

use kube::Api;
use reeve_crds::Reason;
use reeve_crds::condition::types;
use reeve_crds::{Runtime, State};
use reeve_reconciler_engine::conditions::set_condition;
use reeve_reconciler_engine::error::ReconcileError;
use reeve_reconciler_engine::patch::{patch_status, to_json};
use reeve_reconciler_engine::rollup::{Rollup, RuntimeSummary};
use reeve_reconciler_engine::runtime::Setup;

/// Says on the Runtime that its target is not served from here.
pub(super) async fn report(setup: &Setup, runtime: &Runtime, rollup: &Rollup) -> Result<(), ReconcileError> {
    let name = runtime.metadata.name.as_deref().unwrap_or_default();
    let message = format!(
        "a target of type {:?} is not served yet: only InCluster is; nothing is applied",
        runtime.spec.target.kind
    );
    rollup.set(name, RuntimeSummary { state: State::Warning, message: message.clone(), ..RuntimeSummary::default() });
    let before = runtime.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let generation = runtime.metadata.generation;
    status.state = Some(State::Warning);
    status.observed_generation = generation;
    let now = setup.clock.now();
    set_condition(&mut status.conditions, types::READY, false, Reason::Unsupported, &message, generation, now);
    if status == before {
        return Ok(());
    }
    let own = setup
        .cluster
        .own()
        .map_err(|error| ReconcileError::transient(Reason::Unreachable, reeve_process::error_chain(&error)))?;
    let api: Api<Runtime> = Api::namespaced(own, runtime.metadata.namespace.as_deref().unwrap_or_default());
    patch_status(&api, name, &to_json(&status)).await.map_err(|api_error| {
        let message = format!("cannot write the status: {}", api_error.message);
        ReconcileError { transient: true, ..ReconcileError::of_request(message, api_error) }
    })
}
