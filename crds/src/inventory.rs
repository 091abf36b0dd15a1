//! `Inventory`: what we applied or are about to, so that we can take it away again.
//!
//! Entries are in the spec, not in a status, so that a backup that drops statuses keeps them. A page is written whole,
//! by PUT with its resourceVersion, which fences a stale writer; so the list is atomic, and managed fields stay small.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::Lenient;
use crate::runtime_component::ComponentTarget;
use crate::schema::{DIGEST, LABEL, OBJECT_NAME, closed_set, immutable, rule};

/// Most entries that one page holds: at full length they stay below the size that etcd takes.
pub const ENTRIES_PER_PAGE: usize = 1000;

/// One page of what was applied to a runtime.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "reeve.dev",
    version = "v1alpha1",
    kind = "Inventory",
    plural = "inventories",
    shortname = "inv",
    category = "reeve",
    namespaced,
    derive = "PartialEq",
    doc = "A page of the objects that Reeve applied to a runtime or is about to apply. Never edit or delete it by hand: what is not listed is never pruned.",
    selectable = ".spec.runtime",
    printcolumn(name = "Runtime", type_ = "string", json_path = ".spec.runtime"),
    printcolumn(name = "Page", type_ = "integer", json_path = ".spec.page"),
    printcolumn(name = "Applied", type_ = "integer", json_path = ".spec.counts.applied"),
    printcolumn(name = "Planned", type_ = "integer", json_path = ".spec.counts.planned"),
    printcolumn(name = "Deleting", type_ = "integer", json_path = ".spec.counts.deleting"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Target", type_ = "string", json_path = ".spec.target", priority = 1),
    printcolumn(name = "Digest", type_ = "string", json_path = ".spec.digest", priority = 1),
    printcolumn(name = "Writer", type_ = "string", json_path = ".spec.writer", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct InventorySpec {
    /// Name of the Runtime.
    #[schemars(
        length(min = 1, max = OBJECT_NAME),
        extend("x-kubernetes-validations" = [immutable(
            "leave spec.runtime as it was: another runtime has an Inventory of its own",
        )])
    )]
    pub runtime: String,
    /// Which objects of the runtime: those inside it, or those that its components have in the control plane.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [immutable(
        "leave spec.target as it was: objects in the control plane have an Inventory of their own",
    )]))]
    pub target: ComponentTarget,
    /// Number of this page, from 0.
    #[serde(default)]
    #[schemars(
        range(min = 0, max = 9999),
        extend("x-kubernetes-validations" = [immutable(
            "leave spec.page as it was: another page is another Inventory",
        )])
    )]
    pub page: i32,
    /// Digest of the bundle that this page was written for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = DIGEST))]
    pub digest: Option<String>,
    /// Who wrote this page: the holder of the runtime's Lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = OBJECT_NAME))]
    pub writer: Option<String>,
    /// How many entries are in which state.
    #[serde(default)]
    pub counts: EntryCounts,
    /// The objects, sorted by component, group, kind, namespace and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ENTRIES_PER_PAGE), extend("x-kubernetes-list-type" = "atomic"))]
    pub entries: Vec<InventoryEntry>,
}

/// How many entries are in which state.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryCounts {
    /// Entries in state Planned.
    #[schemars(range(min = 0))]
    pub planned: i32,
    /// Entries in state Applied.
    #[schemars(range(min = 0))]
    pub applied: i32,
    /// Entries in state Deleting.
    #[schemars(range(min = 0))]
    pub deleting: i32,
}

/// One object.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "self.state != 'Applied' || has(self.uid)",
    "write the uid of the object, or state: Planned as long as it is not known",
)]))]
pub struct InventoryEntry {
    /// Component that the object belongs to.
    #[schemars(length(min = 1, max = LABEL))]
    pub component: String,
    /// API group of the object; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = OBJECT_NAME))]
    pub group: String,
    /// API version of the object, without the group.
    #[schemars(length(min = 1, max = LABEL))]
    pub version: String,
    /// Kind of the object.
    #[schemars(length(min = 1, max = LABEL))]
    pub kind: String,
    /// Namespace of the object; empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LABEL))]
    pub namespace: String,
    /// Name of the object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
    /// uid of the object; absent until it exists. An object with another uid is not ours to delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub uid: Option<String>,
    /// How far it is.
    pub state: Lenient<EntryState>,
    /// Hash of the fields that Reeve owns, taken after the apply: shows drift also of times when nobody watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub owned_fields_hash: Option<String>,
    /// Hash of what was applied, if that said that the object stays when it leaves Git: an object of that content stays,
    /// whatever it says by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub kept_content_hash: Option<String>,
}

/// How far an object is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum EntryState {
    /// about to be applied; it may or may not exist.
    Planned,
    /// applied.
    Applied,
    /// about to be deleted, or being deleted; it may or may not exist.
    Deleting,
}

#[cfg(test)]
mod tests {
    use super::{EntryState, InventoryEntry};
    use crate::lenient::Lenient;

    #[test]
    fn an_entry_in_a_state_of_a_newer_version_is_written_back_as_it_was() {
        let json = r#"{"component":"web","version":"v1","kind":"Service","name":"web","state":"Adopting"}"#;
        let entry: InventoryEntry = serde_json::from_str(json).unwrap();
        assert_eq!(entry.state, Lenient::Other("Adopting".to_owned()));
        assert_ne!(entry.state, Lenient::Known(EntryState::Applied));
        assert_eq!(serde_json::to_string(&entry).unwrap(), json);
    }
}
