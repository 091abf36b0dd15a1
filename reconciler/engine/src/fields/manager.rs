//! The field managers of Reeve. Each runtime has its own, so that the API server itself refuses a second owner.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::json;

use super::is_applied_by;
use crate::hash;

/// The one manager of all runtimes in earlier versions. What it has is taken over when the object is next written.
pub const LEGACY_MANAGER: &str = "reeve";

const PREFIX: &str = "reeve:";
/// The API server refuses longer names.
const LONGEST: usize = 128;

/// The field manager of one runtime.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Manager(Arc<str>);

impl Manager {
    /// The manager of the runtime that is called `namespace/name`: by names and not by uids, so that a control plane
    /// that was built again owns what it owned before.
    pub fn of_runtime(runtime: &str) -> Self {
        let name = format!("{PREFIX}{runtime}");
        if name.len() <= LONGEST {
            return Self(name.into());
        }
        Self(format!("{PREFIX}{}", hash::of(&json!(runtime))).into())
    }

    /// As the API server has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The runtime of a manager, as `namespace/name`; `None` if the name is a hash, or not one of a runtime.
    pub fn runtime(manager: &str) -> Option<&str> {
        manager.strip_prefix(PREFIX).filter(|runtime| runtime.contains('/'))
    }

    /// Whether a runtime applies under this name.
    pub fn is_runtime(manager: &str) -> bool {
        manager.starts_with(PREFIX)
    }

    /// Whether Reeve applies under this name, or did in an earlier version.
    pub fn is_reeve(manager: &str) -> bool {
        manager == LEGACY_MANAGER || Self::is_runtime(manager)
    }

    /// Whether an entry is what this manager applied, under its name or under that of an earlier version.
    pub(crate) fn applied(&self, entry: &ManagedFieldsEntry) -> bool {
        is_applied_by(entry, &self.0) || is_applied_by(entry, LEGACY_MANAGER)
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_has_a_manager_of_its_own_that_the_api_server_accepts() {
        let short = Manager::of_runtime("fleet/eu");
        assert_eq!(short.as_str(), "reeve:fleet/eu");
        assert_eq!(Manager::runtime(short.as_str()), Some("fleet/eu"));
        let long = Manager::of_runtime(&format!("fleet/{}", "x".repeat(200)));
        let other = Manager::of_runtime(&format!("fleet/{}", "y".repeat(200)));
        assert!(long.as_str().len() <= LONGEST && Manager::is_runtime(long.as_str()));
        assert_ne!(long, other);
        assert_eq!(Manager::runtime(long.as_str()), None);
        assert!(Manager::is_reeve("reeve") && !Manager::is_runtime("reeve") && !Manager::is_reeve("reeve-cli"));
    }
}
