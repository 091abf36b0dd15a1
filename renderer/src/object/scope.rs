//! Which kinds live in a namespace.
//!
//! Kinds of Kubernetes and of Reeve are known; custom kinds are what the `CustomResourceDefinitions` of the same runtime
//! say, and namespaced when nobody says.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Draft;
use crate::value::Value;

const CLUSTER: &[(&str, &str)] = &[
    ("", "ComponentStatus"),
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("reeve.dev", "NodeHook"),
    ("reeve.dev", "NodeHookStatus"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
    // Custom kinds that charts use without bringing their definitions along.
    ("cert-manager.io", "ClusterIssuer"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("keda.sh", "ClusterTriggerAuthentication"),
];

/// The scopes of one runtime's kinds.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    defined: BTreeMap<(Arc<str>, Arc<str>), bool>,
}

impl Scopes {
    /// Takes note of the kinds that a `CustomResourceDefinition` defines.
    pub(crate) fn learn(&mut self, draft: &Draft) {
        if &*draft.kind != "CustomResourceDefinition" {
            return;
        }
        let spec = draft.value.get("spec");
        let text = |value: Option<&Value>| match value {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let group = text(spec.and_then(|spec| spec.get("group")));
        let kind = text(spec.and_then(|spec| spec.get("names")).and_then(|names| names.get("kind")));
        let scope = text(spec.and_then(|spec| spec.get("scope")));
        if let (Some(group), Some(kind), Some(scope)) = (group, kind, scope) {
            self.defined.insert((group, kind), &*scope == "Cluster");
        }
    }

    /// Whether objects of this kind live outside of namespaces.
    pub(crate) fn is_cluster(&self, group: &str, kind: &str) -> bool {
        CLUSTER.contains(&(group, kind)) || self.defined.get(&(Arc::from(group), Arc::from(kind))) == Some(&true)
    }
}
