//! The switch: the real machine and table of replicas, with a process around them that gets killed.

use std::collections::BTreeSet;
use std::time::Duration;

use reeve_crds::scaling_rule::ScalingRuleSpec;
use serde_json::json;

use super::super::{Effect, Event, Extent, Intent, Machine, Observed, Policy, SleepBy, Slice};
use super::Tick;
use super::cluster::{Cluster, Status};
use super::replica::{PORT, rule, timestamp};
use crate::scaler::Offers;
use crate::switch::keda::offer;
use crate::switch::replicas::Replicas;

const IDLE_AFTER: Duration = Duration::from_secs(1);
const MIN_AWAKE: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(super) struct Switch {
    machine: Option<Machine>,
    replicas: Option<Replicas>,
    /// What KEDA is answered; nothing while no switch lives.
    pub(super) offers: Offers,
    dead_until: Tick,
}

impl Switch {
    pub(super) fn tick(&mut self, cluster: &mut Cluster) {
        if cluster.now < self.dead_until {
            cluster.mailbox.clear();
            return;
        }
        let started = cluster.now;
        let replicas = self.replicas.get_or_insert_with(|| Replicas::new(timestamp(started)));
        let now = timestamp(cluster.now);
        while cluster.mailbox.front().is_some_and(|(due, _)| *due <= cluster.now) {
            replicas.report(cluster.mailbox.pop_front().unwrap().1, now);
        }
        // Dialled: a port that refuses is that of a dead replica.
        for (name, _) in replicas.silent(now) {
            if cluster.replicas.iter().any(|replica| replica.name() == name && !replica.is_alive()) {
                replicas.remove(&name);
            }
        }
        for _ in 0..4 {
            let observed = self.observe(cluster);
            let machine = self.machine.get_or_insert_with(|| {
                let status = cluster.status.as_ref();
                let mode = status.map(|status| (status.mode, timestamp(status.since)));
                Machine::recover(mode, status.and_then(|status| status.restore), &observed, now)
            });
            let policy = observed.policy;
            let effects = machine.step(Event::Observed(Box::new(observed)), now);
            // As the status would say it.
            cluster.asked = cluster.asked.filter(|_| !machine.has_answered(&policy));
            if !self.carry_out(cluster, &effects) {
                return self.make_offer(cluster);
            }
        }
        self.make_offer(cluster);
    }

    fn make_offer(&self, cluster: &Cluster) {
        let (Some(machine), Some(_)) = (&self.machine, &cluster.keda) else { return };
        let spec: ScalingRuleSpec = serde_json::from_value(json!({ "services": [], "keda": {} })).unwrap();
        let keda = spec.keda.clone().unwrap();
        self.offers.set(&rule(), offer(&spec, &keda, false, machine, &self.observe(cluster)));
    }

    fn observe(&self, cluster: &Cluster) -> Observed {
        let (now, replicas) = (timestamp(cluster.now), self.replicas.as_ref().unwrap());
        let usable = replicas.usable(&rule(), &BTreeSet::from([i32::from(PORT)]), now);
        let numbers = usable.as_ref().map(|usable| numbers(usable));
        let slice = match (&cluster.slice, &numbers) {
            (None, _) => Slice::Absent,
            (Some(has), Some(wanted)) if has == wanted && !wanted.is_empty() => Slice::Current,
            (Some(_), _) => Slice::Stale,
        };
        let epoch = cluster.status.as_ref().map(|status| (status.mode, status.changes));
        Observed {
            policy: Policy {
                intent: Intent::Govern,
                idle_after: IDLE_AFTER,
                min_awake: MIN_AWAKE,
                wake: 1,
                sleep_by: match cluster.keda {
                    Some(_) => SleepBy::Keda { within: Duration::from_secs(6) },
                    None => SleepBy::Switch,
                },
                hand_over: None,
                keep_awake: false,
                asked: cluster.asked,
            },
            replicas: Some(cluster.replicas_wanted),
            shadow: cluster.shadow,
            ready_pods: cluster.shadow_pods(),
            direct_pods: cluster.direct_pods(),
            direct_endpoints: cluster.direct_pods(),
            capture: if cluster.captured { Extent::All } else { Extent::None },
            slice,
            routes_settle: None,
            resolvers: numbers.map(|numbers| numbers.len()),
            traffic: epoch.and_then(|epoch| replicas.traffic(&rule(), epoch, now)),
            held: replicas.held(&rule()),
            pods_quiet: true,
            keda_told: self.offers.withdraw_sleep(&rule()),
        }
    }

    /// True if there is more to do at once.
    fn carry_out(&mut self, cluster: &mut Cluster, effects: &[Effect]) -> bool {
        let mut again = false;
        for effect in effects {
            let is_written = !matches!(effect, Effect::LookAt(_));
            if is_written && cluster.weather.switch_dies != 0 && cluster.dice.one_in(cluster.weather.switch_dies / 10) {
                return self.die(cluster);
            }
            again |= self.apply(cluster, effect);
        }
        if cluster.weather.switch_dies != 0 && cluster.dice.one_in(cluster.weather.switch_dies) {
            return self.die(cluster);
        }
        again
    }

    fn apply(&mut self, cluster: &mut Cluster, effect: &Effect) -> bool {
        match effect {
            Effect::SetMode { mode, restore } => {
                let changes = cluster.status.as_ref().map_or(0, |status| status.changes) + 1;
                cluster.status = Some(Status { mode: *mode, since: cluster.now, changes, restore: *restore });
                return true;
            }
            Effect::EnsureShadow => cluster.shadow = true,
            Effect::WriteSlice => {
                let ports = BTreeSet::from([i32::from(PORT)]);
                let replicas = self.replicas.as_ref().unwrap();
                let usable = replicas.usable(&rule(), &ports, timestamp(cluster.now)).unwrap_or_default();
                cluster.slice = Some(numbers(&usable));
            }
            Effect::DeleteSlice => cluster.slice = None,
            Effect::Capture => cluster.captured = true,
            Effect::Release => cluster.captured = false,
            Effect::Probe => {
                let proven = cluster.probe();
                self.machine.as_mut().unwrap().step(Event::Probed { proven }, timestamp(cluster.now));
                return proven;
            }
            Effect::Scale { replicas: 0 } if cluster.replicas_wanted > 0 => cluster.sleep(),
            Effect::Scale { replicas } if cluster.replicas_wanted == 0 => cluster.replicas_wanted = *replicas,
            Effect::Scale { .. } | Effect::Finish | Effect::LookAt(_) => {}
        }
        false
    }

    /// Killed: nothing is left but the objects. Another leads a while later.
    fn die(&mut self, cluster: &mut Cluster) -> bool {
        let pause = i64::try_from(cluster.dice.below(150)).unwrap();
        *self = Self { dead_until: cluster.now + 1 + pause, ..Self::default() };
        false
    }
}

fn numbers(usable: &[crate::switch::objects::Resolver]) -> Vec<usize> {
    usable.iter().filter_map(|resolver| resolver.name.strip_prefix("replica-")?.parse().ok()).collect()
}
