//! What is known of an object in the cluster: enough to see whether it is ours, as we left it, and healthy.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_crds::annotation;
use reeve_renderer_objects::bundle::COMPONENT_LABEL;

use crate::fields::{has_unknown_writers, owned_hash};
use crate::health::Health;
use crate::owner::{self, Owner};
use crate::payload::Prune;

mod backoff;
mod index;
mod watch_cache;

pub use backoff::{WatchBackoff, watch_error};
#[cfg(test)]
pub(crate) use index::Index;
pub use index::{ChangedKeys, Interest};
pub use watch_cache::{Scope, WatchCache, WatchFailure, WatchHold};

/// An object of ours as it is now. Small, since there is one for every object that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// Tells it from an earlier object of its name.
    pub uid: Box<str>,
    /// Grows with every write.
    pub resource_version: u64,
    /// Hash of what was applied, from our annotation.
    pub content: Option<Box<str>>,
    /// Runtime that has it, with its namespace.
    pub owner: Option<Owner>,
    /// Hash of the fields that this runtime applied; `None` if only labels name it.
    pub owned: Option<Box<str>>,
    /// Whether the field manager of an earlier version has fields of it still.
    pub legacy: bool,
    /// Whether fields of it are left that are to become ours: of that manager, or of nobody knows whom.
    pub leftovers: bool,
    /// Component that claims it.
    pub component: Option<Box<str>>,
    /// Whether it is on its way out, and what holds it up.
    pub deleting: Option<Box<str>>,
    /// What it says about being taken away.
    pub prune: Prune,
    /// How it is doing; `None` for kinds that are well as soon as they exist.
    pub health: Option<Health>,
}

/// How far a watch is.
#[derive(Clone, Debug)]
enum WatchState {
    /// What exists is being listed: for the first time, because it was outdated, or because somebody asks although it failed.
    Listing,
    /// Objects were judged by rules that changed since: all is listed once more.
    Outdated,
    /// Everything was seen.
    Watching,
    /// Nothing was ever seen; it is tried again after a rest, or when somebody asks.
    Failing(WatchFailure),
}

impl Live {
    /// What an object's metadata says.
    pub fn of(metadata: &ObjectMeta, health: Option<Health>) -> Self {
        let label = |name: &str| metadata.labels.as_ref().and_then(|labels| labels.get(name)).map(String::as_str);
        let annotation = |name| metadata.annotations.as_ref().and_then(|annotations| annotations.get(name));
        let hold = owner::hold(metadata);
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            resource_version: metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0),
            content: annotation(annotation::CONTENT).map(|text| text.as_str().into()),
            owned: hold.applied.and_then(owned_hash).map(String::into_boxed_str),
            owner: hold.owner,
            legacy: hold.legacy,
            leftovers: hold.legacy
                || hold.applied.is_some()
                    && has_unknown_writers(metadata.managed_fields.as_deref().unwrap_or_default()),
            component: label(COMPONENT_LABEL).map(Into::into),
            deleting: metadata
                .deletion_timestamp
                .as_ref()
                .map(|_| metadata.finalizers.as_deref().unwrap_or_default().join(", ").into_boxed_str()),
            prune: match annotation(annotation::PRUNE).map(String::as_str) {
                Some("Never") => Prune::Never,
                Some("Always") => Prune::Always,
                _ if annotation("helm.sh/resource-policy").is_some_and(|policy| policy.trim() == "keep") => {
                    Prune::Never
                }
                _ => Prune::Default,
            },
            health,
        }
    }
}
