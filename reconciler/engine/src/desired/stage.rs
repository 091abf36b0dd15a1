//! In which order the kinds of a component are applied; they are taken away in the reverse of it.

/// Everything of a stage is applied, and what must be established is, before the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Namespaces and CRDs: nothing in them or of them can exist before they are established.
    Definitions,
    /// What others refer to when they are created: classes, accounts and their rights, quotas, data.
    Prerequisites,
    /// Everything else.
    Main,
    /// Admission webhooks, which would refuse what their own backend is made of.
    Webhooks,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Definitions, Self::Prerequisites, Self::Main, Self::Webhooks];

    /// The stage of a kind.
    pub fn of(group: &str, kind: &str) -> Self {
        match (group, kind) {
            ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Definitions,
            (
                "",
                "ServiceAccount"
                | "ConfigMap"
                | "Secret"
                | "ResourceQuota"
                | "LimitRange"
                | "PersistentVolume"
                | "PersistentVolumeClaim",
            )
            | ("rbac.authorization.k8s.io", _) => Self::Prerequisites,
            ("admissionregistration.k8s.io", _) => Self::Webhooks,
            _ if kind.ends_with("Class") => Self::Prerequisites,
            _ => Self::Main,
        }
    }

    /// The word for plans and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Prerequisites => "prerequisites",
            Self::Main => "main",
            Self::Webhooks => "webhooks",
        }
    }
}

/// Kinds that hold what cannot be made again: never deleted unless an annotation says so, never recreated.
pub fn is_protected(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Namespace" | "PersistentVolumeClaim") | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_need_comes_before_them() {
        let order = [
            ("", "Namespace"),
            ("storage.k8s.io", "StorageClass"),
            ("apps", "Deployment"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ];
        assert!(order.map(|(group, kind)| Stage::of(group, kind)).is_sorted());
        assert_eq!(Stage::of("apiextensions.k8s.io", "CustomResourceDefinition"), Stage::Definitions);
        assert_eq!(Stage::of("rbac.authorization.k8s.io", "RoleBinding"), Stage::Prerequisites);
        assert_eq!(Stage::of("example.com", "Namespace"), Stage::Main);
    }
}
