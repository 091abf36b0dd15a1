//! The ways out of the path: handed over because it is busy, suspended or deleted, and failed open.

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

use super::{Effect, Extent, LEAVE_WITHIN, LINGER, Machine, Observed, add, elapsed, out_of_path};

impl Machine {
    /// Busy: the pods serve by themselves. What still reaches the resolver is forwarded in every mode, so nothing is
    /// lost by the order of what clients and kube-proxies notice.
    pub(super) fn handing_over(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.ready_pods == 0 && o.direct_pods == 0 {
            return self.turn(TrafficMode::Entering, now);
        }
        let effects = out_of_path(o);
        if effects.is_empty() && is_out(o) {
            return self.turn(TrafficMode::Direct, now);
        }
        effects
    }

    /// Suspended or deleted: awake if it was us who put it to sleep, then out.
    pub(super) fn leave(&mut self, o: &Observed, finish: bool, now: Timestamp) -> Vec<Effect> {
        if self.mode == TrafficMode::Untouched {
            // With the rule go the listeners, and some clients may still be led to them.
            let linger = o.routes_settle.unwrap_or_default().max(LINGER);
            return match finish {
                true if elapsed(self.since, now) >= linger => vec![Effect::Finish],
                true => vec![Effect::LookAt(add(self.since, linger))],
                false => Vec::new(),
            };
        }
        if let Some(settled) = self.keda_settles_at(o, now) {
            return vec![Effect::LookAt(settled)];
        }
        if is_out(o) && !self.owes_wake(o, finish) {
            return self.turn(TrafficMode::Untouched, now);
        }
        if self.mode != TrafficMode::HandingOver && self.mode != TrafficMode::FailOpen {
            return self.turn(TrafficMode::HandingOver, now);
        }
        if self.owes_wake(o, finish) {
            return vec![Effect::Scale { replicas: self.restore.unwrap_or_default().max(o.policy.wake) }];
        }
        let late = add(self.since, LEAVE_WITHIN);
        let patience = elapsed(self.since, now) < LEAVE_WITHIN;
        // Awake but not ready: requests wait with us meanwhile, though not for ever.
        let serves = o.replicas.is_none_or(|replicas| replicas == 0) || o.ready_pods > 0 || o.direct_pods > 0;
        if !serves && patience && o.resolvers != Some(0) {
            return vec![Effect::LookAt(late)];
        }
        if o.capture != Extent::None {
            return vec![Effect::Release];
        }
        let reached = o.direct_pods > 0 || o.replicas.is_none_or(|replicas| replicas == 0);
        if o.slice_leads() && (reached || !patience || o.resolvers == Some(0)) {
            return vec![Effect::DeleteSlice];
        }
        vec![Effect::LookAt(late)]
    }

    /// A deleted rule leaves its target awake; a suspended one only if it was Reeve that put it to sleep.
    fn owes_wake(&self, o: &Observed, finish: bool) -> bool {
        o.replicas == Some(0) && (self.restore.is_some() || finish)
    }

    /// No resolver lives: pods are all there is.
    pub(super) fn fail_open(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if self.mode != TrafficMode::FailOpen {
            return self.turn(TrafficMode::FailOpen, now);
        }
        let mut effects = out_of_path(o);
        if o.replicas == Some(0) {
            effects.push(Effect::Scale { replicas: self.restore.unwrap_or_default().max(o.policy.wake) });
        }
        effects
    }

    pub(super) fn failed_open(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        match o.resolvers {
            None => Vec::new(),
            Some(0) => self.fail_open(o, now),
            Some(_) => self.turn(TrafficMode::Entering, now),
        }
    }
}

/// Whether nothing of ours is in the path.
fn is_out(o: &Observed) -> bool {
    o.capture == Extent::None && !o.slice_leads()
}
