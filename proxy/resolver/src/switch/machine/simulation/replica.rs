//! A replica of the data plane, as the seam says that it behaves.

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::cluster::{PodId, at};
use super::{Dice, Tick};
use crate::report::{ListenerReport, ReplicaReport, RuleKey, RuleReport};

pub(super) const PORT: u16 = 20_001;

pub(super) fn rule() -> RuleKey {
    RuleKey::new("shop", "web")
}

#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) number: usize,
    pub(super) life: u64,
    pub(super) dead_until: Option<Tick>,
    /// The mode as it was read, late, and its count of changes.
    pub(super) mode: (TrafficMode, i64),
    /// Ready pods as they were read, late.
    pub(super) pods: Vec<PodId>,
    /// Requests that were forwarded: to which pod, until when.
    pub(super) in_flight: Vec<(PodId, Tick)>,
    pub(super) held: u32,
    pub(super) total: u64,
    pub(super) last_request: Option<Tick>,
    sequence: u64,
    reported: Option<(TrafficMode, i64, bool, bool, usize)>,
}

impl Replica {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            life: 0,
            dead_until: None,
            mode: (TrafficMode::Direct, 0),
            pods: Vec::new(),
            in_flight: Vec::new(),
            held: 0,
            total: 0,
            last_request: None,
            sequence: 0,
            reported: None,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.dead_until.is_none()
    }

    pub(super) fn on_request(&mut self, now: Tick) {
        self.held += 1;
        self.total += 1;
        self.last_request = Some(now);
    }

    fn holds(&self) -> bool {
        self.mode.0 == TrafficMode::Draining
    }

    /// Forwards what may go. The pods it picks may be gone: then the connection fails and it goes on holding.
    pub(super) fn forward(&mut self, now: Tick, dice: &mut Dice, is_there: impl Fn(PodId) -> bool) {
        while self.held > 0 && !self.holds() && !self.pods.is_empty() {
            let index = usize::try_from(dice.below(self.pods.len() as u64)).unwrap();
            let pod = self.pods[index];
            if !is_there(pod) {
                return;
            }
            self.held -= 1;
            self.in_flight.push((pod, now + 1 + i64::try_from(dice.below(4)).unwrap()));
        }
    }

    /// Whether it would write the scale of a target at zero.
    pub(super) fn wakes(&self) -> bool {
        self.held > 0 && !self.holds()
    }

    /// The report, if one is due: each second, and at once on an edge.
    pub(super) fn report(&mut self, now: Tick) -> Option<ReplicaReport> {
        let busy = self.held > 0 || !self.in_flight.is_empty();
        let edge = (self.mode.0, self.mode.1, self.holds(), busy, self.pods.len());
        if self.reported == Some(edge) && (now + Tick::try_from(self.number).unwrap()) % 10 != 0 {
            return None;
        }
        self.reported = Some(edge);
        self.sequence += 1;
        Some(ReplicaReport {
            replica: format!("replica-{}", self.number),
            instance: self.life.to_string(),
            sequence: self.sequence,
            addresses: vec![format!("10.0.0.{}", self.number + 1).parse().unwrap()],
            node: None,
            at: at(now),
            draining: false,
            listeners: vec![ListenerReport { rule: rule(), port: PORT, bound: true, problem: None }],
            rules: vec![RuleReport {
                rule: rule(),
                mode: Some(self.mode.0),
                mode_changes: self.mode.1,
                holding: self.holds(),
                in_flight: u32::try_from(self.in_flight.len()).unwrap(),
                held: self.held,
                ready_pods: u32::try_from(self.pods.len()).unwrap(),
                requests_total: self.total,
                last_request: self.last_request.map(at),
                wake: None,
            }],
        })
    }

    /// A report that got lost is sent again.
    pub(super) fn report_was_lost(&mut self) {
        self.reported = None;
    }

    pub(super) fn name(&self) -> String {
        format!("replica-{}", self.number)
    }
}

pub(super) fn timestamp(now: Tick) -> Timestamp {
    at(now)
}
