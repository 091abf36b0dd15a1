//! What is done when others own what is applied. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::runtime::policy::Adoption;

use super::{Owner, hold};
use crate::fields::{Conflicts, Manager, Operation};

/// What is done about a conflict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Settlement {
    /// Nobody means to keep these fields: they are overwritten, if nothing changes meanwhile.
    Force,
    /// They are left from an earlier owner, or from an earlier version: they become ours.
    TakeOver,
    /// Another runtime has the object.
    Claimed(Owner),
    /// Another tool means to keep them, and the policy lets it.
    Refuse,
}

/// What `ours` does about a conflict over an object with this metadata. `freed` is a runtime that has no claim to it.
pub fn settle(
    conflicts: &Conflicts,
    there: &ObjectMeta,
    ours: &Owner,
    freed: Option<&Owner>,
    adoption: Adoption,
) -> Settlement {
    let holder = hold(there).owner.filter(|owner| owner != ours && Some(owner) != freed);
    let is_reeve = |manager: &str| Manager::is_reeve(manager) && manager != ours.manager().as_str();
    let by_reeve =
        conflicts.iter().any(|conflict| conflict.operation == Operation::Apply && is_reeve(&conflict.manager));
    match holder {
        Some(holder) => Settlement::Claimed(holder),
        None if by_reeve => Settlement::TakeOver,
        None if conflicts.all_updates() || adoption == Adoption::Always => Settlement::Force,
        None => Settlement::Refuse,
    }
}
