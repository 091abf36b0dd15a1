//! How one object names another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{LABEL, OBJECT_NAME};

/// Names a Secret in the same namespace.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret, in the namespace of this object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
}

/// Names an object of a kind that the field implies, in the same namespace.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalRef {
    /// Name of the object, in the namespace of this object.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
}

/// Names any object of a cluster.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// API group of the object; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = OBJECT_NAME))]
    pub group: String,
    /// Kind of the object, such as Deployment.
    #[schemars(length(max = LABEL))]
    pub kind: String,
    /// Namespace of the object; empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LABEL))]
    pub namespace: String,
    /// Name of the object.
    #[schemars(length(max = OBJECT_NAME))]
    pub name: String,
}

/// Names a workload in the same namespace.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// API version of the workload, such as apps/v1.
    #[serde(default = "apps_v1")]
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub api_version: String,
    /// Kind of the workload, such as Deployment, StatefulSet or Rollout.
    #[serde(default = "deployment")]
    #[schemars(length(min = 1, max = LABEL))]
    pub kind: String,
    /// Name of the workload.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub name: String,
}

fn apps_v1() -> String {
    "apps/v1".to_owned()
}

fn deployment() -> String {
    "Deployment".to_owned()
}
