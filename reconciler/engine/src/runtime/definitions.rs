//! Waits until what others build on can be used: Namespaces, and the kinds of CRDs.

use std::time::Duration;

use reeve_crds::Reason;
use reeve_renderer_objects::key::ObjectKey;

use super::run::ComponentRun;
use crate::cluster::KindsError;
use crate::desired::Stage;
use crate::error::ReconcileError;
use crate::health::HealthState;
use crate::plan::View as _;

/// How often discovery is asked for a kind that it will show soon.
const DISCOVERY: Duration = Duration::from_millis(100);

/// Resolves when the CRDs and Namespaces of this component can be used.
pub(super) async fn established(run: &ComponentRun) -> Result<(), ReconcileError> {
    let keys = run.spec.desired.objects.iter().filter(|object| object.stage == Stage::Definitions);
    let keys: Vec<&ObjectKey> = keys.map(|object| &object.key).collect();
    let changed_keys = run.target().watch_cache.subscribe(run.ctx.owner.clone(), None);
    let ready = async {
        while let Some(error) = keys.iter().find_map(|key| unestablished(run, key)) {
            if !error.transient {
                return Err(error);
            }
            changed_keys.changed().await;
        }
        discovered(run, &keys).await
    };
    tokio::select! {
        result = ready => result,
        () = run.ctx.clock.sleep(run.spec.timeout) => {
            let what = keys.iter().find_map(|key| unestablished(run, key));
            Err(what.unwrap_or_else(|| ReconcileError::transient(Reason::TimedOut, "foundations are not established in time")))
        }
    }
}

/// Resolves when discovery shows the kinds of this component's CRDs, which it does a moment after they are established.
async fn discovered(run: &ComponentRun, keys: &[&ObjectKey]) -> Result<(), ReconcileError> {
    for crd in keys
        .iter()
        .filter(|key| &*key.kind == "CustomResourceDefinition")
        .filter_map(|key| run.spec.desired.object(key))
    {
        let crd = crd.value();
        let text = |path: &str| crd.pointer(path).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let versions = crd.pointer("/spec/versions").and_then(serde_json::Value::as_array).into_iter().flatten();
        let served =
            versions.filter(|version| version.get("served").and_then(serde_json::Value::as_bool) == Some(true));
        for version in served.filter_map(|version| version.get("name")?.as_str()) {
            let api_version = format!("{}/{version}", text("/spec/group"));
            while let Err(KindsError::Missing { .. }) =
                run.target().cluster.kinds().find(&api_version, &text("/spec/names/kind")).await
            {
                run.ctx.clock.sleep(DISCOVERY).await;
            }
        }
    }
    Ok(())
}

fn unestablished(run: &ComponentRun, key: &ObjectKey) -> Option<ReconcileError> {
    let live = run.ctx.live(key)?;
    let health = live.health?;
    let message = format!("{key}: {}", health.message);
    match health.state {
        HealthState::Current => None,
        HealthState::Failed => Some(ReconcileError::terminal(Reason::Unhealthy, message).about(key)),
        HealthState::InProgress | HealthState::Terminating => {
            Some(ReconcileError::transient(Reason::TimedOut, message).about(key))
        }
    }
}
