//! When a target may sleep, and the barrier before it.

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::{
    Asked, DRAIN_WITHIN, Effect, Extent, KEDA_ACTS_WITHIN, Machine, Observed, PROBE_AGAIN, SleepBy, Slice, add, elapsed,
};

impl Machine {
    /// Nothing in flight, nothing held, nothing unknown, for a whole idle time seen from inside the path.
    pub(super) fn sleep_or_wait(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        let (Some(traffic), Some(replicas)) = (o.traffic, o.replicas) else { return Vec::new() };
        if !may_sleep(o, traffic.in_flight) {
            return Vec::new();
        }
        let idle_since = traffic.last_request.map_or(self.since, |last| last.max(self.since));
        let by_rule = add(idle_since, o.policy.idle_after).max(add(self.since, o.policy.min_awake));
        let due = if o.policy.asked == Some(Asked::Sleep) { now } else { by_rule };
        let due = self.sleep_not_before.map_or(due, |not_before| due.max(not_before));
        if now < due {
            return vec![Effect::LookAt(due)];
        }
        // Proven again in front of every sleep: somebody may have touched the Service meanwhile.
        self.proven = false;
        self.restore = Some(replicas);
        self.turn(TrafficMode::Draining, now)
    }

    /// Every replica holds what comes, and only then the target is scaled down. A request lifts the barrier.
    pub(super) fn draining(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.replicas == Some(0) {
            return self.fall_asleep(o, now);
        }
        if o.capture != Extent::All {
            return self.lift_barrier(TrafficMode::Entering, o, now);
        }
        let Some(traffic) = o.traffic.filter(|traffic| may_sleep(o, traffic.in_flight)) else {
            return self.lift_barrier(TrafficMode::Proxied, o, now);
        };
        let patience = match o.policy.sleep_by {
            SleepBy::Switch | SleepBy::Nobody => DRAIN_WITHIN,
            SleepBy::Keda { within } => DRAIN_WITHIN + within,
        };
        let lift = add(self.since, patience);
        if elapsed(self.since, now) >= patience {
            self.sleep_not_before = Some(add(now, o.policy.idle_after));
            return self.lift_barrier(TrafficMode::Proxied, o, now);
        }
        if !traffic.holding {
            return vec![Effect::LookAt(lift)];
        }
        if !self.proven {
            return vec![Effect::Probe, Effect::LookAt(add(now, PROBE_AGAIN))];
        }
        match o.policy.sleep_by {
            SleepBy::Switch => vec![Effect::Scale { replicas: 0 }, Effect::LookAt(lift)],
            SleepBy::Keda { .. } => {
                self.asks_keda = true;
                vec![Effect::LookAt(lift)]
            }
            SleepBy::Nobody => Vec::new(),
        }
    }

    /// What KEDA was told cannot be taken back: the barrier stands until it has acted on it or never will.
    fn lift_barrier(&mut self, mode: TrafficMode, o: &Observed, now: Timestamp) -> Vec<Effect> {
        self.asks_keda = false;
        match self.keda_settles_at(o, now) {
            Some(settled) => vec![Effect::LookAt(settled)],
            None => self.turn(mode, now),
        }
    }

    /// Until when KEDA may still scale to zero by what it was told in this drain.
    pub(super) fn keda_settles_at(&self, o: &Observed, now: Timestamp) -> Option<Timestamp> {
        let asked = self.mode == TrafficMode::Draining && o.replicas.is_some_and(|replicas| replicas > 0);
        let told = o.keda_told.max(self.keda_may_know).filter(|_| asked && o.policy.sleep_by != SleepBy::Switch)?;
        Some(add(told, KEDA_ACTS_WITHIN)).filter(|settled| now < *settled)
    }

    /// The barrier stands until no replica knows a pod: what it forwarded now would end with the pod.
    fn fall_asleep(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        let unknown_to_all = o.traffic.is_some_and(|traffic| traffic.ready_pods == 0);
        let late = elapsed(self.since, now) >= DRAIN_WITHIN;
        if o.ready_pods == 0 && (unknown_to_all || late) {
            return self.turn(TrafficMode::Asleep, now);
        }
        vec![Effect::LookAt(add(now, PROBE_AGAIN))]
    }
}

fn may_sleep(o: &Observed, in_flight: u32) -> bool {
    in_flight == 0
        && o.held == 0
        && o.pods_quiet
        && !o.policy.keep_awake
        && o.policy.sleep_by != SleepBy::Nobody
        && o.policy.asked != Some(Asked::Wake)
        && o.slice == Slice::Current
        && o.direct_endpoints == 0
        && o.replicas.is_some()
}
