//! Runtimes that this process does not apply to: it says so instead of saying nothing.

use kube::Api;
use reeve_crds::condition::{reason, types};
use reeve_crds::{Runtime, State};

use crate::refusal::Refusal;
use crate::runtime::{Rollup, Setup, Standing, as_json, put_status, release, set_condition};

/// Says on the Runtime that its target is not served from here.
pub(super) async fn tell(setup: &Setup, runtime: &Runtime, rollup: &Rollup) {
    let name = runtime.metadata.name.clone().unwrap_or_default();
    let Ok(own) = setup.cluster.own() else { return };
    let api: Api<Runtime> = Api::namespaced(own, runtime.metadata.namespace.as_deref().unwrap_or_default());
    if runtime.metadata.deletion_timestamp.is_some() {
        // Nothing was applied there from here, so there is nothing to see to.
        if let Err(error) = release(&api, &name).await {
            tracing::debug!(runtime = %name, "cannot let the runtime go: {}", Refusal::of(&error).message);
        }
        return;
    }
    let message = format!(
        "a target of type {:?} is not served yet: only InCluster is; nothing is applied",
        runtime.spec.target.kind
    );
    rollup.set(
        &name.as_str().into(),
        Standing { state: State::Warning, message: message.clone(), ..Standing::default() },
    );
    let before = runtime.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let generation = runtime.metadata.generation;
    status.state = Some(State::Warning);
    status.observed_generation = generation;
    let now = setup.clock.now();
    set_condition(&mut status.conditions, types::READY, false, reason::UNSUPPORTED, &message, generation, now);
    if status == before {
        return;
    }
    if let Err(refusal) = put_status(&api, &name, &as_json(&status)).await {
        tracing::debug!(runtime = %name, "cannot write the status: {}", refusal.message);
    }
}
