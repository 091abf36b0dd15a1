//! One port of a Service: its pods, which of them take requests, and which one gets the next.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hold::{Event, Lane};
use super::port::PortSettings;
use super::rule::Rule;
use super::settings::PodProbe;
use super::table::{LaneTable, PodState};
use super::upstream::Endpoint;

mod probe;

/// A lane as a replica lives it.
#[derive(Debug)]
pub(crate) struct LaneState {
    pub(crate) lane: Lane,
    pub(crate) rule: Arc<Rule>,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the rule has this port no more.
    pub(crate) closed: CancellationToken,
    open: Arc<AtomicBool>,
    raw: AtomicBool,
    speaks: ArcSwap<PortSettings>,
    usable: ArcSwap<Vec<Arc<Endpoint>>>,
    pods: Mutex<BTreeMap<SocketAddr, Pod>>,
}

#[derive(Debug)]
struct Pod {
    endpoint: Arc<Endpoint>,
    state: PodState,
    health: Health,
    /// Kubelet had its say; a probe of ours does not override it any more.
    was_ready: bool,
}

/// What we know of a pod ourselves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Health {
    Unknown,
    /// It answered a probe of ours.
    Proven,
    /// It could not be reached; somebody tries until it can.
    Down,
}

impl Pod {
    fn is_usable(&self) -> bool {
        match (self.state, self.health) {
            (PodState::Ready, Health::Unknown | Health::Proven) | (PodState::NotReady, Health::Proven) => true,
            (PodState::Ready, Health::Down)
            | (PodState::NotReady, Health::Unknown | Health::Down)
            | (PodState::Terminating, _) => false,
        }
    }
}

impl LaneState {
    pub(crate) fn new(lane: Lane, rule: Arc<Rule>, tasks: TaskTracker) -> Arc<Self> {
        let open = rule.room.open_lane(lane);
        Arc::new(Self {
            lane,
            rule,
            tasks,
            closed: CancellationToken::new(),
            open,
            raw: AtomicBool::new(false),
            speaks: ArcSwap::default(),
            usable: ArcSwap::default(),
            pods: Mutex::default(),
        })
    }

    /// Whether a request goes on without waiting.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// Whether bytes are passed on as they are.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.load(Ordering::Relaxed)
    }

    /// What clients and pods speak here.
    pub(crate) fn speaks(&self) -> Arc<PortSettings> {
        self.speaks.load_full()
    }

    /// Of two pods at random, the one with less to do.
    pub(crate) fn pick(&self) -> Option<Arc<Endpoint>> {
        let usable = self.usable.load();
        let [first, second] = match usable.len() {
            0 => return None,
            1 => return usable.first().cloned(),
            count => {
                let random = random();
                let first = random % count;
                // Any but the first.
                [first, (first + 1 + (random >> 32) % (count - 1)) % count]
            }
        };
        let (first, second) = (usable.get(first)?, usable.get(second)?);
        Some(Arc::clone(if second.load() < first.load() { second } else { first }))
    }

    /// Takes in what the slices say.
    pub(crate) fn change(self: &Arc<Self>, table: &LaneTable) {
        self.raw.store(table.raw, Ordering::Relaxed);
        let speaks_as_before = **self.speaks.load() == table.speaks;
        self.speaks.store(Arc::new(table.speaks.clone()));
        let mut pods = self.lock();
        pods.retain(|address, pod| {
            let stays = table.pods.contains_key(address);
            if !stays || !speaks_as_before {
                pod.endpoint.close_idle();
            }
            stays
        });
        for (address, state) in &table.pods {
            let pod = pods.entry(*address).or_insert_with(|| Pod {
                endpoint: Endpoint::new(*address),
                state: *state,
                health: Health::Unknown,
                was_ready: false,
            });
            if pod.state == PodState::Ready && *state != PodState::Ready {
                pod.health = Health::Unknown;
                pod.endpoint.close_idle();
            }
            pod.state = *state;
            pod.was_ready |= *state == PodState::Ready;
        }
        self.publish(&pods);
        drop(pods);
        self.probe_new_pods();
    }

    /// A pod could not be reached: it gets nothing until a probe reaches it.
    pub(crate) fn suspect(self: &Arc<Self>, endpoint: &Arc<Endpoint>) {
        let mut pods = self.lock();
        let Some(pod) = pods.get_mut(&endpoint.address).filter(|pod| Arc::ptr_eq(&pod.endpoint, endpoint)) else {
            return;
        };
        if pod.health != Health::Down {
            pod.health = Health::Down;
            pod.endpoint.close_idle();
            self.publish(&pods);
            drop(pods);
            self.spawn_probe(Arc::clone(endpoint), PodProbe::Connect);
        }
    }

    /// A probe reached a pod.
    fn prove(&self, endpoint: &Arc<Endpoint>) {
        let mut pods = self.lock();
        if let Some(pod) = pods.get_mut(&endpoint.address).filter(|pod| Arc::ptr_eq(&pod.endpoint, endpoint)) {
            pod.health = Health::Proven;
            self.publish(&pods);
        }
    }

    /// Whether a probe of this pod still matters.
    fn is_wanted(&self, endpoint: &Arc<Endpoint>) -> bool {
        let pods = self.lock();
        let known = pods.get(&endpoint.address).filter(|pod| Arc::ptr_eq(&pod.endpoint, endpoint));
        known.is_some_and(|pod| !pod.is_usable() && pod.state != PodState::Terminating)
    }

    /// Pods that kubelet has not called ready yet are asked by us, if the rule says so.
    fn probe_new_pods(self: &Arc<Self>) {
        let how = self.rule.settings().readiness.clone();
        if how == PodProbe::Kubelet {
            return;
        }
        let mut new = Vec::new();
        for pod in self.lock().values_mut() {
            if pod.state == PodState::NotReady && !pod.was_ready && pod.health == Health::Unknown {
                pod.health = Health::Down;
                new.push(Arc::clone(&pod.endpoint));
            }
        }
        for endpoint in new {
            self.spawn_probe(endpoint, how.clone());
        }
    }

    /// Connections that nobody needs are closed.
    pub(crate) fn sweep(&self, now: Instant) {
        for pod in self.lock().values() {
            pod.endpoint.sweep(now);
        }
    }

    /// Ends the lane: those who wait in it are told.
    pub(crate) fn close(&self) {
        self.closed.cancel();
        self.rule.room.close_lane(self.lane);
        self.rule.note_pods(self.lane, 0);
        self.usable.store(Arc::default());
    }

    fn publish(&self, pods: &BTreeMap<SocketAddr, Pod>) {
        let usable: Vec<_> = pods.values().filter(|pod| pod.is_usable()).map(|pod| Arc::clone(&pod.endpoint)).collect();
        let count = u32::try_from(usable.len()).unwrap_or(u32::MAX);
        self.usable.store(Arc::new(usable));
        self.rule.note_pods(self.lane, count);
        self.rule.room.apply(Event::Ready { lane: self.lane, pods: count });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Pod>> {
        self.pods.lock()
    }
}

/// Good enough to spread load; not for secrets.
fn random() -> usize {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(()) | 1);
    }
    STATE.with(|state| {
        let mut value = state.get();
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
        state.set(value);
        usize::try_from(value).unwrap_or_default()
    })
}
