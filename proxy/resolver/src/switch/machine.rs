//! One rule: where its traffic goes now, and what is done next. Pure; what it needs is read from objects each time.
//!
//! Every effect makes something so and may be repeated. A mode is written to the status before anything that depends on
//! it is done, and what a mode asks for is asked again until the objects show it. A switch that starts with nothing but
//! the status and the objects goes on where the one before stopped.

use std::time::Duration;

use jiff::Timestamp;
use reeve_crds::scaling_rule::status::TrafficMode;

mod leave;
mod observed;
mod sleep;

pub use observed::{Asked, Extent, HandOver, Intent, Observed, Policy, SleepBy, Slice, Traffic};

/// How long the barrier before a sleep may stand before it is lifted again.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);
/// How long KEDA may take from an answer of ours to what it writes.
const KEDA_ACTS_WITHIN: Duration = Duration::from_secs(10);
/// How long kube-proxies may take to notice that the resolver is out, before its listeners are closed.
const LINGER: Duration = Duration::from_secs(10);
/// How long a target that should serve by itself is waited for before the resolver goes anyway.
const LEAVE_WITHIN: Duration = Duration::from_mins(2);

/// What the machine hears.
#[derive(Clone, Debug)]
pub enum Event {
    /// What objects and reports say now.
    Observed(Box<Observed>),
    /// Whether fresh connections to the Services all reached the resolver.
    Probed { proven: bool },
}

/// What is to be done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Write mode, count of changes and replicas to restore into the status. What follows depends on it.
    SetMode {
        mode: TrafficMode,
        restore: Option<i32>,
    },
    /// Create or mend the shadow Services.
    EnsureShadow,
    /// Put the usable resolvers, and no others, into our slices.
    WriteSlice,
    DeleteSlice,
    /// Add our key to the Services' selectors.
    Capture,
    /// Take it out again.
    Release,
    /// Connect to the Services, and say who answered.
    Probe,
    /// Write the scale of the target.
    Scale {
        replicas: i32,
    },
    /// Remove the shadow Services and, if the rule is being deleted, the finalizer.
    Finish,
    /// Look again then, if nothing happens before.
    LookAt(Timestamp),
}

/// The memory of one rule. All of it but the mode may be lost.
#[derive(Clone, Debug)]
pub struct Machine {
    mode: TrafficMode,
    since: Timestamp,
    restore: Option<i32>,
    /// Whether the capture of this stay in the path was proven.
    proven: bool,
    /// Since when it is as busy as a hand-over asks for.
    busy_since: Option<Timestamp>,
    /// How many looks in a row found it busy.
    looks: u32,
    /// Not before then does it try to sleep again.
    sleep_not_before: Option<Timestamp>,
    /// Whether KEDA is to be told that the target may sleep.
    asks_keda: bool,
    /// The switch before this one may have told KEDA so until then.
    keda_may_know: Option<Timestamp>,
}

impl Machine {
    /// From the status, if it says a mode; else from the objects.
    pub fn recover(
        status: Option<(TrafficMode, Timestamp)>,
        restore: Option<i32>,
        o: &Observed,
        now: Timestamp,
    ) -> Self {
        let derived = || match (o.capture, o.slice_leads(), o.replicas) {
            (Extent::None, false, _) => TrafficMode::Direct,
            (_, _, Some(0)) => TrafficMode::Asleep,
            _ => TrafficMode::Entering,
        };
        let (mode, since) = status.unwrap_or_else(|| (derived(), now));
        Self {
            mode,
            since,
            restore,
            proven: false,
            busy_since: None,
            looks: 0,
            sleep_not_before: None,
            asks_keda: false,
            keda_may_know: (mode == TrafficMode::Draining).then_some(now),
        }
    }

