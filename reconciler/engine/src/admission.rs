//! What a tenant or a component of the control plane may not have: pure, for those who apply and those who foresee.

use reeve_crds::runtime_component::ComponentTarget;
use reeve_renderer_objects::key::ObjectKey;

use crate::desired::DesiredComponent;

/// Which kinds components of the control plane may have.
#[derive(Clone, Copy, Debug)]
pub enum Allowed<'a> {
    /// These, as `group/Kind`; the core group is empty.
    Kinds(&'a [String]),
    /// Only the operator knows.
    Unknown,
}

/// The first object of a component, Jobs included, that it may not have, and why not. Nothing of such a component is
/// applied.
pub fn refused<'a>(
    component: &'a DesiredComponent,
    tenant: bool,
    allowed: Allowed<'_>,
) -> Option<(&'a ObjectKey, String)> {
    let all = component.objects.iter().chain(component.jobs.iter().map(|job| &job.object));
    let mut keys = all.map(|object| &object.key);
    keys.find_map(|key| Some((key, why(key, component.target, tenant, allowed)?)))
}

/// Why a component with this target may not have an object.
pub fn why(key: &ObjectKey, target: ComponentTarget, tenant: bool, allowed: Allowed<'_>) -> Option<String> {
    match (target, allowed) {
        (ComponentTarget::ControlPlane, Allowed::Kinds(kinds))
            if !kinds.contains(&format!("{}/{}", key.group, key.kind)) =>
        {
            Some(format!("may not be in the control plane: the operator allows {}", list(kinds)))
        }
        (ComponentTarget::Runtime, _) if tenant && key.namespace.is_none() => {
            Some("is cluster-scoped, but spec.target.namespaces makes this runtime a tenant".to_owned())
        }
        (ComponentTarget::ControlPlane | ComponentTarget::Runtime, _) => None,
    }
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, namespace: Option<&str>) -> ObjectKey {
        ObjectKey { group: "".into(), kind: kind.into(), namespace: namespace.map(Into::into), name: "a".into() }
    }

    #[test]
    fn a_tenant_has_nothing_outside_of_namespaces() {
        let why = |namespace, tenant| {
            why(&key("Any", namespace), ComponentTarget::Runtime, tenant, Allowed::Kinds(&[])).is_some()
        };
        assert!(why(None, true));
        assert!(!why(None, false) && !why(Some("shop"), true));
    }

    #[test]
    fn the_control_plane_gets_what_the_operator_allows() {
        let kinds = ["/Secret".to_owned()];
        let why = |kind, allowed| why(&key(kind, Some("shop")), ComponentTarget::ControlPlane, true, allowed);
        assert_eq!(why("Secret", Allowed::Kinds(&kinds)), None);
        let message = "may not be in the control plane: the operator allows /Secret";
        assert_eq!(why("Pod", Allowed::Kinds(&kinds)).as_deref(), Some(message));
        assert_eq!(why("Pod", Allowed::Unknown), None);
    }
}
