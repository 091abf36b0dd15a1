//! The feed that leads sums up every NodeHook over all nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use reeve_crds::{NodeHook, NodeHookStatus, RuntimeComponent};
use reeve_process::{Gate, error_chain};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::rollup::{self, Member};

const MANAGER: &str = "reeve-cri-feed-leader";
const RUNTIME_LABEL: &str = "reeve.dev/runtime";
const COMPONENT_LABEL: &str = "reeve.dev/component";
const NAMESPACE_LABEL: &str = "reeve.dev/runtime-namespace";

/// Changes that come within this are summed up at once.
const GATHER: Duration = Duration::from_millis(500);
/// However quiet: a node that falls silent is noticed by time alone.
const RESYNC: Duration = Duration::from_mins(1);

/// Sums up whenever this process leads. Never returns without an error.
pub(crate) async fn run(gate: &Gate, config: &Config) -> anyhow::Result<()> {
    loop {
        let term = gate.wait_for_term().await.context("the lease is gone")?;
        info!(term = term.number(), "leading");
        let client = term.client(config).context("cannot make a client of the cluster")?;
        let _ended = term.run(lead(client)).await;
        info!(term = term.number(), "no longer leading");
    }
}

struct World {
    hooks: Store<NodeHook>,
    statuses: Store<NodeHookStatus>,
    /// Their labels alone: of nodes there are many.
    nodes: Store<PartialObjectMeta<Node>>,
    components: Store<RuntimeComponent>,
}

/// Sums up until the term ends and this is dropped.
async fn lead(client: Client) {
    let (sender, mut changes) = mpsc::channel(1);
    let mut watches = JoinSet::new();
    let world = World {
        hooks: follow(&client, &mut watches, &sender),
        statuses: follow(&client, &mut watches, &sender),
        nodes: follow(&client, &mut watches, &sender),
        components: follow(&client, &mut watches, &sender),
    };
    // An error says that the watch is gone for good, and then so is the term.
    let _ = world.hooks.wait_until_ready().await;
    let _ = world.statuses.wait_until_ready().await;
    let _ = world.nodes.wait_until_ready().await;
    loop {
        for hook in world.hooks.state() {
            if let Err(error) = sum_up(&client, &world, &hook).await {
                warn!(hook = hook.name_any(), error = %error_chain(&error), "cannot write the status");
            }
        }
        let _ = tokio::time::timeout(RESYNC, changes.recv()).await;
        tokio::time::sleep(GATHER).await;
    }
}

async fn sum_up(client: &Client, world: &World, hook: &NodeHook) -> Result<(), kube::Error> {
    let (nodes, statuses) = (world.nodes.state(), world.statuses.state());
    let by_name: BTreeMap<String, _> = statuses.iter().map(|status| (status.name_any(), &**status)).collect();
    let members: Vec<Member> = nodes
        .iter()
        .map(|node| Member {
            name: node.name_any(),
            labels: node.labels(),
            status: by_name.get(&node.name_any()).copied(),
        })
        .collect();
    let component = world.components.find(|component| is_of(hook, component));
    let revision = rollup::revision(hook, component.as_deref());
    let new = rollup::roll_up(hook, &members, revision, Timestamp::now());
    if hook.status.as_ref() == Some(&new) {
        return Ok(());
    }
    let status = json!({
        "apiVersion": NodeHook::api_version(&()),
        "kind": NodeHook::kind(&()),
        "metadata": { "name": hook.name_any() },
        "status": new,
    });
    let params = PatchParams::apply(MANAGER).force();
    let hooks: Api<NodeHook> = Api::all(client.clone());
    match hooks.patch_status(&hook.name_any(), &params, &Patch::Apply(&status)).await {
        // It went meanwhile.
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(()),
        written => written.map(drop),
    }
}

/// Whether the NodeHook is an object of the component, by the labels that Reeve puts on all it applies.
fn is_of(hook: &NodeHook, component: &RuntimeComponent) -> bool {
    let label = |name: &str| hook.labels().get(name).map(String::as_str);
    label(NAMESPACE_LABEL) == component.namespace().as_deref()
        && label(RUNTIME_LABEL) == Some(&component.spec.runtime)
        && label(COMPONENT_LABEL) == Some(&component.spec.component)
}

fn follow<K>(client: &Client, watches: &mut JoinSet<()>, sender: &mpsc::Sender<()>) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let changes = watcher(Api::<K>::all(client.clone()), watcher::Config::default()).default_backoff();
    watches.spawn(drive(reflector::reflector(writer, changes), sender.clone()));
    store
}

async fn drive<T>(watched: impl futures::Stream<Item = Result<T, watcher::Error>>, sender: mpsc::Sender<()>) {
    let mut watched = std::pin::pin!(watched);
    while let Some(change) = watched.next().await {
        match change {
            // Full means that a look is due already.
            Ok(_) => drop(sender.try_send(())),
            Err(error) => warn!(error = %error_chain(&error), "cannot watch"),
        }
    }
}
