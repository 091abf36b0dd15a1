//! `PodDisruptionBudget`s over the pods of a workload.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use reeve_agent_dapr::world::DisruptionBudget;

use super::pod::PodFacts;

/// Of all budgets over any of the pods, the one that allows least.
pub(super) fn tightest(
    namespace: &str,
    pods: &[PodFacts],
    budgets: &[Arc<PodDisruptionBudget>],
) -> Option<DisruptionBudget> {
    let is_over = |budget: &&Arc<PodDisruptionBudget>| {
        let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        budget.metadata.namespace.as_deref() == Some(namespace)
            && selector.is_some_and(|selector| pods.iter().any(|pod| selects(selector, &pod.labels)))
    };
    let found = budgets
        .iter()
        .filter(is_over)
        .map(|budget| DisruptionBudget { name: budget.name_any(), allowed: allowed(budget) });
    found.min_by(|one, other| (one.allowed, &one.name).cmp(&(other.allowed, &other.name)))
}

/// What a budget allows now; nothing while its controller has not looked at what it says.
fn allowed(budget: &PodDisruptionBudget) -> u32 {
    let Some(status) = &budget.status else { return 0 };
    if status.observed_generation < budget.metadata.generation {
        return 0;
    }
    u32::try_from(status.disruptions_allowed).unwrap_or_default()
}

/// An empty selector means all pods.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let matches = selector.match_labels.iter().flatten().all(|(name, value)| labels.get(name) == Some(value));
    let holds = selector.match_expressions.iter().flatten().all(|wanted| {
        let value = labels.get(&wanted.key);
        let is_listed = || value.is_some_and(|value| wanted.values.iter().flatten().any(|listed| listed == value));
        match wanted.operator.as_str() {
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    matches && holds
}
