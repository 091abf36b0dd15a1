//! Who owns which field of an object: everything about `metadata.managedFields`.
//!
//! Server-side apply keeps for each manager the set of fields it decided. When somebody else changes or removes one of
//! ours, it leaves our set, so the hash of our set tells whether there is drift, and the sets of the others tell whose
//! it is. Nothing here talks to a cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

use crate::hash;

mod conflict;
mod drift;
mod manager;
mod owners;
mod paths;
mod takeover;

pub use conflict::{Conflict, Conflicts};
pub use drift::{DriftedField, drifted};
pub use manager::{LEGACY_MANAGER, Manager};
pub(crate) use owners::{Owners, Sets, fit};
pub use paths::{Path, Paths, Step};
pub use takeover::{
    LAST_APPLIED, RELEASE_NAME, RELEASE_NAMESPACE, Takeover, has_unknown_writers, is_written_by_helm, takeover,
};

/// How a manager came to a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operation {
    /// by server-side apply: it means to keep it.
    Apply,
    /// by any other write.
    Update,
}

impl Operation {
    fn of(entry: &ManagedFieldsEntry) -> Self {
        match entry.operation.as_deref() {
            Some("Apply") => Self::Apply,
            _ => Self::Update,
        }
    }
}

/// Hash of the fields of an entry, or nothing if there are none. It changes when somebody takes a field away from its
/// manager or removes one; what others add, and status, do not change it.
pub fn owned_hash(entry: &ManagedFieldsEntry) -> Option<String> {
    let fields = &entry.fields_v1.as_ref()?.0;
    let owns_nothing = fields.as_object().is_none_or(serde_json::Map::is_empty);
    (!owns_nothing).then(|| hash::of(fields))
}

/// Who owns what of an object.
pub fn managed_fields(value: &serde_json::Value) -> Vec<ManagedFieldsEntry> {
    value
        .pointer("/metadata/managedFields")
        .and_then(|fields| serde_json::from_value(fields.clone()).ok())
        .unwrap_or_default()
}

/// Whether an entry is what `manager` applied to the object itself, not to a subresource.
pub fn is_applied_by(entry: &ManagedFieldsEntry, manager: &str) -> bool {
    entry.manager.as_deref() == Some(manager)
        && Operation::of(entry) == Operation::Apply
        && subresource(entry).is_none()
}

/// An empty name is the object itself.
fn subresource(entry: &ManagedFieldsEntry) -> Option<&str> {
    entry.subresource.as_deref().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
