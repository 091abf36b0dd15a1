//! The ScaledObject of KEDA that belongs to a rule, or the ScaledJob that it scales.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::schema::{LABEL, OBJECT_NAME, closed_set, label_rule, rule};

/// The ScaledObject of a rule. The rule owns it whole; triggers of the service go here. If spec.scaleTarget is a ScaledJob,
/// the rule sets its triggers, its polling interval and its maximum instead.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Keda {
    /// Take over a ScaledObject that exists for the target; it gets back what stood there before when the rule goes.
    /// Otherwise it is a conflict, and the target stays awake. A ScaledJob that spec.scaleTarget names needs no leave.
    pub adopt: bool,
    /// What Reeve's own trigger tells KEDA.
    pub metric: Metric,
    /// How much of the metric one replica should have; one Job for each, if a ScaledJob is scaled.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub target_per_replica: i32,
    /// How often KEDA asks. An idle target sleeps only when KEDA has asked; it is woken without KEDA. A ScaledJob is asked
    /// about each second.
    #[schemars(extend("x-kubernetes-validations" = duration::between("1s", "1h")))]
    pub polling_interval: Duration,
    /// More triggers, as KEDA knows them; they count also while the resolver is out of the path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub triggers: Vec<Trigger>,
    /// What KEDA does when triggers fail. It never wakes a target that sleeps. Of no effect on a ScaledJob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<KedaFallback>,
    /// How long KEDA waits before it takes replicas away, as the HorizontalPodAutoscaler's stabilization window. Of no
    /// effect on a ScaledJob.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = duration::between("0s", "1h")))]
    pub scale_down_stabilization: Option<Duration>,
}

impl Default for Keda {
    fn default() -> Self {
        Self {
            adopt: false,
            metric: Metric::Concurrency,
            target_per_replica: 100,
            polling_interval: Duration::from_secs(30),
            triggers: Vec::new(),
            fallback: None,
            scale_down_stabilization: None,
        }
    }
}

/// What Reeve's own trigger tells KEDA.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Metric {
    /// requests held and in flight.
    #[default]
    Concurrency,
    /// requests per second.
    RequestRate,
}

/// A trigger as KEDA knows it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// Name of the trigger, unique in this rule.
    #[schemars(
        length(min = 1, max = LABEL),
        extend("x-kubernetes-validations" = [label_rule(), rule(
            "self != 'reeve'",
            "write another name: reeve is the name of the trigger that Reeve adds itself",
        )])
    )]
    pub name: String,
    /// Type of the trigger, such as cpu, prometheus or kafka.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = LABEL))]
    pub kind: String,
    /// Settings of the trigger, as KEDA's documentation lists them for its type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "metadata")]
    pub metadata: BTreeMap<String, String>,
    /// Where the trigger's credentials are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication_ref: Option<AuthenticationRef>,
    /// How KEDA compares the trigger's value; empty means KEDA's own choice for its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric_type: Option<MetricType>,
}

/// How KEDA compares a value.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum MetricType {
    /// divided by the number of replicas.
    AverageValue,
    /// as it is.
    Value,
    /// as a percentage of what the pods request; for cpu and memory.
    Utilization,
}

/// Names the credentials of a trigger.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
    /// Its kind.
    #[serde(default)]
    pub kind: AuthenticationKind,
}

/// Where a trigger's credentials are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum AuthenticationKind {
    /// in the namespace of this object.
    #[default]
    TriggerAuthentication,
    /// for the whole cluster.
    ClusterTriggerAuthentication,
}

/// What KEDA does when triggers fail.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KedaFallback {
    /// After how many failures in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub failure_threshold: i32,
    /// How many replicas it then sets.
    #[schemars(range(min = 1, max = 10000))]
    pub replicas: i32,
}

fn metadata(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": { "type": "string", "maxLength": 4096 },
        "x-kubernetes-validations": [rule(
            "self.all(key, key.size() <= 253)",
            "write keys of at most 253 characters",
        )]
    })
}
