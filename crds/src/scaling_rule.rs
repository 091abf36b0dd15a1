//! `ScalingRule`: when a target sleeps, how it is woken, how requests are held, and when the resolver leaves the path.
//!
//! Rendered from Git; its status is written by the resolver. How requests are answered is in `scaling_rule::traffic`,
//! who else scales in `scaling_rule::keda`, when the resolver leaves the path in `scaling_rule::path`, by what it is led there
//! in `scaling_rule::switch`, what ports speak in
//! `scaling_rule::port`, what was seen in `scaling_rule::status`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::reference::WorkloadRef;
use crate::schema::{LABEL, closed_set, immutable, label_rule, rule};
use crate::selector::Selector;

pub mod keda;
pub mod path;
pub mod port;
pub mod status;
pub mod switch;
pub mod traffic;

/// What the resolver puts into the selector of a Service that it captures: no pod has it, and all else of the selector
/// stays Git's. The value is the name of the rule.
pub const CAPTURE_KEY: &str = "reeve.dev/captured";

use keda::Keda;
use path::{HandOver, Readiness};
use port::Port;
pub use status::ScalingRuleStatus;
use switch::Switch;
use traffic::{Answer, Hold, Traffic};

/// When a target sleeps, how it is woken, how requests are held, and when the resolver leaves the path.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "ScalingRule",
    plural = "scalingrules",
    shortname = "sr",
    category = "reeve",
    namespaced,
    status = "ScalingRuleStatus",
    derive = "PartialEq",
    doc = "Scales a workload to zero while nobody calls it, wakes it on the first request, holds requests meanwhile, and hands traffic over when it is busy.",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why the state is what it is, in one word"
    ),
    printcolumn(
        name = "Mode",
        type_ = "string",
        json_path = ".status.mode",
        description = "Where the traffic goes now"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Held", type_ = "integer", json_path = ".status.held", description = "Requests that wait"),
    printcolumn(name = "Idle-After", type_ = "string", json_path = ".spec.idleAfter"),
    printcolumn(name = "Last-Request", type_ = "date", json_path = ".status.lastRequestTime"),
    printcolumn(
        name = "Cold-Start",
        type_ = "string",
        json_path = ".status.lastColdStart.total",
        description = "How long the last one took"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Target", type_ = "string", json_path = ".status.target.name", priority = 1),
    printcolumn(name = "Wake", type_ = "integer", json_path = ".spec.replicas.wake", priority = 1),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.replicas.max", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "has(self.selector) != (has(self.services) && self.services.size() > 0)",
        "write either spec.services or spec.selector; selector: {} means every Service of the namespace",
    ),
    rule(
        "!has(self.selector) || !has(self.scaleTarget)",
        "leave spec.scaleTarget out: a rule with spec.selector finds the targets by itself",
    ),
    rule(
        "has(self.selector) == has(oldSelf.selector)",
        "leave spec.selector set or unset as it was: create another ScalingRule and delete this one",
    ),
    rule(
        "has(self.scaleTarget) == has(oldSelf.scaleTarget)",
        "leave spec.scaleTarget as it was, set or unset: for another target create another ScalingRule and delete this one",
    ),
    rule(
        "has(self.switch) == has(oldSelf.switch)",
        "leave spec.switch set or unset as it was: create another ScalingRule and delete this one",
    ),
    rule(
        "!has(self.switch) || !has(self.selector)",
        "write spec.services: a rule with spec.selector cannot name routes",
    ),
    rule(
        "!has(self.switch) || !has(self.switch.virtualService.delegate) || !self.switch.virtualService.delegate || (has(self.services) && self.services.size() == 1)",
        "write one Service in spec.services: the route of a delegate leads to one",
    ),
    rule(
        "!has(self.replicas.max) || self.replicas.max <= self.replicas.wake || has(self.keda)",
        "add spec.keda, or write spec.replicas.max no higher than spec.replicas.wake: above wake it is KEDA that scales",
    ),
    rule(
        "!has(self.scaleTarget) || self.scaleTarget.kind != 'ScaledJob' || has(self.keda)",
        "add spec.keda: only KEDA creates the Jobs of a ScaledJob",
    ),
    rule(
        "!has(self.keda) || !has(self.replicas.max) || self.replicas.max <= self.replicas.wake || self.handOver.policy == 'Never' || (has(self.keda.triggers) && self.keda.triggers.size() > 0)",
        "add a trigger such as cpu or prometheus to spec.keda.triggers, or write spec.handOver.policy: Never: once Reeve leaves the path its own metric is gone and the target would shrink under load",
    ),
]))]
pub struct ScalingRuleSpec {
    /// Services in front of the target. The target sleeps only if every Service that leads to it is listed in a rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub services: Vec<ServiceRef>,
    /// Instead of services: chooses Services of the namespace by their labels, all of them if it is empty. The rule makes a
    /// rule of its own for each target that they lead to. Services that cannot be captured, that a webhook or an API
    /// service needs, or that belong to Reeve or KEDA are left out; a rule that lists a Service wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// What is scaled: anything with a scale subresource, or a ScaledJob of KEDA. Empty means the workload that the Services' selectors lead to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [immutable(
        "leave spec.scaleTarget as it was: for another target create another ScalingRule and delete this one",
    )]))]
    pub scale_target: Option<WorkloadRef>,
    /// Whether the rule acts or only watches.
    #[serde(default)]
    pub mode: RuleMode,
    /// How long no request must have come before the target is scaled to zero.
    #[serde(default = "default_idle_after")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "168h")))]
    pub idle_after: Duration,
    /// How long the target stays awake at least, from when its first pod is ready, so that rare requests do not start
    /// and stop it all the time.
    #[serde(default = "default_min_awake")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("0s", "24h")))]
    pub min_awake: Duration,
    /// How many replicas there may be.
    #[serde(default)]
    pub replicas: Replicas,
    /// When a pod may get its first request.
    #[serde(default)]
    pub readiness: Readiness,
    /// How requests wait while the target wakes.
    #[serde(default)]
    pub hold: Hold,
    /// What callers from outside and from inside the cluster get while the target sleeps.
    #[serde(default)]
    pub traffic: Traffic,
    /// Whether probes of kubelets and load balancers and scrapes of metrics are answered without waking the target.
    #[serde(default = "default_answer_probes")]
    pub answer_probes: bool,
    /// Requests that are answered without waking the target. The first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub answers: Vec<Answer>,
    /// Times in which the target is kept awake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub awake: Vec<AwakeWindow>,
    /// When the resolver leaves the path and when it comes back to look.
    #[serde(default)]
    pub hand_over: HandOver,
    /// Ports at which clients or pods speak TLS with the resolver, or the PROXY protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["port"]))]
    pub ports: Vec<Port>,
    /// By what traffic is led to the resolver. Without it by the endpoints of the Services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switch>,
    /// The KEDA object of this rule. Without it Reeve alone scales, between zero and replicas.wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keda: Option<Keda>,
    /// Take the resolver out of the path and leave the target alone. If it was Reeve that put the target to sleep it is
    /// woken first; after that it is never scaled, so that a replica count of zero written by a person stays.
    #[serde(default)]
    pub suspend: bool,
}

