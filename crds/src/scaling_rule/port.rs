//! What clients and pods speak at one port, where that is not plain.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::OBJECT_NAME;

/// What one port of the Services speaks.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Port of the Services.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// TLS of clients that ends at the resolver. Without it TLS is passed on to the pods as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<PortTls>,
    /// TLS to the pods. Without it they are spoken to in plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_tls: Option<BackendTls>,
    /// Connections of clients begin with a header of the PROXY protocol, version 1 or 2, which says who the client is. One
    /// that begins otherwise is closed.
    #[serde(default)]
    pub accept_proxy_protocol: bool,
    /// Connections to pods begin with such a header, in version 1. Each request then has a connection of its own.
    #[serde(default)]
    pub send_proxy_protocol: bool,
}

/// TLS that ends at the resolver.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortTls {
    /// Secret of the type kubernetes.io/tls, in the namespace of this object, with the certificate. A changed one counts for
    /// connections that come later. The resolver must be allowed to read it.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub secret_name: String,
}

/// TLS to the pods.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendTls {
    /// Secret, in the namespace of this object, whose ca.crt has the authorities that sign the pods' certificates. The
    /// resolver must be allowed to read it.
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub ca_secret_name: String,
    /// Name that those certificates have. Empty means that of the Service, such as web.shop.svc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = OBJECT_NAME))]
    pub server_name: Option<String>,
}
