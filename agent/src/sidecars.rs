//! Keeps the sidecars of a cluster current: looks at all objects at once, decides by the rules, and carries that out.
//!
//! `cluster` and `sources` know what is there, `snapshot` makes one world of it, the rules decide, `status` says what is
//! written, `controller` writes that and then acts. Records are written before anything is done.

use std::collections::BTreeSet;
use std::str::FromStr;

use kube::Client;
use reeve_reconciler_engine::clock::Clock;

mod cluster;
mod controller;
mod evidence;
mod execute;
mod hash_key;
mod kinds;
mod logs;
mod names;
mod snapshot;
mod sources;
mod status;
mod watch;

use controller::Controller;

/// What an agent is asked to look after.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose workloads are brought up to date.
    pub scope: Scope,
    /// Namespace of Dapr's control plane.
    pub dapr_namespace: String,
    /// The Runtime whose policy holds.
    pub runtime: Option<RuntimeName>,
    /// Namespace of the agent's own Secret.
    pub own_namespace: String,
}

/// Which namespaces an agent looks at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// All of them.
    Everywhere,
    /// These alone.
    Namespaces(BTreeSet<String>),
}

impl Scope {
    /// This one too.
    #[must_use]
    pub fn with(&self, namespace: &str) -> Self {
        match self {
            Self::Everywhere => Self::Everywhere,
            Self::Namespaces(names) => Self::Namespaces(names.iter().cloned().chain([namespace.to_owned()]).collect()),
        }
    }
}

/// Namespace and name of a Runtime.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RuntimeName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What is no namespace and name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("write <namespace>/<name>, such as fleet/prod-1")]
pub struct NoRuntimeName;

impl FromStr for RuntimeName {
    type Err = NoRuntimeName;

    fn from_str(text: &str) -> Result<Self, NoRuntimeName> {
        match text.split('/').collect::<Vec<_>>()[..] {
            [namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(NoRuntimeName),
        }
    }
}

/// Keeps sidecars current until it is dropped. It never ends by itself; what fails is tried again.
pub async fn run_controller(client: Client, settings: Settings, clock: Clock) {
    Controller::new(client, settings, clock).run().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_named_by_namespace_and_name() {
        let name = RuntimeName { namespace: "fleet".to_owned(), name: "prod-1".to_owned() };
        assert_eq!("fleet/prod-1".parse(), Ok(name));
        for wrong in ["prod-1", "/prod-1", "fleet/", "a/b/c", ""] {
            assert_eq!(wrong.parse::<RuntimeName>(), Err(NoRuntimeName), "{wrong}");
        }
    }
}
