//! All rules of a replica: takes in tables, opens and closes ports, and tells how things are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::hold::Lane;
use super::lane::LaneState;
use super::listener::{Doors, Listeners};
use super::origin::PodNetworks;
use super::rule::{Clock, Rule, Signals};
use super::secrets::{SecretKey, Secrets, Use};
use super::table::RuleTable;
use crate::report::{ListenerReport, RuleKey, RuleReport};

const SWEEP_EVERY: Duration = Duration::from_secs(2);

/// Bounds of a whole replica.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) address: IpAddr,
    pub(crate) pod_networks: Arc<PodNetworks>,
    pub(crate) connections: usize,
    pub(crate) connections_per_port: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            address: IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            pod_networks: Arc::default(),
            connections: 10_000,
            connections_per_port: 5_000,
        }
    }
}

/// A replica's rules. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Plane(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    doors: Arc<Doors>,
    clock: Clock,
    signals: Arc<Signals>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: BTreeMap<RuleKey, RuleState>,
    listeners: Listeners,
}

#[derive(Debug)]
struct RuleState {
    rule: Arc<Rule>,
    lanes: BTreeMap<u16, Arc<LaneState>>,
}

impl Plane {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let doors = Doors {
            address: bounds.address,
            free: Arc::new(Semaphore::new(bounds.connections)),
            per_port: bounds.connections_per_port,
            pod_networks: bounds.pod_networks,
            secrets: Arc::default(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            stop: CancellationToken::new(),
            ending: CancellationToken::new(),
        };
        Self(Arc::new(Inner {
            doors: Arc::new(doors),
            clock: Clock::start(),
            signals: Arc::default(),
            state: Mutex::default(),
        }))
    }

    pub(crate) fn signals(&self) -> &Signals {
        &self.0.signals
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.0.doors.secrets
    }

    /// Those that rules name.
    pub(crate) fn secrets_wanted(&self) -> BTreeSet<(SecretKey, Use)> {
        let state = self.lock();
        let lanes = state.rules.values().flat_map(|known| known.lanes.values());
        lanes.flat_map(|lane| lane.speaks().secrets().collect::<Vec<_>>()).collect()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.0.clock
    }

    /// From now on a rule is this; `None` means that there is no such rule.
    pub(crate) fn set(&self, key: &RuleKey, table: Option<RuleTable>) {
        // Cheap, and looked at once for many changes.
        self.0.signals.secrets.notify_one();
        let mut state = self.lock();
        let Some(table) = table else {
            if let Some(gone) = state.rules.remove(key) {
                for (port, lane) in gone.lanes {
                    state.listeners.close(port);
                    lane.close();
                }
            }
            return;
        };
        let State { rules, listeners } = &mut *state;
        let known = rules.entry(key.clone()).or_insert_with(|| RuleState {
            rule: Rule::new(key.clone(), table.settings.clone(), self.0.clock, Arc::clone(&self.0.signals)),
            lanes: BTreeMap::new(),
        });
        known.rule.change(table.settings);
        known.lanes.retain(|port, lane| {
            let stays = table.lanes.contains_key(port);
            if !stays {
                listeners.close(*port);
                lane.close();
            }
            stays
        });
        for (port, lane_table) in &table.lanes {
            if let Some(other) = listeners.owner(*port).filter(|other| *other != key) {
                warn!(port, rule = %key, %other, "two rules have one port; the first keeps it");
                continue;
            }
            let lane = known.lanes.entry(*port).or_insert_with(|| {
                let lane = LaneState::new(Lane(*port), Arc::clone(&known.rule), self.0.doors.tasks.clone());
                listeners.open(&self.0.doors, &lane);
                lane
            });
            lane.change(lane_table);
        }
    }

    pub(crate) fn find(&self, key: &RuleKey) -> Option<Arc<Rule>> {
        self.lock().rules.get(key).map(|known| Arc::clone(&known.rule))
    }

    /// The rules, to look after.
    pub(crate) fn rules(&self) -> Vec<Arc<Rule>> {
        self.lock().rules.values().map(|known| Arc::clone(&known.rule)).collect()
    }

    pub(crate) fn report(&self) -> (Vec<ListenerReport>, Vec<RuleReport>) {
        let state = self.lock();
        let listeners = state.listeners.iter().map(|(port, lane, bound)| {
            let problem = lane.speaks().problem(&self.0.doors.secrets);
            ListenerReport { rule: lane.rule.key.clone(), port, bound: bound && problem.is_none(), problem }
        });
        (listeners.collect(), state.rules.values().map(|known| known.rule.report()).collect())
    }

    /// Closes connections to pods that nobody uses, for ever.
    pub(crate) async fn sweep(&self) {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now: Instant = ticks.tick().await;
            for lane in self.lock().rules.values().flat_map(|known| known.lanes.values()) {
                lane.sweep(now);
            }
        }
    }

    /// Serves on, and has clients come again: traffic is about to be led elsewhere.
    pub(crate) fn leave(&self) {
        self.0.doors.leaving.cancel();
    }

    /// Closes each port as soon as nobody comes any more, and returns when the last request has ended. Those who wait go on
    /// waiting for `patience`, then they are told to come again and all ports are closed.
    pub(crate) async fn drain(&self, patience: Duration) {
        self.leave();
        let doors = &self.0.doors;
        doors.stop.cancel();
        let lanes: Vec<_> = self.lock().rules.values().flat_map(|known| known.lanes.values().cloned()).collect();
        doors.tasks.close();
        if tokio::time::timeout(patience, doors.tasks.wait()).await.is_err() {
            doors.ending.cancel();
            // Probes of pods have nobody left to ask for.
            for lane in &lanes {
                lane.closed.cancel();
            }
            doors.tasks.wait().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
