//! Which fields of a runtime's objects are left to others: to other parts of Reeve, and to whom its policy names.

use std::collections::BTreeMap;

use reeve_crds::ObjectRef;
use reeve_crds::annotation::DAPR_RESTART;
use reeve_crds::runtime::policy::IgnoredFields;
use reeve_renderer_objects::bundle::{Bundle, Object};
use reeve_renderer_objects::key::ObjectKey;
use reeve_renderer_objects::value::Value;

use super::as_json;
use crate::inventory::object_ref;
use crate::payload::{self, Pointer};

/// What is left to others in one runtime.
pub(super) struct Left<'a> {
    delegated: BTreeMap<ObjectRef, Vec<Pointer>>,
    policy: &'a [IgnoredFields],
}

impl<'a> Left<'a> {
    pub(super) fn new(bundle: &Bundle, policy: &'a [IgnoredFields]) -> Self {
        let all = || bundle.components.iter().flat_map(|component| &component.objects);
        // A rule may mean objects that it does not name: what its Services lead to, and the scalers of those.
        let has_rules = all().any(|object| &*object.key.kind == "ScalingRule");
        let objects = all().filter(|object| has_rules || names_restart(object));
        let objects: Vec<serde_json::Value> = objects.map(as_json).collect();
        Self { delegated: payload::delegated(objects.iter()), policy }
    }

    /// The fields of an object. A policy that cannot be read was found when the repository was.
    pub(super) fn of(&self, key: &ObjectKey) -> Vec<Pointer> {
        if self.delegated.is_empty() && self.policy.is_empty() {
            return Vec::new();
        }
        let object = object_ref(key);
        let mut left: Vec<Pointer> = self.delegated.get(&object).cloned().unwrap_or_default();
        left.extend(payload::ignored_by(self.policy, &object).unwrap_or_default());
        left
    }
}

/// Whether an object in Git says what its pods were last restarted for, as a copy of what lives does.
fn names_restart(object: &Object) -> bool {
    let below = |value: Option<&Value>, key: &str| value.and_then(|value| value.get(key)).cloned();
    let template = below(object.value.get("spec"), "template");
    let metadata = below(template.as_ref(), "metadata");
    below(below(metadata.as_ref(), "annotations").as_ref(), DAPR_RESTART).is_some()
}
