//! What a cluster and a person must have before Reeve is installed.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;

use super::super::connection::Connection;
use super::super::error::ClusterError;
use super::super::kinds::Kinds;
use super::Check;

/// The oldest minor version of Kubernetes 1 whose rules and selectable fields the kinds need.
const OLDEST: u32 = 33;

/// Kinds that an installation has or that Reeve uses.
const KINDS: &[(&str, &str)] = &[
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apps/v1", "Deployment"),
    ("coordination.k8s.io/v1", "Lease"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("v1", "ServiceAccount"),
];

/// What whoever installs must be allowed: verb, group, resource, and whether in the namespace only.
const RIGHTS: &[(&str, &str, &str, bool)] = &[
    ("patch", "apiextensions.k8s.io", "customresourcedefinitions", false),
    ("patch", "", "namespaces", false),
    ("patch", "rbac.authorization.k8s.io", "clusterroles", false),
    ("patch", "rbac.authorization.k8s.io", "clusterrolebindings", false),
    ("patch", "rbac.authorization.k8s.io", "roles", true),
    ("patch", "rbac.authorization.k8s.io", "rolebindings", true),
    ("patch", "", "serviceaccounts", true),
    ("patch", "", "services", true),
    ("patch", "apps", "deployments", true),
    ("patch", "policy", "poddisruptionbudgets", true),
];

pub(super) async fn version(connection: &Connection) -> Result<Check, ClusterError> {
    let info = connection.ask("ask for the version", connection.client.apiserver_version()).await?;
    Ok(check_version(&info.major, &info.minor, &info.git_version))
}

fn check_version(major: &str, minor: &str, version: &str) -> Check {
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().ok();
    match (number(major), number(minor)) {
        (Some(1), Some(minor)) if minor < OLDEST => {
            Check::fail("Kubernetes", version, format!("Reeve needs Kubernetes 1.{OLDEST} or newer"))
        }
        (Some(_), Some(_)) => Check::ok("Kubernetes", version),
        _ => Check::warn("Kubernetes", version, format!("the version cannot be read; Reeve needs 1.{OLDEST} or newer")),
    }
}

pub(super) fn groups(kinds: &Kinds) -> Vec<Check> {
    let missing: Vec<_> = KINDS.iter().filter(|(group, kind)| kinds.exact(group, kind).is_none()).collect();
    if missing.is_empty() {
        return vec![Check::ok("API groups", "all that Reeve needs are there")];
    }
    let tell = |(group, kind): &&(&str, &str)| {
        Check::fail("API groups", format!("{kind} of {group} is missing"), "switch this API on, or repair its server")
    };
    missing.iter().map(tell).collect()
}

pub(super) async fn rights(connection: &Connection, namespace: &str) -> Result<Vec<Check>, ClusterError> {
    let mut missing = Vec::new();
    for (verb, group, resource, local) in RIGHTS {
        let place = local.then_some(namespace);
        if !may(connection, verb, group, resource, place).await? {
            let dot = if group.is_empty() { "" } else { "." };
            let place = place.map_or_else(|| "the whole cluster".to_owned(), |place| format!("namespace {place}"));
            let found = format!("you may not {verb} {resource}{dot}{group} in {place}");
            let help = "ask whoever runs the cluster for it, or to run `reeve install` for you";
            missing.push(Check::fail("your rights", found, help));
        }
    }
    Ok(if missing.is_empty() { vec![Check::ok("your rights", "you may install Reeve")] } else { missing })
}

async fn may(
    connection: &Connection,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: Option<&str>,
) -> Result<bool, ClusterError> {
    let attributes = ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let api: Api<SelfSubjectAccessReview> = Api::all(connection.client.clone());
    let answer = connection.ask("ask what you may do", api.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn old_versions_fail_and_odd_ones_are_read() {
        for (major, minor, verdict) in [
            ("1", "32", Verdict::Fail),
            ("1", "33", Verdict::Ok),
            ("1", "35+", Verdict::Ok),
            ("2", "0", Verdict::Ok),
            ("1", "", Verdict::Warn),
        ] {
            assert_eq!(check_version(major, minor, "v").result, verdict, "{major}.{minor}");
        }
    }
}
