//! Everything around the switch: objects, pods, controllers, kube-proxy, replicas, clients and people.

use std::collections::VecDeque;

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::super::Asked;
use super::replica::{Replica, rule};
use super::switch::Switch;
use super::{Dice, Outcome, Tick, Weather};
use crate::report::ReplicaReport;

pub(super) type PodId = u64;

pub(super) fn at(tick: Tick) -> Timestamp {
    Timestamp::from_millisecond(1_000_000_000_000 + tick * 100).unwrap()
}

/// The status of the rule.
#[derive(Clone, Debug)]
pub(super) struct Status {
    pub(super) mode: TrafficMode,
    pub(super) since: Tick,
    pub(super) changes: i64,
    pub(super) restore: Option<i32>,
}

#[derive(Clone, Copy, Debug)]
struct Pod {
    id: PodId,
    ready_at: Tick,
    /// Told to go: it serves until then, and takes what it serves with it.
    ends_at: Option<Tick>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Endpoint {
    Pod(PodId),
    Replica(usize),
}

/// Something that is seen late but in order.
#[derive(Debug)]
struct Late<T> {
    seen: T,
    coming: VecDeque<(Tick, T)>,
}

impl<T: Clone + PartialEq> Late<T> {
    fn new(seen: T) -> Self {
        Self { seen, coming: VecDeque::new() }
    }

    fn update(&mut self, truth: T, now: Tick, dice: &mut Dice, lag: u64) {
        let last = self.coming.back().map_or(&self.seen, |(_, last)| last);
        if *last != truth {
            let due = now + i64::try_from(dice.below(lag + 1)).unwrap();
            let due = self.coming.back().map_or(due, |(before, _)| due.max(*before));
            self.coming.push_back((due, truth));
        }
        while self.coming.front().is_some_and(|(due, _)| *due <= now) {
            self.seen = self.coming.pop_front().unwrap().1;
        }
    }
}

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) now: Tick,
    pub(super) dice: Dice,
    pub(super) weather: Weather,
    pub(super) outcome: Outcome,
    pub(super) status: Option<Status>,
    pub(super) replicas_wanted: i32,
    /// What a person asked the rule for.
    pub(super) asked: Option<Asked>,
    /// If the rule uses it.
    pub(super) keda: Option<Keda>,
    pub(super) shadow: bool,
    pub(super) captured: bool,
    pub(super) slice: Option<Vec<usize>>,
    pub(super) replicas: Vec<Replica>,
    pub(super) mailbox: VecDeque<(Tick, ReplicaReport)>,
    pods: Vec<Pod>,
    next_pod: PodId,
    own_slice: Late<Vec<PodId>>,
    shadow_slice: Late<Vec<PodId>>,
    kube_proxy: Late<Vec<Endpoint>>,
    modes: Vec<Late<(TrafficMode, i64)>>,
    shadow_views: Vec<Late<Vec<PodId>>>,
    direct: Vec<(PodId, Tick)>,
    /// Clients call until then, and are quiet after.
    calling_until: Tick,
    quiet_until: Tick,
    /// Something happened that no switch can undo at once.
    excused_until: Tick,
    slept: bool,
}

const NEVER: u64 = 0;
const KEDA_INTERVAL: Tick = 20;

/// KEDA, which does what it does later than it asks.
#[derive(Debug, Default)]
pub(super) struct Keda {
    asks_at: Tick,
    /// When it acts on which answer; it asks again only after that.
    acts: Option<(Tick, bool)>,
    /// Another trigger of the rule wants the target.
    other_trigger: bool,
}

impl Cluster {
    pub(super) fn new(dice: Dice, weather: Weather, has_keda: bool) -> Self {
        Self {
            now: 0,
            dice,
            weather,
            outcome: Outcome::default(),
            status: None,
            replicas_wanted: 2,
            asked: None,
            keda: has_keda.then(Keda::default),
            shadow: false,
            captured: false,
            slice: None,
            replicas: vec![Replica::new(0), Replica::new(1)],
            mailbox: VecDeque::new(),
            pods: [0, 1].map(|id| Pod { id, ready_at: 0, ends_at: None }).to_vec(),
            next_pod: 2,
            own_slice: Late::new(vec![0, 1]),
            shadow_slice: Late::new(vec![]),
            kube_proxy: Late::new(vec![Endpoint::Pod(0), Endpoint::Pod(1)]),
            modes: vec![Late::new((TrafficMode::Direct, 0)), Late::new((TrafficMode::Direct, 0))],
            shadow_views: vec![Late::new(vec![]), Late::new(vec![])],
            direct: Vec::new(),
            calling_until: 20,
            quiet_until: 0,
            excused_until: 0,
            slept: false,
        }
    }

    fn happens(&mut self, once_in: u64) -> bool {
        once_in != NEVER && self.dice.one_in(once_in)
    }

    pub(super) fn tick(&mut self) {
        self.now += 1;
        self.slept = false;
        self.people_meddle();
        self.run_pods();
        self.controllers_follow();
        self.replicas_follow();
        self.clients_call();
        self.end_requests();
    }