    pub fn mode(&self) -> TrafficMode {
        self.mode
    }

    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Whether a person got what they asked for. A sleep is refused to who asks while it is too busy for the resolver.
    pub fn has_answered(&self, policy: &Policy) -> bool {
        let leaves = policy.intent != Intent::Govern;
        match policy.asked {
            None => true,
            Some(Asked::Wake) => leaves || !matches!(self.mode, TrafficMode::Draining | TrafficMode::Asleep),
            Some(Asked::Sleep) => leaves || matches!(self.mode, TrafficMode::Asleep | TrafficMode::HandingOver),
        }
    }

    /// Whether KEDA is to be told that the target may sleep: all replicas hold what comes.
    pub fn asks_keda(&self) -> bool {
        self.asks_keda
    }

    /// Whether fresh connections were seen to reach the resolver alone.
    pub fn is_proven(&self) -> bool {
        self.proven
    }

    pub fn step(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        match event {
            Event::Observed(observed) => self.observe(&observed, now),
            Event::Probed { proven } => {
                self.proven = proven;
                Vec::new()
            }
        }
    }

    fn observe(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        match o.policy.intent {
            Intent::Govern => {}
            Intent::Leave { finish } => return self.leave(o, finish, now),
        }
        if o.resolvers == Some(0) && self.is_in_path(o) {
            return self.fail_open(o, now);
        }
        match self.mode {
            TrafficMode::Direct => self.direct(o, now),
            TrafficMode::Entering => self.entering(o, now),
            TrafficMode::Proxied => self.proxied(o, now),
            TrafficMode::Draining => self.draining(o, now),
            TrafficMode::Asleep => self.asleep(o, now),
            TrafficMode::Waking => self.waking(o, now),
            TrafficMode::HandingOver => self.handing_over(o, now),
            TrafficMode::FailOpen => self.failed_open(o, now),
            TrafficMode::Untouched => self.turn(TrafficMode::Direct, now),
        }
    }

    /// Changes the mode; nothing else is done before that is written.
    fn turn(&mut self, mode: TrafficMode, now: Timestamp) -> Vec<Effect> {
        let was = std::mem::replace(&mut self.mode, mode);
        self.since = now;
        self.busy_since = None;
        self.asks_keda = false;
        self.keda_may_know = None;
        if matches!(mode, TrafficMode::Entering | TrafficMode::Direct | TrafficMode::Untouched | TrafficMode::FailOpen)
        {
            self.proven = false;
        }
        // Awake, or no longer ours to wake.
        if matches!(mode, TrafficMode::Proxied | TrafficMode::Waking | TrafficMode::Direct | TrafficMode::Untouched) {
            self.restore = None;
        }
        // A look that ended in a sleep or found little to do begins the doubling anew.
        if was == TrafficMode::Draining && mode == TrafficMode::Asleep {
            self.looks = 0;
        }
        vec![Effect::SetMode { mode, restore: self.restore }]
    }

    fn is_in_path(&self, o: &Observed) -> bool {
        let by_mode = match self.mode {
            TrafficMode::Direct | TrafficMode::FailOpen | TrafficMode::Untouched => false,
            TrafficMode::Entering
            | TrafficMode::Proxied
            | TrafficMode::Draining
            | TrafficMode::Asleep
            | TrafficMode::Waking
            | TrafficMode::HandingOver => true,
        };
        by_mode || o.capture != Extent::None || o.slice_leads()
    }

    fn direct(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.resolvers.is_some_and(|usable| usable > 0) && self.should_enter(o, now) {
            return self.turn(TrafficMode::Entering, now);
        }
        let mut effects = out_of_path(o);
        effects.extend(o.policy.hand_over.map(|policy| Effect::LookAt(add(self.since, self.look_after(policy)))));
        effects
    }

    fn should_enter(&self, o: &Observed, now: Timestamp) -> bool {
        // Nobody serves: brought to zero, or all of it broken, or about to be at a person's word. What comes is held.
        let unserved = o.direct_pods == 0 || o.policy.asked == Some(Asked::Sleep);
        match o.policy.hand_over {
            None => true,
            Some(policy) => unserved || elapsed(self.since, now) >= self.look_after(policy),
        }
    }

