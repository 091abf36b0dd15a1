//! Where a runtime is, and as whom objects are applied there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{LABEL, OBJECT_NAME, closed_set, namespace_rule, rule};

/// Where the runtime is and as whom objects are applied there.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        "self.type != 'KubeConfig' || has(self.kubeConfigSecretRef)",
        "add kubeConfigSecretRef: the name of a Secret with the kubeconfig of the cluster",
    ),
    rule(
        "self.type != 'InCluster' || !has(self.kubeConfigSecretRef)",
        "write type: KubeConfig, or remove kubeConfigSecretRef: InCluster means the cluster that Reeve itself runs in",
    ),
    rule(
        "!has(self.namespaces) || self.namespaces.size() == 0 || self.namespace in self.namespaces",
        "set target.namespace to one of target.namespaces: objects that name no namespace go there",
    ),
]))]
pub struct Target {
    /// How objects get there.
    #[serde(rename = "type")]
    pub kind: TargetType,
    /// Secret with the kubeconfig of the cluster. With type Agent it is used once, to put the agent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config_secret_ref: Option<KubeConfigRef>,
    /// Account in the runtime as which objects are read and written; its roles decide what Git may do there.
    pub service_account: ServiceAccountRef,
    /// Namespace of objects that name none.
    #[schemars(
        length(min = 1, max = LABEL),
        extend("x-kubernetes-validations" = [namespace_rule()])
    )]
    pub namespace: String,
    /// The only namespaces that objects of this runtime may be in: makes it a tenant. Empty means all, and
    /// cluster-scoped objects too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = LABEL)), extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            kind: TargetType::InCluster,
            kube_config_secret_ref: None,
            service_account: ServiceAccountRef::default(),
            namespace: "default".to_owned(),
            namespaces: Vec::new(),
        }
    }
}

/// How objects get to a runtime.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(transform = closed_set)]
pub enum TargetType {
    /// the cluster that Reeve itself runs in.
    #[default]
    InCluster,
    /// another cluster, reached with a kubeconfig from a Secret.
    KubeConfig,
    /// another cluster, whose agent pulls; it needs no way in.
    Agent,
}

/// Names a kubeconfig in a Secret of the same namespace.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigRef {
    /// Name of the Secret, in the namespace of this object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
    /// Key of the Secret that holds the kubeconfig. Cluster API writes value, Gardener writes kubeconfig.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub key: String,
}

/// Names an account in the runtime.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAccountRef {
    /// Name of the ServiceAccount.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
    /// Its namespace in the runtime.
    #[schemars(length(min = 1, max = LABEL))]
    pub namespace: String,
}

impl Default for ServiceAccountRef {
    fn default() -> Self {
        Self { name: "reeve-applier".to_owned(), namespace: "reeve-system".to_owned() }
    }
}

fn default_key() -> String {
    "value".to_owned()
}
