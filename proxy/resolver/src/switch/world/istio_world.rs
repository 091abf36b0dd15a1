//! Istio's objects, kept up to date from when the first rule names routes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::{Client, ResourceExt};
use reeve_crds::ScalingRule;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};

use super::follow;
use crate::report::RuleKey;
use crate::switch::execute::{failed, is_missing};
use crate::switch::istio::{PeerAuthentication, VirtualService};
use crate::switch::reports::Queue;
use crate::switch::snapshot::{IstioObjects, key};

/// Istio may be installed later than the resolver.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// The groups and versions of what is used of it.
const GROUPS: [&str; 2] = ["networking.istio.io/v1", "security.istio.io/v1"];

/// Stores of Istio's kinds; empty until they are served and some rule wants them.
#[derive(Clone, Debug)]
pub(super) struct IstioWorld {
    routes: Store<VirtualService>,
    authentications: Store<PeerAuthentication>,
    known: Arc<AtomicBool>,
    missing: Arc<AtomicBool>,
}

impl IstioWorld {
    /// Watches from when `wanted` is notified and Istio is installed.
    pub(super) fn watch(
        client: &Client,
        queue: &Arc<Queue>,
        rules: &Store<ScalingRule>,
        wanted: &Arc<Notify>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (routes, write_routes) = reflector::store();
        let (authentications, write_authentications) = reflector::store();
        let world = Self { routes, authentications, known: Arc::default(), missing: Arc::default() };
        let (client, queue, wanted) = (client.clone(), Arc::clone(queue), Arc::clone(wanted));
        let (of_routes, of_authentications, ready) = (rules.clone(), rules.clone(), world.clone());
        tasks.spawn(async move {
            wanted.notified().await;
            ready.wait_until_installed(&client, &queue).await;
            let known = async {
                let _ = ready.routes.wait_until_ready().await;
                let _ = ready.authentications.wait_until_ready().await;
                ready.known.store(true, Ordering::Release);
                info!("all objects of Istio are known");
                queue.push_all();
            };
            tokio::join!(
                follow(client.clone(), write_routes, Arc::clone(&queue), move |one: &VirtualService| {
                    let name = one.name_any();
                    about(&of_routes, |rule| rule.namespace() == one.namespace() && names(rule) == Some(&name))
                }),
                // One may count for the whole mesh.
                follow(client.clone(), write_authentications, Arc::clone(&queue), move |_: &PeerAuthentication| {
                    about(&of_authentications, |rule| names(rule).is_some())
                }),
                known,
            );
        });
        world
    }

    /// What concerns a rule.
    pub(super) fn of(&self, rule: &ScalingRule) -> IstioObjects {
        let Some(name) = names(rule) else { return IstioObjects::default() };
        let is_installed = if self.known.load(Ordering::Acquire) {
            Some(true)
        } else {
            self.missing.load(Ordering::Acquire).then_some(false)
        };
        IstioObjects {
            is_installed,
            virtual_service: self.routes.get(&ObjectRef::new(name).within(&rule.namespace().unwrap_or_default())),
            peer_authentications: self.authentications.state(),
        }
    }

    async fn wait_until_installed(&self, client: &Client, queue: &Queue) {
        loop {
            match is_installed(client).await {
                Ok(true) => return,
                Ok(false) if self.missing.swap(true, Ordering::AcqRel) => {}
                Ok(false) => queue.push_all(),
                Err(error) => {
                    warn!(error = %reeve_process::error_chain(&error), "cannot see whether Istio is installed");
                }
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

/// Whether the API server serves the kinds that are used.
async fn is_installed(client: &Client) -> Result<bool, crate::switch::execute::SwitchError> {
    for group in GROUPS {
        let served = client.list_api_group_resources(group).await;
        if is_missing(&served) {
            return Ok(false);
        }
        served.map_err(failed("find the kinds of", group))?;
    }
    Ok(true)
}

/// The VirtualService that a rule names.
pub(super) fn names(rule: &ScalingRule) -> Option<&String> {
    rule.spec.switch.as_ref().map(|switch| &switch.virtual_service.name)
}

fn about(rules: &Store<ScalingRule>, is_about: impl Fn(&ScalingRule) -> bool) -> BTreeSet<RuleKey> {
    rules.state().iter().filter(|rule| is_about(rule)).map(|rule| key(rule)).collect()
}