    fn people_meddle(&mut self) {
        if self.happens(self.weather.asked) {
            self.asked = Some(if self.dice.one_in(2) { Asked::Wake } else { Asked::Sleep });
        }
        if self.happens(self.weather.foreign) {
            match self.dice.below(3) {
                0 => self.replicas_wanted = 0,
                1 => self.captured = false,
                _ => self.replicas_wanted = 3,
            }
            self.excused_until = self.now + 100;
        }
        for number in 0..self.replicas.len() {
            // Never both: the service would be gone until a switch fails open.
            let alone = self.replicas.iter().filter(|replica| replica.is_alive()).count() < 2;
            if !alone && self.happens(self.weather.replica_dies) {
                let replica = &mut self.replicas[number];
                self.outcome.excused += u64::from(replica.held) + replica.in_flight.len() as u64;
                let back = self.now + 1 + i64::try_from(self.dice.below(100)).unwrap();
                let life = replica.life + 1;
                *replica = Replica::new(number);
                (replica.life, replica.dead_until) = (life, Some(back));
                self.excused_until = self.excused_until.max(self.now + 100);
            }
            let replica = &mut self.replicas[number];
            if replica.dead_until.is_some_and(|until| until <= self.now) {
                replica.dead_until = None;
                self.modes[number] = Late::new((TrafficMode::Direct, 0));
                self.shadow_views[number] = Late::new(vec![]);
            }
        }
    }

    /// A pod that is one too many ends a little later, at once and with what it serves.
    fn run_pods(&mut self) {
        let wanted = usize::try_from(self.replicas_wanted).unwrap();
        let (now, lag) = (self.now, self.weather.lag);
        let staying = self.pods.iter().filter(|pod| pod.ends_at.is_none()).count();
        let surplus = staying.saturating_sub(wanted);
        for pod in self.pods.iter_mut().filter(|pod| pod.ends_at.is_none()).take(surplus) {
            pod.ends_at = Some(now + i64::try_from(self.dice.below(lag + 1)).unwrap());
            // One that is not ready when it is told to go never will be.
            pod.ready_at = if pod.ready_at > now { Tick::MAX } else { pod.ready_at };
        }
        self.pods.retain(|pod| pod.ends_at.is_none_or(|end| end > now));
        for _ in staying..wanted {
            let ready_at = self.now + 3 + i64::try_from(self.dice.below(10)).unwrap();
            self.pods.push(Pod { id: self.next_pod, ready_at, ends_at: None });
            self.next_pod += 1;
        }
    }

    fn ready(&self) -> Vec<PodId> {
        self.pods.iter().filter(|pod| pod.ready_at <= self.now).map(|pod| pod.id).collect()
    }

    fn controllers_follow(&mut self) {
        let (now, lag, ready) = (self.now, self.weather.lag, self.ready());
        let own = if self.captured { Vec::new() } else { ready.clone() };
        self.own_slice.update(own, now, &mut self.dice, lag);
        let shadow = if self.shadow { ready } else { Vec::new() };
        self.shadow_slice.update(shadow, now, &mut self.dice, lag);
        let pods = self.own_slice.seen.iter().map(|pod| Endpoint::Pod(*pod));
        let resolvers = self.slice.iter().flatten().map(|replica| Endpoint::Replica(*replica));
        self.kube_proxy.update(pods.chain(resolvers).collect(), now, &mut self.dice, lag);
    }

    fn replicas_follow(&mut self) {
        let (now, lag) = (self.now, self.weather.lag);
        let mode = self.status.as_ref().map_or((TrafficMode::Direct, 0), |status| (status.mode, status.changes));
        for number in 0..self.replicas.len() {
            if !self.replicas[number].is_alive() {
                continue;
            }
            self.modes[number].update(mode, now, &mut self.dice, lag);
            self.shadow_views[number].update(self.shadow_slice.seen.clone(), now, &mut self.dice, lag);
            let ready = self.ready();
            let replica = &mut self.replicas[number];
            replica.mode = self.modes[number].seen;
            replica.pods.clone_from(&self.shadow_views[number].seen);
            replica.forward(now, &mut self.dice, |pod| ready.contains(&pod));
            if replica.wakes() && self.replicas_wanted == 0 {
                self.replicas_wanted = 1;
            }
            self.post(number);
        }
    }

    fn post(&mut self, number: usize) {
        let Some(report) = self.replicas[number].report(self.now) else { return };
        if self.happens(self.weather.report_lost) {
            self.replicas[number].report_was_lost();
            return;
        }
        let due = self.now + i64::try_from(self.dice.below(3)).unwrap();
        self.mailbox.push_back((due, report));
    }

    fn clients_call(&mut self) {
        if self.now >= self.quiet_until {
            self.calling_until = self.now + 1 + i64::try_from(self.dice.below(10)).unwrap();
            self.quiet_until = self.calling_until + 1 + i64::try_from(self.dice.below(60)).unwrap();
        }
        if self.now >= self.calling_until || self.dice.one_in(2) {
            return;
        }
        let endpoints = &self.kube_proxy.seen;
        if endpoints.is_empty() {
            return self.lose(1, "no endpoint");
        }
        let chosen = endpoints[usize::try_from(self.dice.below(endpoints.len() as u64)).unwrap()];
        match chosen {
            Endpoint::Pod(pod) if self.ready().contains(&pod) => self.direct.push((pod, self.now + 2)),
            Endpoint::Replica(number) if self.replicas[number].is_alive() => self.replicas[number].on_request(self.now),
            Endpoint::Pod(_) | Endpoint::Replica(_) => self.lose(1, "a dead endpoint"),
        }
    }

