//! KEDA's objects, kept up to date from when the first rule uses KEDA.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube::runtime::reflector::{self, Store};
use kube::{Client, Resource, ResourceExt};
use reeve_crds::ScalingRule;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};

use super::follow;
use crate::report::RuleKey;
use crate::switch::keda::{ScaledJob, ScaledObject, is_installed};
use crate::switch::reports::Queue;
use crate::switch::snapshot::key;

/// KEDA may be installed later than the resolver.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Stores of KEDA's kinds; empty until they are served and some rule wants them.
#[derive(Clone, Debug)]
pub(super) struct KedaWorld {
    objects: Store<ScaledObject>,
    jobs: Store<ScaledJob>,
}

impl KedaWorld {
    /// Watches from when `wanted` is notified and KEDA is installed.
    pub(super) fn watch(
        client: &Client,
        queue: &Arc<Queue>,
        rules: &Store<ScalingRule>,
        wanted: &Arc<Notify>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (objects, write_objects) = reflector::store();
        let (jobs, write_jobs) = reflector::store();
        let world = Self { objects, jobs };
        let (client, queue, wanted) = (client.clone(), Arc::clone(queue), Arc::clone(wanted));
        let (of_objects, of_jobs, ready) = (rules.clone(), rules.clone(), world.clone());
        tasks.spawn(async move {
            wanted.notified().await;
            wait_until_installed(&client).await;
            let known = async {
                let _ = ready.objects.wait_until_ready().await;
                let _ = ready.jobs.wait_until_ready().await;
                info!("all objects of KEDA are known");
                queue.push_all();
            };
            tokio::join!(
                follow(client.clone(), write_objects, Arc::clone(&queue), move |object: &ScaledObject| {
                    about(&of_objects, object)
                }),
                follow(client.clone(), write_jobs, Arc::clone(&queue), move |job: &ScaledJob| about(&of_jobs, job)),
                known,
            );
        });
        world
    }

    /// Those of a namespace; nothing while they are not known.
    pub(super) fn objects_in(&self, namespace: &str) -> Option<Vec<Arc<ScaledObject>>> {
        is_known(&self.objects).then(|| in_namespace(&self.objects, namespace))
    }

    pub(super) fn jobs_in(&self, namespace: &str) -> Vec<Arc<ScaledJob>> {
        in_namespace(&self.jobs, namespace)
    }
}

async fn wait_until_installed(client: &Client) {
    loop {
        match is_installed(client).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => warn!(error = %reeve_process::error_chain(&error), "cannot see whether KEDA is installed"),
        }
        sleep(LOOK_AGAIN).await;
    }
}

fn is_known<K>(store: &Store<K>) -> bool
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store.wait_until_ready().now_or_never().is_some_and(|ready| ready.is_ok())
}

fn in_namespace<K>(store: &Store<K>, namespace: &str) -> Vec<Arc<K>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    store.state().into_iter().filter(|object| object.meta().namespace.as_deref() == Some(namespace)).collect()
}

/// Any object of KEDA's may scale the target of any rule of its namespace.
fn about(rules: &Store<ScalingRule>, object: &impl Resource<DynamicType = ()>) -> BTreeSet<RuleKey> {
    let namespace = object.meta().namespace.clone();
    let uses = |rule: &&Arc<ScalingRule>| rule.namespace() == namespace && rule.spec.keda.is_some();
    rules.state().iter().filter(uses).map(|rule| key(rule)).collect()
}
