//! How many replicas a wake starts: the rule's, and more when many requests wait. Pure.

use reeve_crds::scaling_rule::ScalingRuleSpec;
use reeve_crds::scaling_rule::keda::Metric;

/// The bounds of a wake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct WakeSize {
    pub(crate) wake: i32,
    pub(crate) max: i32,
    /// One replica for this many that wait.
    pub(crate) held_per_replica: Option<u32>,
}

impl WakeSize {
    /// Without a number of its own, the first scale-up of a rule with KEDA is what KEDA would make of the same requests.
    pub(crate) fn of(spec: &ScalingRuleSpec) -> Self {
        let by_keda = spec.keda.as_ref().filter(|keda| keda.metric == Metric::Concurrency);
        let given = Some(spec.replicas.held_per_replica).filter(|count| *count > 0);
        let per_replica = given.or(by_keda.map(|keda| keda.target_per_replica));
        Self {
            wake: spec.replicas.wake,
            max: spec.replicas.limit(),
            held_per_replica: per_replica.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0),
        }
    }

    /// Enough for those who wait, within the bounds.
    pub(crate) fn replicas(&self, held: u32) -> i32 {
        let for_held = self.held_per_replica.map_or(0, |count| i32::try_from(held.div_ceil(count)).unwrap_or(i32::MAX));
        self.wake.max(for_held.min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn replicas(replicas: &Value, keda: &Value, held: u32) -> i32 {
        let spec = json!({ "services": [{ "name": "web" }], "replicas": replicas, "keda": keda });
        WakeSize::of(&serde_json::from_value(spec).unwrap()).replicas(held)
    }

    #[test]
    fn a_wake_starts_as_many_as_the_rule_says() {
        assert_eq!(replicas(&json!({ "wake": 3 }), &Value::Null, 100), 3);
    }

    #[test]
    fn a_crowd_starts_more_up_to_the_most_there_may_be() {
        let bounds = json!({ "wake": 1, "max": 10, "heldPerReplica": 30 });
        assert_eq!(replicas(&bounds, &Value::Null, 100), 4);
        assert_eq!(replicas(&bounds, &json!({ "targetPerReplica": 5 }), 1000), 10);
        assert_eq!(replicas(&json!({ "wake": 2, "max": 10, "heldPerReplica": 30 }), &Value::Null, 1), 2);
    }

    #[test]
    fn with_keda_the_first_scale_up_is_sized_as_keda_would() {
        let bounds = json!({ "wake": 1, "max": 10 });
        assert_eq!(replicas(&bounds, &json!({ "targetPerReplica": 20 }), 50), 3);
        assert_eq!(replicas(&bounds, &json!({ "targetPerReplica": 20, "metric": "RequestRate" }), 50), 1);
    }
}
