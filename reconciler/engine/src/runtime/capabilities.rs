//! Whether the cluster offers what the runtime's file declares. Templates go by the file, so one that is wrong renders what
//! does not fit.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use reeve_crds::condition::types;
use reeve_crds::runtime::{Capabilities, RuntimeStatus};

use crate::cluster::Cluster;

/// What was found in the cluster, next to what was declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CapabilityReport {
    /// Version of Kubernetes.
    pub(super) version: String,
    /// Whether anything is declared.
    pub(super) declared: bool,
    /// What is declared and not so, each with what to do.
    pub(super) lacking: Vec<String>,
}

impl CapabilityReport {
    /// What was last said of it, perhaps by another process.
    pub(super) fn reported(status: &RuntimeStatus) -> Option<String> {
        let capable = status.conditions.iter().find(|condition| condition.type_ == types::CAPABLE);
        capable.map(|condition| condition.message.clone())
    }

    /// What there is to say of it.
    pub(super) fn message(&self) -> String {
        if self.lacking.is_empty() {
            return format!("the cluster has Kubernetes {} and all that is declared", self.version);
        }
        self.lacking.join("; ")
    }
}

/// Asks the cluster. Nothing, if it cannot be asked: others tell of that.
pub(super) async fn check(cluster: &Cluster, declared: &Capabilities, now: Timestamp) -> Option<CapabilityReport> {
    let version = cluster.version(now).await.ok()?;
    let mut served: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (api_version, _) in declared.api_versions.iter().map(|name| split(name)) {
        if !served.contains_key(api_version) {
            let kinds = cluster.kinds().served(api_version).await.ok()?;
            served.insert(api_version, kinds.keys().cloned().collect());
        }
    }
    let lacking = lacking(declared, &version, &served);
    let declared = declared.kubernetes_version.is_some() || !declared.api_versions.is_empty();
    Some(CapabilityReport { version, declared, lacking })
}

/// What is declared and not so.
fn lacking(declared: &Capabilities, version: &str, served: &BTreeMap<&str, BTreeSet<String>>) -> Vec<String> {
    let wrong =
        declared.kubernetes_version.iter().filter(|said| minor(said) != minor(version)).map(|said| {
            format!("capabilities.kubernetesVersion says {said}, but the cluster has {version}: write that")
        });
    let missing = declared.api_versions.iter().filter(|name| {
        let (api_version, kind) = split(name);
        let kinds = served.get(api_version);
        !kinds.is_some_and(|kinds| kind.map_or(!kinds.is_empty(), |kind| kinds.contains(kind)))
    });
    let missing = missing.map(|name| {
        format!("capabilities.apiVersions has {name}, which the cluster does not serve: install what defines it, or remove it")
    });
    wrong.chain(missing).collect()
}

/// Major and minor of a version: what decides which kinds and fields there are.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split(['.', '-', '+']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Group and version, and the kind if there is one: `apps/v1`, `apps/v1/Deployment`, `v1`, `v1/Pod`.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('/') {
        Some((api_version, kind)) if kind.starts_with(char::is_uppercase) => (api_version, Some(kind)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(version: Option<&str>, names: &[&str]) -> Capabilities {
        Capabilities {
            kubernetes_version: version.map(str::to_owned),
            api_versions: names.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_version_is_as_declared_if_major_and_minor_are() {
        let found = "v1.35.4";
        for said in ["v1.35.4", "1.35", "v1.35.9", "v1.35.4+k3s1", "1.35-eks"] {
            assert!(lacking(&declared(Some(said), &[]), found, &BTreeMap::new()).is_empty(), "{said}");
        }
        for said in ["v1.34.4", "1.36", "2.35"] {
            let lacking = lacking(&declared(Some(said), &[]), found, &BTreeMap::new());
            assert_eq!(lacking.len(), 1, "{said}");
            assert!(lacking[0].contains(said) && lacking[0].contains(found), "{lacking:?}");
        }
    }

    #[test]
    fn a_group_a_version_and_a_kind_are_each_looked_for() {
        let served = BTreeMap::from([
            ("keda.sh/v1alpha1", BTreeSet::from(["ScaledObject".to_owned()])),
            ("v1", BTreeSet::from(["Pod".to_owned()])),
            ("dapr.io/v1alpha1", BTreeSet::new()),
        ]);
        let all = ["keda.sh/v1alpha1", "keda.sh/v1alpha1/ScaledObject", "v1", "v1/Pod"];
        assert!(lacking(&declared(None, &all), "v1.35.4", &served).is_empty());
        for name in ["keda.sh/v1alpha1/ScaledJob", "dapr.io/v1alpha1", "dapr.io/v1alpha1/Component", "v1/Pot"] {
            let lacking = lacking(&declared(None, &[name]), "v1.35.4", &served);
            assert_eq!(lacking.len(), 1, "{name}");
            assert!(lacking[0].contains(name), "{lacking:?}");
        }
    }
}
