//! When a target may sleep, and the barrier before it.

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::{DRAIN_WITHIN, Effect, Extent, Machine, Observed, PROBE_AGAIN, Slice, add, elapsed};

impl Machine {
    /// Nothing in flight, nothing held, nothing unknown, for a whole idle time seen from inside the path.
    pub(super) fn sleep_or_wait(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        let (Some(traffic), Some(replicas)) = (o.traffic, o.replicas) else { return Vec::new() };
        if !may_sleep(o, traffic.in_flight) {
            return Vec::new();
        }
        let idle_since = traffic.last_request.map_or(self.since, |last| last.max(self.since));
        let due = add(idle_since, o.policy.idle_after).max(add(self.since, o.policy.min_awake));
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
            return self.turn(TrafficMode::Entering, now);
        }
        let Some(traffic) = o.traffic.filter(|traffic| may_sleep(o, traffic.in_flight)) else {
            return self.turn(TrafficMode::Proxied, now);
        };
        let lift = add(self.since, DRAIN_WITHIN);
        if elapsed(self.since, now) >= DRAIN_WITHIN {
            self.sleep_not_before = Some(add(now, o.policy.idle_after));
            return self.turn(TrafficMode::Proxied, now);
        }
        if !traffic.holding {
            return vec![Effect::LookAt(lift)];
        }
        if !self.proven {
            return vec![Effect::Probe, Effect::LookAt(add(now, PROBE_AGAIN))];
        }
        vec![Effect::Scale { replicas: 0 }, Effect::LookAt(lift)]
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
        && o.slice == Slice::Current
        && o.direct_endpoints == 0
        && o.replicas.is_some()
}
