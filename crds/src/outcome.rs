//! What happened: the pieces that the statuses of `Runtime` and `RuntimeComponent` have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, Duration};
use crate::lenient::Lenient;
use crate::reference::ObjectRef;
use crate::schema::{DIGEST, LABEL, MESSAGE, PATH, REVISION, VERSION, WORD, closed_set};

/// A rendered result: the commit it came from, and the digest that names its content.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
// It comes and goes as one.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Rendered {
    /// Revision as people say it, such as main@4f1c2aa90b3d.
    #[schemars(length(max = REVISION))]
    pub revision: String,
    /// Full id of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub commit: Option<String>,
    /// SHA-256 of all objects in canonical form. The same digest means the same objects, whatever the commit.
    #[schemars(length(max = DIGEST))]
    pub digest: String,
    /// Version of the chart, where one chart is spoken of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// When it came to be what the field says: desired, applied, good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// The failure that stands in the way now: what, where, since when.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failure {
    /// Why, in one word for programmes, such as Conflict, Immutable, Refused or TimedOut.
    #[schemars(length(max = WORD))]
    pub reason: String,
    /// Why, in a sentence for people. Values of Secrets never appear.
    #[schemars(length(max = MESSAGE))]
    pub message: String,
    /// Component that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LABEL))]
    pub component: Option<String>,
    /// Object that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// Revision at which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = REVISION))]
    pub revision: Option<String>,
    /// When this failure was seen first. It keeps its time while the same failure repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// One change that was carried out, well or not.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Revision that was applied.
    #[serde(default)]
    #[schemars(length(max = REVISION))]
    pub revision: String,
    /// Digest of what was applied.
    #[serde(default)]
    #[schemars(length(max = DIGEST))]
    pub digest: String,
    /// Version of the chart, where one chart is spoken of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION))]
    pub version: Option<String>,
    /// How it ended.
    pub outcome: Lenient<Outcome>,
    /// When it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// How long the writes took, such as 1.2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub apply_time: Option<Lenient<Duration>>,
    /// How long it took from the begin until all was healthy, or until it ended otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "duration::reported")]
    pub total_time: Option<Lenient<Duration>>,
    /// How many objects were created, changed or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub changes: Option<i32>,
    /// What to know of it, above all if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE))]
    pub message: Option<String>,
}

/// How a change ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum Outcome {
    /// applied and healthy.
    Succeeded,
    /// not applied, or not healthy within its time.
    Failed,
    /// a newer revision came before it was done.
    Superseded,
    /// taken back to the last good digest.
    RolledBack,
}

/// What others changed of what Reeve owns. Additions by others are no drift.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Drift {
    /// How many objects differ now.
    #[schemars(range(min = 0))]
    pub objects: i32,
    /// When the oldest of them was seen first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Up to ten of the objects, or of those repaired last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub examples: Vec<DriftedObject>,
}

/// An object that someone changed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftedObject {
    /// The object.
    pub object: ObjectRef,
    /// Up to ten fields that differ, such as spec.replicas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), inner(length(max = PATH)), extend("x-kubernetes-list-type" = "atomic"))]
    pub fields: Vec<String>,
    /// Field manager that changed them, such as kubectl-edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub manager: Option<String>,
    /// When it changed them; where the API server keeps no time, as of the scale subresource, when Reeve saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Time>,
    /// How often Reeve has put it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub repairs: Option<i32>,
    /// Whether another writer puts its own value back each time. Reeve then slows down instead of racing it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<bool>,
}
