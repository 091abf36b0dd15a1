//! One term of the switch: which rules are reconciled at when, each by one task at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::runtime::events::{Recorder, Reporter};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until, timeout};
use tracing::info;

use super::execute::Edge;
use super::keda::KedaState;
use super::machine::Machine;
use super::reports::Reports;
use super::rule::Reconciled;
use super::selection::ReservedCache;
use super::world::World;
use crate::report::RuleKey;
use crate::scaler::Offers;

/// How often the silence of replicas is reconciled at.
const TICK: Duration = Duration::from_secs(1);
/// However quiet, every rule is reconciled at this often.
const RESYNC: Duration = Duration::from_mins(1);
/// A silent replica whose port refuses is dead.
const DIAL_WITHIN: Duration = Duration::from_millis(500);

/// What all tasks of a term share.
pub(super) struct Controller {
    pub(super) edge: Edge,
    pub(super) world: World,
    pub(super) reports: Reports,
    pub(super) scaler: ScalerPlace,
    pub(super) reserved: ReservedCache,
    pub(super) recorder: Recorder,
    /// Ports given out in this term that may not be seen in a status yet.
    pub(super) given_ports: Mutex<BTreeMap<RuleKey, BTreeSet<i32>>>,
}

/// What KEDA is answered, and where it asks.
#[derive(Clone, Debug)]
pub(super) struct ScalerPlace {
    pub(super) offers: Offers,
    /// Host and port.
    pub(super) address: String,
}

/// What is remembered of a rule between two looks.
#[derive(Debug, Default)]
struct Entry {
    memory: Memory,
    running: bool,
    again: bool,
    due: Option<Instant>,
}

/// What one look leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) machine: Option<Machine>,
    /// The rule as we wrote it last; the watch may lag behind.
    pub(super) written: Option<Arc<reeve_crds::ScalingRule>>,
    /// Whether pods can have connections that bypass the resolver.
    pub(super) silence: super::quiet::Silence,
    /// What a rule that only observes would have done.
    pub(super) observing: Option<super::observing::Observing>,
    pub(super) status_written: Option<Timestamp>,
    pub(super) failures: u32,
    /// Why KEDA's object could not be written, and when that is tried again.
    pub(super) keda_failure: Option<(KedaState, Timestamp)>,
}

impl Controller {
    /// Leads until the term ends and all of this is dropped.
    pub(super) async fn run(client: Client, reports: Reports, scaler: ScalerPlace) {
        reports.open(Timestamp::now());
        let mut watches = JoinSet::new();
        let world = World::watch(&client, &reports.queue, &mut watches).await;
        info!(rules = world.rules.len(), "all objects are known");
        let reporter = Reporter { controller: "reeve-resolver".to_owned(), instance: None };
        let controller = Arc::new(Self {
            edge: Edge { client: client.clone() },
            recorder: Recorder::new(client, reporter),
            given_ports: Mutex::default(),
            world,
            reports,
            scaler,
            reserved: ReservedCache::default(),
        });
        controller.reports.queue.push_all();
        let watching = Arc::clone(&controller);
        watches.spawn(async move { watching.watch_replicas().await });
        Looks { controller, entries: BTreeMap::new(), tasks: JoinSet::new() }.run().await;
    }

    /// Finds dead replicas, and has every rule reconciled at when one falls silent or goes.
    async fn watch_replicas(&self) {
        let mut tick = interval(TICK);
        let (mut were_silent, mut was_informed) = (BTreeSet::new(), (false, false));
        loop {
            tick.tick().await;
            let now = Timestamp::now();
            let silent = self.reports.with(|replicas| replicas.silent(now)).unwrap_or_default();
            let mut changed = false;
            for (replica, door) in &silent {
                if let Some(door) = door
                    && refuses(*door).await
                {
                    info!(replica, "dead: its port refuses");
                    changed |= self.reports.with(|replicas| replicas.remove(replica)).unwrap_or_default();
                }
            }
            changed |= self.reports.with(|replicas| replicas.forget(now)).unwrap_or_default();
            let names: BTreeSet<String> = silent.into_iter().map(|(replica, _)| replica).collect();
            changed |= names != were_silent;
            were_silent = names;
            // What was unknown to a new leader is known from now on, though no report says anything new.
            let is_informed = self.reports.with(|replicas| replicas.has_listened(now)).unwrap_or_default();
            changed |= is_informed != was_informed;
            was_informed = is_informed;
            if changed {
                self.reports.queue.push_all();
            }
        }
    }

    pub(super) fn ports_given(&self) -> parking_lot::MutexGuard<'_, BTreeMap<RuleKey, BTreeSet<i32>>> {
        self.given_ports.lock()
    }
}

async fn refuses(door: std::net::SocketAddr) -> bool {
    let dialled = timeout(DIAL_WITHIN, TcpStream::connect(door)).await;
    matches!(dialled, Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// The schedule of looks.
struct Looks {
    controller: Arc<Controller>,
    entries: BTreeMap<RuleKey, Entry>,
    tasks: JoinSet<(RuleKey, Reconciled)>,
}

impl Looks {
    async fn run(mut self) {
        loop {
            let due = self.entries.values().filter(|entry| !entry.running).filter_map(|entry| entry.due).min();
            let queue = Arc::clone(&self.controller.reports.queue);
            tokio::select! {
                waiting = queue.next_batch() => {
                    let mut keys = waiting.keys;
                    if waiting.all {
                        keys.extend(self.controller.world.rules.state().iter().map(|rule| super::snapshot::key(rule)));
                        keys.extend(self.entries.keys().cloned());
                    }
                    for key in keys {
                        self.reconcile(key);
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let now = Instant::now();
                    let is_due = |entry: &Entry| !entry.running && entry.due.is_some_and(|due| due <= now);
                    let keys: Vec<RuleKey> =
                        self.entries.iter().filter(|(_, entry)| is_due(entry)).map(|(key, _)| key.clone()).collect();
                    for key in keys {
                        self.reconcile(key);
                    }
                }
                Some(Ok((key, reconciled))) = self.tasks.join_next(), if !self.tasks.is_empty() => self.on_reconciled(key, reconciled),
            }
        }
    }

    fn reconcile(&mut self, key: RuleKey) {
        let entry = self.entries.entry(key.clone()).or_default();
        if std::mem::replace(&mut entry.running, true) {
            entry.again = true;
            return;
        }
        entry.due = None;
        let (controller, memory) = (Arc::clone(&self.controller), std::mem::take(&mut entry.memory));
        self.tasks.spawn(async move {
            let reconciled = controller.reconcile(&key, memory).await;
            (key, reconciled)
        });
    }

    fn on_reconciled(&mut self, key: RuleKey, reconciled: Reconciled) {
        let Reconciled::Stays { memory, again_in } = reconciled else {
            self.entries.remove(&key);
            self.controller.ports_given().remove(&key);
            self.controller.scaler.offers.remove(&key);
            return;
        };
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.memory = *memory;
        entry.running = false;
        entry.due = Some(Instant::now() + again_in.unwrap_or(RESYNC).min(RESYNC));
        if std::mem::take(&mut entry.again) {
            self.reconcile(key);
        }
    }
}
