//! What the machine is shown of a rule's objects and of the replicas' reports.

use std::time::Duration;

use jiff::Timestamp;

/// All that counts for a decision, at one moment.
#[derive(Clone, Debug)]
pub struct Observed {
    pub policy: Policy,
    /// `spec.replicas` of the target; nothing if it cannot be read or is not there.
    pub replicas: Option<i32>,
    /// Whether the shadow Services are there and right.
    pub shadow: bool,
    /// Ready pods in the slices of the shadow Services; of several Services, of the one with the fewest.
    pub ready_pods: u32,
    /// Ready pods in the Services' own slices; of several Services, of the one with the fewest.
    pub direct_pods: u32,
    /// Endpoints of any kind in the Services' own slices, terminating ones too.
    pub direct_endpoints: u32,
    /// Which Services have our key in their selector.
    pub capture: Extent,
    pub slice: Slice,
    /// If routes lead to the resolver, and not the Services' own slices: how long they take to be followed everywhere. Our
    /// slices are then those of the doors, which lead nobody anywhere by themselves.
    pub routes_settle: Option<Duration>,
    /// How many replicas of the data plane could take the traffic: alive, all ports bound, not draining. Nothing while
    /// that is not known.
    pub resolvers: Option<usize>,
    /// What all living replicas say together; nothing while the word of one is missing.
    pub traffic: Option<Traffic>,
    /// Requests that wait, as far as is known.
    pub held: u32,
    /// Whether no pod can have connections that bypass the resolver.
    pub pods_quiet: bool,
    /// When KEDA was last told that the target may sleep.
    pub keda_told: Option<Timestamp>,
}

impl Observed {
    /// Whether our slices lead traffic to the resolver.
    pub(super) fn slice_leads(&self) -> bool {
        self.slice != Slice::Absent && self.routes_settle.is_none()
    }
}

/// What the rule asks for now.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub intent: Intent,
    pub idle_after: Duration,
    pub min_awake: Duration,
    /// How many replicas a wake starts.
    pub wake: i32,
    /// Nothing if the resolver never leaves the path.
    pub hand_over: Option<HandOver>,
    /// Whether the target may not sleep now: a window, or a Service that is not covered.
    pub keep_awake: bool,
    /// What a person asked for and did not get yet.
    pub asked: Option<Asked>,
    /// Who takes the replicas of an idle target away.
    pub sleep_by: SleepBy,
}

/// Who takes the replicas of an idle target away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SleepBy {
    /// The switch writes the scale.
    Switch,
    /// KEDA does when it asks next, unless another trigger of the rule wants the target.
    Keda {
        /// How long it may take until KEDA has asked.
        within: Duration,
    },
    /// KEDA alone may, and it cannot be asked; or there is nothing to scale, since Jobs end by themselves.
    Nobody,
}

/// What a person asks for once, whatever the traffic.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    Wake,
    /// As soon as nothing is in flight or held.
    Sleep,
}

/// Whether the rule is to act.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Intent {
    Govern,
    /// Out of the path. `finish`: the rule is being deleted, so the target is left awake and nothing of ours remains.
    Leave {
        finish: bool,
    },
}

/// When the resolver leaves the path.
#[derive(Clone, Copy, Debug)]
pub struct HandOver {
    pub in_flight: u32,
    pub requests_per_second: Option<u32>,
    pub after: Duration,
    pub look_after: Duration,
    pub look_after_max: Duration,
}

/// How many of the rule's Services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Extent {
    None,
    Some,
    All,
}

/// Our slices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Slice {
    Absent,
    /// There, but with other addresses or ports than they should have, or not for every Service.
    Stale,
    /// Exactly the usable resolvers, and at least one.
    Current,
}

/// What passes the resolver, over all replicas.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub in_flight: u32,
    pub per_second: u32,
    /// When the last request came, by the switch's clock.
    pub last_request: Option<Timestamp>,
    /// Whether every replica forwards nothing, by the mode as it stands now.
    pub holding: bool,
    /// Ready pods that a replica still knows, of the one that knows most.
    pub ready_pods: u32,
}
