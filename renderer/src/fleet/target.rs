//! Where a runtime is.

use std::sync::Arc;

use super::decode::{Decoder, Field};
use crate::diagnostic::Diagnostic;
use crate::value::Value;

/// Where a runtime is. The words are those of the kind `Runtime`; whoever applies knows what they mean. What that kind
/// calls `target.namespace` is the `namespace` of the runtime's file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// `InCluster`, `KubeConfig` or `Agent`.
    pub kind: Option<Arc<str>>,
    /// The Secret with the kubeconfig, and the key in it.
    pub kube_config_secret: Option<(Arc<str>, Option<Arc<str>>)>,
    /// The account that objects are applied as, and its namespace.
    pub service_account: Option<(Arc<str>, Option<Arc<str>>)>,
    /// Namespaces that objects may go to; any if there are none.
    pub namespaces: Vec<Arc<str>>,
}

impl Target {
    /// The target as data, for comparing.
    pub(crate) fn to_value(&self) -> Value {
        let text = |text: Option<&Arc<str>>| text.cloned().map_or(Value::Null, Value::Text);
        let mut parts = vec![text(self.kind.as_ref())];
        for pair in [&self.kube_config_secret, &self.service_account] {
            parts.push(text(pair.as_ref().map(|(name, _)| name)));
            parts.push(text(pair.as_ref().and_then(|(_, second)| second.as_ref())));
        }
        parts.extend(self.namespaces.iter().cloned().map(Value::Text));
        Value::list(parts).unwrap_or(Value::Null)
    }
}

impl Decoder {
    pub(super) fn target(&mut self, field: &Field<'_>) -> Target {
        let fields = self.map(field, &["type", "kubeConfigSecretRef", "serviceAccount", "namespaces"]);
        let words = [("InCluster", "InCluster"), ("KubeConfig", "KubeConfig"), ("Agent", "Agent")];
        let kind: Option<Arc<str>> = fields.get("type").and_then(|field| self.word(field, &words)).map(Arc::from);
        let secret = fields.get("kubeConfigSecretRef");
        let kube_config_secret = secret.and_then(|field| {
            let (name, fields) = self.reference(field, "key")?;
            Some((name, fields.and_then(|field| self.bounded(&field, 1, 253))))
        });
        if kind.as_deref() == Some("KubeConfig") && secret.is_none() {
            let finding = Diagnostic::error("missing-key", "`target.kubeConfigSecretRef` is missing");
            self.report(field.span, &field.path, finding.help("name the Secret with the kubeconfig of the cluster"));
        }
        if let Some(secret) = secret.filter(|_| matches!(kind.as_deref(), None | Some("InCluster"))) {
            let message =
                "`target.kubeConfigSecretRef` does not go with type InCluster, the cluster that Reeve runs in";
            let finding = Diagnostic::error("needless-key", message);
            self.report(secret.span, &secret.path, finding.help("write `type: KubeConfig`, or remove it"));
        }
        let service_account = fields.get("serviceAccount").and_then(|field| {
            let (name, fields) = self.reference(field, "namespace")?;
            Some((name, fields.and_then(|field| self.name(&field)).map(|namespace| namespace.value)))
        });
        let namespaces = fields.get("namespaces").map(|field| {
            let items = self.list(field);
            self.count(field, items.len(), 0, 256);
            self.distinct(&items);
            items.iter().filter_map(|item| self.name(item)).map(|name| name.value).collect()
        });
        Target { kind, kube_config_secret, service_account, namespaces: namespaces.unwrap_or_default() }
    }

    /// A name, and the field beside it that says more.
    fn reference<'n>(&mut self, field: &Field<'n>, second: &str) -> Option<(Arc<str>, Option<Field<'n>>)> {
        let mut fields = self.map(field, &["name", second]);
        let Some(name) = fields.remove("name") else {
            let message = format!("`{}` needs a `name`", field.path);
            self.report(field.span, &field.path, Diagnostic::error("missing-key", message));
            return None;
        };
        Some((self.object_name(&name)?, fields.remove(second)))
    }
}
