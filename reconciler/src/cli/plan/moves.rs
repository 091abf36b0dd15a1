//! Objects that leave one runtime and are wanted by another one: they are handed over as they are. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_reconciler_engine::desired::Stage;
use reeve_reconciler_engine::plan::{Action, Removal};
use reeve_renderer::object::ObjectKey;

use super::runtime_plan::{PlannedAction, RuntimePlan};

/// Makes moves of objects that one of these runtimes would delete and another would create.
pub(super) fn mark(plans: &mut [(Arc<str>, RuntimePlan)]) {
    let mut leaving: BTreeMap<ObjectKey, (Arc<str>, Stage)> = BTreeMap::new();
    for (runtime, plan) in plans.iter() {
        let removals = plan.parts.iter().flat_map(|part| &part.removals);
        let deleted = removals.filter(|(_, _, removal)| *removal == Removal::Delete);
        leaving.extend(deleted.map(|(key, stage, _)| (key.clone(), (runtime.clone(), *stage))));
    }
    if leaving.is_empty() {
        return;
    }
    let mut moved: BTreeMap<ObjectKey, Arc<str>> = BTreeMap::new();
    for (runtime, plan) in plans.iter_mut() {
        let from = |key: &ObjectKey| leaving.get(key).filter(|(from, _)| from != runtime);
        for part in &mut plan.parts {
            for (key, _, action) in &mut part.actions {
                if *action == PlannedAction::Plan(Action::Create)
                    && let Some((from, _)) = from(key)
                {
                    *action = PlannedAction::Move(from.clone());
                    moved.insert(key.clone(), runtime.clone());
                }
            }
            part.refusals.retain(|refused| {
                let Some((from, stage)) = from(&refused.key).filter(|_| refused.reason == "Conflict") else {
                    return true;
                };
                part.actions.push((refused.key.clone(), *stage, PlannedAction::Move(from.clone())));
                moved.insert(refused.key.clone(), runtime.clone());
                false
            });
        }
    }
    for part in plans.iter_mut().flat_map(|(_, plan)| &mut plan.parts) {
        part.removals.retain(|(key, stage, removal)| {
            let to = moved.get(key).filter(|_| *removal == Removal::Delete);
            part.handed_over.extend(to.map(|to| (key.clone(), *stage, to.clone())));
            to.is_none()
        });
    }
}