/// A Service whose traffic is watched.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRef {
    /// Name of the Service, in the namespace of this object.
    #[schemars(length(min = 1, max = LABEL))]
    pub name: String,
}

/// Whether a rule acts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum RuleMode {
    /// scale, hold and switch.
    #[default]
    Enforce,
    /// change nothing; status.observed tells how long the target would have slept.
    Observe,
}

/// How many replicas there may be. Asleep there are none.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "!has(self.max) || self.wake <= self.max",
    "write a wake that is not above max, such as wake: 1 and max: 10",
)]))]
pub struct Replicas {
    /// How many replicas the first request starts.
    #[schemars(range(min = 1, max = 1000))]
    pub wake: i32,
    /// How many there may be at most; empty means wake. Above wake it is KEDA that scales.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub max: Option<i32>,
    /// Start more than wake when many requests wait: one replica for this many, up to max. 0 means
    /// spec.keda.targetPerReplica if the metric is Concurrency, and always wake if it is not.
    #[schemars(range(min = 0, max = 100_000))]
    pub held_per_replica: i32,
}

impl Default for Replicas {
    fn default() -> Self {
        Self { wake: 1, max: None, held_per_replica: 0 }
    }
}

impl Replicas {
    /// How many replicas there may be at most.
    pub fn limit(&self) -> i32 {
        self.max.unwrap_or(self.wake)
    }
}

/// A time in which the target is kept awake.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwakeWindow {
    /// Name of the window, unique in this rule.
    #[schemars(length(min = 1, max = LABEL), extend("x-kubernetes-validations" = [label_rule()]))]
    pub name: String,
    /// When it begins, in five fields as cron has them, such as 0 8 * * 1-5.
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^[0-9A-Za-z*/,-]+( [0-9A-Za-z*/,-]+){4}$')",
            "write five fields with one space between them (minute, hour, day, month, weekday), such as 0 8 * * 1-5",
        )])
    )]
    pub start: String,
    /// How long it lasts.
    #[schemars(extend("x-kubernetes-validations" = duration::between("1m", "168h")))]
    pub duration: Duration,
    /// Time zone of start, such as Europe/Berlin.
    #[serde(default = "default_time_zone")]
    #[schemars(
        length(max = 64),
        extend("x-kubernetes-validations" = [rule(
            "self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$')",
            "write a time zone as the IANA database names it, such as Europe/Berlin or UTC",
        )])
    )]
    pub time_zone: String,
}

fn default_idle_after() -> Duration {
    Duration::from_secs(300)
}

fn default_min_awake() -> Duration {
    Duration::from_secs(60)
}

fn default_answer_probes() -> bool {
    true
}

fn default_time_zone() -> String {
    "UTC".to_owned()
}
