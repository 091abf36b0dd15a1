//! What is done when others own what is applied. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::runtime::policy::Adoption;

use super::{Owner, Release, hold};
use crate::fields::{Conflict, Conflicts, Manager, Operation, is_written_by_helm};

/// Who applies an object, and what it may take from others.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<'a> {
    /// The runtime.
    pub owner: &'a Owner,
    /// A runtime that is known to have no claim to the object, although it may bear its marks.
    pub freed: Option<&'a Owner>,
    /// The Helm release that the component takes the place of.
    pub release: Option<&'a Release>,
    /// What to do about objects that exist already.
    pub adoption: Adoption,
}

/// What is done about a conflict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Settlement {
    /// Nobody means to keep these fields: they are overwritten, if nothing changes meanwhile.
    Force,
    /// They are left from an earlier owner, or from an earlier version: they become ours.
    TakeOver,
    /// Another runtime has the object.
    Claimed(Owner),
    /// A Helm release has the object, and it is not the one that the component takes the place of.
    Released(Release),
    /// Another tool means to keep them, and the policy lets it.
    Refuse,
}

impl Claimant<'_> {
    /// What is done about a conflict over an object with this metadata.
    pub fn settle(&self, conflicts: &Conflicts, there: &ObjectMeta) -> Settlement {
        let has_it = |owner: &Owner| owner == self.owner;
        let holder = hold(there).owner;
        let is_ours = holder.as_ref().is_some_and(has_it);
        let is_reeve = |conflict: &Conflict| {
            let manager = &conflict.manager;
            let other = Manager::is_reeve(manager) && *manager != self.owner.manager().as_str();
            conflict.operation == Operation::Apply && other
        };
        match holder.filter(|owner| !has_it(owner) && Some(owner) != self.freed) {
            Some(holder) => return Settlement::Claimed(holder),
            None if conflicts.iter().any(is_reeve) => return Settlement::TakeOver,
            None => {}
        }
        // On an object that is ours already, marks are what somebody wrote since.
        match Release::of(there).filter(|_| !is_ours) {
            None => self.settle_unmarked(conflicts),
            Some(release) if self.adoption != Adoption::Always && self.release != Some(&release) => {
                Settlement::Released(release)
            }
            Some(_) => self.settle_marked(conflicts, there),
        }
    }

    fn settle_unmarked(&self, conflicts: &Conflicts) -> Settlement {
        if conflicts.all_updates() || self.adoption == Adoption::Always {
            Settlement::Force
        } else {
            Settlement::Refuse
        }
    }

    /// An object of a release that it may take. What Helm wrote becomes ours before anything is forced.
    fn settle_marked(&self, conflicts: &Conflicts, there: &ObjectMeta) -> Settlement {
        let helm: Vec<&str> = there
            .managed_fields
            .iter()
            .flatten()
            .filter(|entry| is_written_by_helm(entry))
            .filter_map(|entry| entry.manager.as_deref())
            .collect();
        let is_helm = |conflict: &Conflict| helm.contains(&conflict.manager.as_str());
        let yields = |conflict: &Conflict| conflict.operation == Operation::Update || is_helm(conflict);
        if !conflicts.iter().any(is_helm) {
            return self.settle_unmarked(conflicts);
        }
        let takes = self.adoption == Adoption::Always || conflicts.iter().all(yields);
        if takes { Settlement::TakeOver } else { Settlement::Refuse }
    }
}
