//! Names and labels of what the switch writes.

use std::hash::{DefaultHasher, Hash, Hasher};

use reeve_crds::WorkloadRef;

pub(super) use reeve_crds::scaling_rule::CAPTURE_KEY;

/// On a captured Service: since when. Pods that are older may have connections that bypass the resolver.
pub(super) const CAPTURED_AT: &str = "reeve.dev/captured-at";
/// On our slices: the name of the rule.
pub(super) const SLICE_LABEL: &str = "reeve.dev/capture";
/// Whose slices they are; the controller of Kubernetes leaves those of others alone.
pub(super) const SLICE_MANAGER: &str = "resolver.reeve.dev";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// On a rule: its path is taken down before it goes.
pub(super) const FINALIZER: &str = "reeve.dev/resolver";
/// Under which the switch writes.
pub(super) const FIELD_MANAGER: &str = "reeve-resolver";
/// Longest name of a Service, and longest value of a label.
pub(super) const LABEL: usize = 63;

/// The headless Service through which the resolver finds the pods of a captured one.
pub(super) fn shadow(service: &str) -> String {
    suffixed(service, "reeve-shadow")
}

/// Our slice of a Service.
pub(super) fn slice(service: &str, family: &str) -> String {
    suffixed(service, &format!("reeve-{}", family.to_lowercase()))
}

/// The rule that a selecting rule makes for a target.
pub(super) fn child(parent: &str, target: &WorkloadRef) -> String {
    match target.kind.as_str() {
        "Deployment" => suffixed(parent, &target.name),
        kind => suffixed(parent, &format!("{}-{}", target.name, kind.to_lowercase())),
    }
}

/// Cut where it would be too long, and then told from others by a hash.
fn suffixed(name: &str, suffix: &str) -> String {
    let whole = format!("{name}-{suffix}");
    if whole.len() <= LABEL {
        return whole;
    }
    let mut hasher = DefaultHasher::new();
    (name, suffix).hash(&mut hasher);
    let hash = format!("{:08x}", hasher.finish() & 0xffff_ffff);
    // A suffix that is a name itself may be too long as well.
    let suffix = suffix.get(..suffix.len().min(LABEL / 2)).unwrap_or_default().trim_end_matches('-');
    let room = LABEL.saturating_sub(suffix.len() + hash.len() + 2);
    let name = name.get(..room.min(name.len())).unwrap_or_default().trim_end_matches('-');
    format!("{name}-{hash}-{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ_however_long_the_service_is_called() {
        assert_eq!(shadow("web"), "web-reeve-shadow");
        assert_eq!(slice("web", "IPv4"), "web-reeve-ipv4");
        let (long, longer) = ("a".repeat(63), format!("{}b", "a".repeat(62)));
        assert!(shadow(&long).len() <= LABEL);
        assert_ne!(shadow(&long), shadow(&longer));
        let target =
            |name: &str| WorkloadRef { api_version: "apps/v1".into(), kind: "Deployment".into(), name: name.into() };
        assert_eq!(child("all", &target("web")), "all-web");
        let (one, other) = (child(&long, &target(&long)), child(&long, &target(&longer)));
        assert!(one.len() <= LABEL && one != other, "{one} {other}");
    }
}
