//! What KEDA is answered when it asks about a rule: whether the target is wanted, and by how many requests. Pure.

use reeve_crds::scaling_rule::ScalingRuleSpec;
use reeve_crds::scaling_rule::keda::{Keda, Metric};
use reeve_crds::scaling_rule::status::TrafficMode;

use crate::scaler::{Activity, METRIC_CONCURRENCY, METRIC_REQUEST_RATE, Offer};
use crate::switch::machine::{Asked, Machine, Observed};
use crate::wake_size::WakeSize;

/// What is answered from now on.
pub(in crate::switch) fn offer(
    spec: &ScalingRuleSpec,
    keda: &Keda,
    is_job: bool,
    machine: &Machine,
    observed: &Observed,
) -> Offer {
    let activity = activity(machine, observed);
    let is_asleep = matches!(machine.mode(), TrafficMode::Asleep | TrafficMode::Waking);
    let value = value(keda.metric, machine.mode(), observed);
    Offer {
        activity,
        wanted: is_asleep && is_wanted(machine, observed),
        metric: match keda.metric {
            Metric::Concurrency => METRIC_CONCURRENCY,
            Metric::RequestRate => METRIC_REQUEST_RATE,
        },
        target_per_replica: keda.target_per_replica,
        value: value.map(|value| if is_job { at_least_a_wake(spec, keda, value) } else { value }),
    }
}

/// How many replicas a wake starts now.
pub(in crate::switch) fn wake_replicas(spec: &ScalingRuleSpec, held: u32) -> i32 {
    WakeSize::of(spec).replicas(held)
}

fn is_wanted(machine: &Machine, observed: &Observed) -> bool {
    let wanted = observed.held > 0
        || observed.policy.keep_awake
        || observed.policy.asked == Some(Asked::Wake)
        || machine.mode() == TrafficMode::FailOpen;
    // Behind the barrier what comes waits until the pods are gone.
    wanted && machine.mode() != TrafficMode::Draining
}

fn activity(machine: &Machine, observed: &Observed) -> Activity {
    match observed.replicas {
        // Asleep, or brought to zero by somebody else: the next request wakes it, and not KEDA.
        Some(0) if !is_wanted(machine, observed) => Activity::Asleep,
        _ if machine.asks_keda() => Activity::MaySleep,
        _ => Activity::Active,
    }
}

/// Out of the path nothing is known of requests; handed over, the rule's other triggers count.
fn value(metric: Metric, mode: TrafficMode, observed: &Observed) -> Option<u32> {
    if matches!(mode, TrafficMode::FailOpen | TrafficMode::Untouched) {
        return None;
    }
    let traffic = observed.traffic?;
    Some(match metric {
        Metric::Concurrency => traffic.in_flight.saturating_add(observed.held),
        Metric::RequestRate => traffic.per_second,
    })
}

/// KEDA creates one Job for each `targetPerReplica`: the first request starts as many as the rule says.
fn at_least_a_wake(spec: &ScalingRuleSpec, keda: &Keda, value: u32) -> u32 {
    let least = spec.replicas.wake.saturating_mul(keda.target_per_replica);
    if value == 0 { 0 } else { value.max(u32::try_from(least).unwrap_or(u32::MAX)) }
}

#[cfg(test)]
mod tests;