    fn look_after(&self, policy: HandOver) -> Duration {
        let doubled = policy.look_after.saturating_mul(1 << self.looks.saturating_sub(1).min(20));
        doubled.min(policy.look_after_max)
    }

    /// First our slice, then the selector: at every moment somebody answers.
    fn entering(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if let Some(effects) = mend_path(o) {
            return effects;
        }
        if o.direct_endpoints > 0 {
            return Vec::new();
        }
        if !self.proven {
            return vec![Effect::Probe, Effect::LookAt(add(now, PROBE_AGAIN))];
        }
        self.turn(in_path_mode(o), now)
    }

    fn proxied(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.capture != Extent::All {
            return self.turn(TrafficMode::Entering, now);
        }
        if o.replicas == Some(0) || o.ready_pods == 0 {
            return self.turn(in_path_mode(o), now);
        }
        if let Some(effects) = mend_path(o) {
            return effects;
        }
        if self.is_busy(o, now) {
            self.looks = self.looks.saturating_add(1);
            return self.turn(TrafficMode::HandingOver, now);
        }
        self.sleep_or_wait(o, now)
    }

    fn is_busy(&mut self, o: &Observed, now: Timestamp) -> bool {
        let (Some(policy), Some(traffic)) = (o.policy.hand_over, o.traffic) else {
            self.busy_since = None;
            return false;
        };
        let busy = traffic.in_flight.saturating_add(o.held) >= policy.in_flight
            || policy.requests_per_second.is_some_and(|limit| traffic.per_second >= limit);
        if !busy {
            self.busy_since = None;
            return false;
        }
        elapsed(*self.busy_since.get_or_insert(now), now) >= policy.after
    }

    fn asleep(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.replicas.is_some_and(|replicas| replicas > 0) {
            return self.turn(TrafficMode::Waking, now);
        }
        let mut effects = mend_path(o).unwrap_or_default();
        let wanted = o.held > 0 || o.policy.keep_awake || o.policy.asked == Some(Asked::Wake);
        if o.replicas == Some(0) && wanted {
            effects.push(Effect::Scale { replicas: o.policy.wake });
        }
        effects
    }

    fn waking(&mut self, o: &Observed, now: Timestamp) -> Vec<Effect> {
        if o.replicas == Some(0) {
            return self.turn(TrafficMode::Asleep, now);
        }
        if o.ready_pods > 0 {
            return self.turn(TrafficMode::Proxied, now);
        }
        mend_path(o).unwrap_or_default()
    }
}

/// Between two probes of a capture that is not proven yet.
const PROBE_AGAIN: Duration = Duration::from_millis(200);

/// What is missing of the path, in the order in which it is built; nothing if all is there.
fn mend_path(o: &Observed) -> Option<Vec<Effect>> {
    if !o.shadow {
        return Some(vec![Effect::EnsureShadow]);
    }
    // Without a resolver that is known to live the slice stays as it is: reports may only be late.
    if o.slice != Slice::Current {
        return Some(if o.resolvers.is_some_and(|usable| usable > 0) { vec![Effect::WriteSlice] } else { Vec::new() });
    }
    if o.capture != Extent::All {
        return Some(vec![Effect::Capture]);
    }
    None
}

/// First the selector, then our slice, and that only when pods are in theirs.
fn out_of_path(o: &Observed) -> Vec<Effect> {
    if o.capture != Extent::None {
        return vec![Effect::Release];
    }
    if o.slice_leads() && (o.direct_pods > 0 || o.resolvers == Some(0)) {
        return vec![Effect::DeleteSlice];
    }
    Vec::new()
}

fn in_path_mode(o: &Observed) -> TrafficMode {
    match o.replicas {
        Some(0) => TrafficMode::Asleep,
        _ if o.ready_pods == 0 => TrafficMode::Waking,
        _ => TrafficMode::Proxied,
    }
}

fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}

fn add(time: Timestamp, duration: Duration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
