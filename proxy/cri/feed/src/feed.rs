//! One node's feed: turns what is watched and read into events of the machine, and does what it says.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::events::Recorder;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use reeve_crds::NodeHook;
use reeve_process::error_chain;
use reeve_process::health::Check;
use reeve_proxy_cri::hook_set::HookSet;
use reeve_proxy_cri::state::client::read;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::args::Args;
use crate::disk;
use crate::edge::{self, Edge};
use crate::metrics::ProxyMetrics;
use crate::node::{Effect, Event, Machine, NodeWrites};

/// How often the proxy is asked. It is on the same node, and asking costs it nothing.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Somebody who takes back what the feed writes must not keep it from everything else.
const MOST_EFFECTS: usize = 16;

/// Feeds the node for ever.
pub(crate) async fn run(args: &Args, client: Client, ready: Check, metrics: ProxyMetrics) -> anyhow::Result<()> {
    let edge = Edge {
        node: args.node.clone(),
        hook_set: args.hook_set.clone(),
        recorder: Recorder::new(client.clone(), edge::reporter(&args.node)),
        client: client.clone(),
    };
    let of_node = NodeWrites { condition: !args.no_node_condition, taint: !args.no_taints };
    let machine = Machine::new(on_disk(&args.hook_set), edge.read_status().await, of_node);
    let (hooks, writer) = reflector::store::<NodeHook>();
    let watched = watcher(Api::<NodeHook>::all(client.clone()), watcher::Config::default()).default_backoff();
    let mut watched = Box::pin(reflector(writer, watched));
    let only = watcher::Config::default().fields(&format!("metadata.name={}", args.node));
    let mut node = Box::pin(watcher(Api::<Node>::all(client), only).default_backoff().applied_objects());
    let mut ticks = interval(ASK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut feed = Feed { machine, edge };
    loop {
        let event = tokio::select! {
            change = watched.next() => match change {
                // Between two of these the store is not whole.
                Some(Ok(watcher::Event::Init | watcher::Event::InitApply(_))) => continue,
                Some(Ok(_)) => {
                    ready.pass();
                    Event::Hooks(sorted(&hooks))
                }
                Some(Err(error)) => {
                    warn!(error = %error_chain(&error), "cannot watch NodeHooks; the last known set holds");
                    continue;
                }
                None => anyhow::bail!("the watch of NodeHooks ended"),
            },
            seen = node.next() => match seen {
                Some(Ok(node)) => Event::Node(edge::facts(&node)),
                Some(Err(error)) => {
                    warn!(error = %error_chain(&error), "cannot watch the node");
                    continue;
                }
                None => anyhow::bail!("the watch of the node ended"),
            },
            _ = ticks.tick() => {
                let state = read(&args.state_socket).await;
                metrics.set(state.as_ref().ok().cloned());
                Event::State(state.map(Box::new).map_err(|error| error_chain(&error)))
            }
        };
        feed.on_event(event).await;
    }
}

fn sorted(hooks: &reflector::Store<NodeHook>) -> Vec<Arc<NodeHook>> {
    let mut hooks = hooks.state();
    hooks.sort_by_key(|hook| hook.name_any());
    hooks
}

/// A file that cannot be used is replaced by what the API server has; there is no last good one then.
fn on_disk(path: &Path) -> HookSet {
    disk::read(path).unwrap_or_else(|error| {
        warn!(error = %error_chain(&error), "cannot use the hook set on disk");
        HookSet::default()
    })
}

struct Feed {
    machine: Machine,
    edge: Edge,
}

impl Feed {
    async fn on_event(&mut self, event: Event) {
        let mut effects = self.machine.step(event, Timestamp::now());
        for _ in 0..MOST_EFFECTS {
            if effects.is_empty() {
                return;
            }
            let Some(outcome) = self.carry_out(effects.remove(0)).await else { continue };
            // What follows was decided before this outcome was known, and is decided anew with it.
            effects = self.machine.step(outcome, Timestamp::now());
        }
    }

    /// Returns what came of it, if the machine has to know.
    async fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        let failed = |what: &str, error: &kube::Error| {
            warn!(error = %error_chain(error), "cannot {what}; trying again");
            Some(Event::ApiFailed)
        };
        match effect {
            Effect::WriteSet(set) => match disk::write(&self.edge.hook_set, &set) {
                Ok(()) => {
                    let hooks: Vec<&str> = set.hooks.iter().map(|hook| hook.name.as_str()).collect();
                    info!(digest = set.digest(), ?hooks, "wrote the hook set");
                    Some(Event::SetWritten(set))
                }
                Err(error) => {
                    warn!(error = %error_chain(&error), "cannot write the hook set; trying again");
                    Some(Event::DiskFailed)
                }
            },
            Effect::WriteStatus { status, node_uid } => match self.edge.write_status(&status, &node_uid).await {
                Ok(generation) => Some(Event::StatusWritten(status, generation)),
                Err(error) => failed("write the NodeHookStatus", &error),
            },
            Effect::PatchNode { taint, live, message } => match self.edge.patch_node(taint, live, &message).await {
                Ok(facts) => {
                    info!(?taint, ?live, message, "patched the node");
                    Some(Event::Node(facts))
                }
                Err(error) => failed("patch the node", &error),
            },
            Effect::Publish { hook, reason, is_warning, note } => {
                info!(hook = hook.name_any(), %reason, note, "telling an event");
                // An event that is lost is no reason to stop anything.
                if let Err(error) = self.edge.publish(&hook, reason, is_warning, note).await {
                    warn!(error = %error_chain(&error), "cannot tell an event");
                }
                None
            }
        }
    }
}