    fn end_requests(&mut self) {
        let (now, alive): (Tick, Vec<PodId>) = (self.now, self.pods.iter().map(|pod| pod.id).collect());
        let end = |requests: &mut Vec<(PodId, Tick)>| {
            let before = requests.len();
            requests.retain(|(pod, _)| alive.contains(pod));
            let cut = before - requests.len();
            let open = requests.len();
            requests.retain(|(_, until)| *until > now);
            (cut as u64, (open - requests.len()) as u64)
        };
        let mut sums = vec![end(&mut self.direct)];
        for replica in &mut self.replicas {
            sums.push(end(&mut replica.in_flight));
        }
        for (cut, served) in sums {
            self.outcome.served += served;
            if cut > 0 {
                self.lose(cut, "cut by a pod that ended");
            }
        }
    }

    fn lose(&mut self, requests: u64, why: &str) {
        if self.now < self.excused_until {
            self.outcome.excused += requests;
            return;
        }
        self.outcome.lost += requests;
        panic!("lost: {why}: {self:#?}");
    }

    /// KEDA asks in its interval and does a while later what it was answered, whatever happened meanwhile.
    pub(super) fn run_keda(&mut self, switch: &Switch) {
        let Some(mut keda) = self.keda.take() else { return };
        if self.now >= keda.asks_at && keda.acts.is_none() {
            keda.asks_at = self.now + KEDA_INTERVAL;
            keda.other_trigger = self.dice.one_in(4);
            let is_active = switch.offers.is_active(&rule(), at(self.now));
            let was_asleep = self.replicas_wanted == 0;
            if let Some(is_active) = is_active {
                // While it sleeps no pod can be ready before KEDA has acted.
                let lag = if was_asleep { 3 } else { 90 };
                let acts_at = self.now + i64::try_from(self.dice.below(lag)).unwrap();
                keda.acts = Some((acts_at, is_active || keda.other_trigger));
            }
        }
        let scale = keda.acts.take_if(|(due, _)| *due <= self.now).map(|(_, is_active)| is_active);
        self.keda = Some(keda);
        match scale {
            Some(true) if self.replicas_wanted == 0 => self.replicas_wanted = 1,
            Some(false) if self.replicas_wanted > 0 => {
                let is_barred = self.status.as_ref().is_some_and(|status| status.mode == TrafficMode::Draining);
                if is_barred { self.sleep() } else { self.replicas_wanted = 0 }
            }
            _ => {}
        }
    }

    /// Whether every fresh connection reaches a replica.
    pub(super) fn probe(&self) -> bool {
        let reaches = |endpoint: &Endpoint| match endpoint {
            Endpoint::Replica(number) => self.replicas[*number].is_alive(),
            Endpoint::Pod(_) => false,
        };
        !self.kube_proxy.seen.is_empty() && self.kube_proxy.seen.iter().all(reaches)
    }

    pub(super) fn direct_pods(&self) -> u32 {
        u32::try_from(self.own_slice.seen.len()).unwrap()
    }

    pub(super) fn shadow_pods(&self) -> u32 {
        u32::try_from(self.shadow_slice.seen.len()).unwrap()
    }

    pub(super) fn sleep(&mut self) {
        let status = self.status.as_ref().unwrap();
        assert_eq!(status.mode, TrafficMode::Draining, "a sleep without a barrier");
        assert!(self.captured || self.now < self.excused_until, "a sleep without a capture");
        let in_flight = self.replicas.iter().map(|replica| replica.in_flight.len()).sum::<usize>();
        assert!(in_flight == 0, "a sleep with requests in flight: {self:#?}");
        assert!(self.direct.is_empty() || self.now < self.excused_until, "a sleep with direct requests");
        let pods_in_proxy = self.kube_proxy.seen.iter().any(|endpoint| matches!(endpoint, Endpoint::Pod(_)));
        assert!(!pods_in_proxy || self.now < self.excused_until, "a sleep while kube-proxy leads to pods");
        self.replicas_wanted = 0;
        self.outcome.sleeps += 1;
        self.slept = true;
    }

    pub(super) fn just_slept(&self) -> bool {
        self.slept
    }

    /// What holds at every moment.
    pub(super) fn check(&self, switch: &Switch) {
        let serves = |endpoint: &Endpoint| match endpoint {
            Endpoint::Pod(pod) => self.ready().contains(pod),
            Endpoint::Replica(number) => self.replicas[*number].is_alive(),
        };
        let reachable = self.kube_proxy.seen.iter().any(serves);
        assert!(reachable || self.now < self.excused_until, "unreachable: {switch:?} {self:#?}");
    }
}
