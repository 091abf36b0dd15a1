//! KEDA's kinds as far as they are used, and what of an object of KEDA's is ours. Pure.

use std::collections::BTreeMap;

use kube::{CustomResource, Resource, ResourceExt};
use reeve_crds::{ScalingRule, WorkloadRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::report::RULE_LABEL;

/// On an object that a rule has taken over: what its owner wrote.
pub(super) const BEFORE: &str = "reeve.dev/keda-before";
/// KEDA leaves a target with it alone.
pub(super) const PAUSED: &str = "autoscaling.keda.sh/paused";

/// What KEDA scales, and by which triggers. Fields are KEDA's own.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "ScaledObject",
    plural = "scaledobjects",
    namespaced,
    schema = "disabled",
    status = "KedaStatus",
    derive = "PartialEq"
)]
pub(in crate::switch) struct ScaledObjectSpec {
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

/// Which Jobs KEDA creates, and by which triggers.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "keda.sh",
    version = "v1alpha1",
    kind = "ScaledJob",
    plural = "scaledjobs",
    namespaced,
    schema = "disabled",
    status = "KedaStatus",
    derive = "PartialEq"
)]
pub(in crate::switch) struct ScaledJobSpec {
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

/// What KEDA says of an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(in crate::switch) struct KedaStatus {
    pub(super) conditions: Vec<KedaCondition>,
}

/// One condition; KEDA has no times in them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub(super) struct KedaCondition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) message: String,
}

/// What both kinds have in common.
pub(super) trait OfKeda: Resource<DynamicType = ()> {
    fn status(&self) -> Option<&KedaStatus>;
}

impl OfKeda for ScaledObject {
    fn status(&self) -> Option<&KedaStatus> {
        self.status.as_ref()
    }
}

impl OfKeda for ScaledJob {
    fn status(&self) -> Option<&KedaStatus> {
        self.status.as_ref()
    }
}

/// Whether the rule has made the object.
pub(super) fn is_made_by(object: &impl OfKeda, rule: &ScalingRule) -> bool {
    let uid = rule.uid().unwrap_or_default();
    object.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

/// Whether the rule has taken the object over.
pub(super) fn is_adopted_by(object: &impl OfKeda, rule: &ScalingRule) -> bool {
    object.annotations().contains_key(BEFORE) && object.labels().get(RULE_LABEL) == rule.metadata.name.as_ref()
}

/// The workload that a `ScaledObject` scales; KEDA means a Deployment where the kind is left out.
pub(super) fn target_of(object: &ScaledObject) -> Option<WorkloadRef> {
    let reference = object.spec.fields.get("scaleTargetRef")?;
    let text = |key: &str, default: &str| {
        reference.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or(default).to_owned()
    };
    let name = reference.get("name").and_then(Value::as_str)?.to_owned();
    Some(WorkloadRef { api_version: text("apiVersion", "apps/v1"), kind: text("kind", "Deployment"), name })
}

/// Whether an object has all that is wanted of it. The API server adds defaults deep inside, which are no difference; a
/// field of the first level that is not wanted is one.
pub(super) fn is_spec(found: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    found.len() == wanted.len()
        && wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| contains(found, value)))
}

fn contains(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| contains(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}

/// Labels of the pods of a `ScaledJob`.
pub(in crate::switch) fn pod_labels(job: &ScaledJob) -> BTreeMap<String, String> {
    let labels = job.spec.fields.get("jobTargetRef").and_then(|job| job.pointer("/template/metadata/labels"));
    labels.and_then(|labels| serde_json::from_value(labels.clone()).ok()).unwrap_or_default()
}
