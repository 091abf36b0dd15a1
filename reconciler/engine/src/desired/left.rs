//! Which fields of a runtime's objects are left to others: to other parts of Reeve, and to whom its policy names.

use std::collections::BTreeMap;

use reeve_crds::ObjectRef;
use reeve_crds::runtime::policy::IgnoredFields;
use reeve_renderer_objects::bundle::Bundle;
use reeve_renderer_objects::key::ObjectKey;

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
        let objects: Vec<serde_json::Value> = if has_rules { all().map(as_json).collect() } else { Vec::new() };
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
