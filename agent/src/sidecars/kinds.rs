//! Which kinds there are in a cluster: those of Dapr that its CRDs serve, and those that own pods.

use std::collections::BTreeSet;

use kube::Client;
use kube::api::{ApiResource, GroupVersionKind};
use reeve_agent_dapr::Kind;
use reeve_agent_dapr::kind::GROUP;
use reeve_agent_dapr::world::OwnerKind;

const APPS: &str = "apps";
const ROLLOUTS: &str = "argoproj.io";

/// Kinds that a cluster may serve or not.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Optional {
    Dapr(Kind),
    Rollout,
}

/// The kind as requests name it.
pub(super) fn dapr(kind: Kind) -> ApiResource {
    let kind_name = GroupVersionKind::gvk(GROUP, kind.version(), kind.as_str());
    ApiResource::from_gvk_with_plural(&kind_name, kind.plural())
}

/// The kind of an owner as requests name it; `None` for those that nothing is written to.
pub(super) fn owner(kind: OwnerKind) -> Option<ApiResource> {
    let (group, version, plural) = match kind {
        OwnerKind::Deployment => (APPS, "v1", "deployments"),
        OwnerKind::StatefulSet => (APPS, "v1", "statefulsets"),
        OwnerKind::DaemonSet => (APPS, "v1", "daemonsets"),
        OwnerKind::ReplicaSet => (APPS, "v1", "replicasets"),
        OwnerKind::Rollout => (ROLLOUTS, "v1alpha1", "rollouts"),
        OwnerKind::Job | OwnerKind::Pod => return None,
    };
    Some(ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind.as_str()), plural))
}

/// The kind of an owner by what a reference says; `None` for kinds that nobody here knows how to restart.
pub(super) fn find_owner(api_version: &str, kind: &str) -> Option<OwnerKind> {
    let (group, _) = api_version.split_once('/')?;
    let known = [OwnerKind::Deployment, OwnerKind::StatefulSet, OwnerKind::DaemonSet, OwnerKind::ReplicaSet];
    let of_group: &[OwnerKind] = match group {
        APPS => &known,
        "batch" => &[OwnerKind::Job],
        ROLLOUTS => &[OwnerKind::Rollout],
        _ => &[],
    };
    of_group.iter().find(|known| known.as_str() == kind).copied()
}

/// Asks which of the optional kinds are served.
pub(super) async fn served(client: &Client) -> Result<BTreeSet<Optional>, kube::Error> {
    let mut served = BTreeSet::new();
    for version in ["v1alpha1", "v2alpha1"] {
        for resource in resources(client, &format!("{GROUP}/{version}")).await? {
            let kind = Kind::ALL.into_iter().find(|kind| kind.version() == version && kind.plural() == resource);
            served.extend(kind.map(Optional::Dapr));
        }
    }
    if resources(client, &format!("{ROLLOUTS}/v1alpha1")).await?.iter().any(|resource| resource == "rollouts") {
        served.insert(Optional::Rollout);
    }
    Ok(served)
}

async fn resources(client: &Client, group_version: &str) -> Result<Vec<String>, kube::Error> {
    match client.list_api_group_resources(group_version).await {
        Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_found_by_group_and_kind_and_others_are_not() {
        for kind in [OwnerKind::Deployment, OwnerKind::DaemonSet, OwnerKind::ReplicaSet, OwnerKind::Rollout] {
            let resource = owner(kind).unwrap();
            assert_eq!(find_owner(&resource.api_version, &resource.kind), Some(kind));
        }
        assert_eq!(find_owner("batch/v1", "Job"), Some(OwnerKind::Job));
        assert_eq!(find_owner("v1", "Node"), None);
        assert_eq!(find_owner("apps.kruise.io/v1alpha1", "StatefulSet"), None);
    }
}
