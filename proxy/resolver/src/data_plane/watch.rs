//! Follows rules and the slices of their shadow Services, and has the plane act by them. While the API server is silent
//! what was known last stays in force.

use futures::StreamExt;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use reeve_crds::ScalingRule;
use reeve_process::health::Check;
use tracing::{info, warn};

use super::index::Index;
use super::plane::Plane;
use crate::report::RULE_LABEL;

/// Follows for ever. The replica is ready once it knows all rules and slices.
pub(crate) async fn follow(client: Client, plane: Plane, ready: Check) {
    let rules = Api::<ScalingRule>::all(client.clone());
    let slices = Api::<EndpointSlice>::all(client);
    let mut rules = watcher(rules, watcher::Config::default()).default_backoff().boxed();
    let mut slices = watcher(slices, watcher::Config::default().labels(RULE_LABEL)).default_backoff().boxed();
    let mut index = Index::default();
    let (mut knows_rules, mut knows_slices, mut begun) = (false, false, false);
    loop {
        let changed = tokio::select! {
            Some(event) = rules.next() => match event {
                Ok(event) => {
                    knows_rules |= matches!(event, watcher::Event::InitDone);
                    index.note_rule(event)
                }
                Err(error) => {
                    warn!(error = %reeve_process::error_chain(&error), "cannot watch scaling rules");
                    continue;
                }
            },
            Some(event) = slices.next() => match event {
                Ok(event) => {
                    knows_slices |= matches!(event, watcher::Event::InitDone);
                    index.note_slice(event)
                }
                Err(error) => {
                    warn!(error = %reeve_process::error_chain(&error), "cannot watch endpoint slices");
                    continue;
                }
            },
            else => return,
        };
        // Rules alone would look as if no pod were there.
        if !(knows_rules && knows_slices) {
            continue;
        }
        if begun {
            for key in changed {
                plane.set(&key, index.table(&key));
            }
        } else {
            begun = true;
            index.keys().for_each(|key| plane.set(key, index.table(key)));
            ready.pass();
            info!(rules = index.keys().count(), "rules are known");
        }
    }
}
