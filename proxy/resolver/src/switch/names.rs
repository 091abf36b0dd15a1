//! Names and labels of what the switch writes.

use std::hash::{DefaultHasher, Hash, Hasher};

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

/// Cut where it would be too long, and then told from others by a hash.
fn suffixed(name: &str, suffix: &str) -> String {
    let whole = format!("{name}-{suffix}");
    if whole.len() <= LABEL {
        return whole;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let hash = format!("{:08x}", hasher.finish() & 0xffff_ffff);
    let room = LABEL.saturating_sub(suffix.len() + hash.len() + 2);
    format!("{}-{hash}-{suffix}", name.get(..room).unwrap_or_default().trim_end_matches('-'))
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
    }
}
