//! The flags of each server, from where it stands.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Place, service_address};
use crate::pki::Authority;
use crate::supervisor::Supervisor;

/// Every request once, when it is answered, without bodies: enough to count by user, verb and object.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
  "omitStages": ["RequestReceived", "ResponseStarted"], "omitManagedFields": true,
  "rules": [{"level": "Metadata"}]}"#;

/// More than any test fills.
pub(super) const ETCD_QUOTA: u64 = 4 << 30;

pub(super) fn etcd(data: &Path, place: &Place, quota: u64) -> Vec<String> {
    let (address, ports) = (place.address, place.ports);
    let peer = format!("http://{address}:{}", ports.etcd_peer);
    let client = format!("http://{address}:{}", ports.etcd);
    vec![
        format!("--data-dir={}", data.display()),
        "--name=default".into(),
        format!("--initial-cluster=default={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--listen-peer-urls={peer}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        // A test's data need not survive a power cut.
        "--unsafe-no-fsync".into(),
        format!("--quota-backend-bytes={quota}"),
        "--log-level=warn".into(),
    ]
}

/// Makes the API server's certificates and files, and the flags that name them.
pub(super) fn apiserver(supervisor: &Supervisor, authority: &Authority, place: &Place) -> Result<Vec<String>> {
    let addresses = [IpAddr::from([127, 0, 0, 1]), place.address.into(), service_address()];
    authority.server("apiserver", &addresses)?;
    authority.client("apiserver-kubelet", "kube-apiserver-kubelet-client", Some("system:masters"))?;
    authority.client("front-proxy", "front-proxy-client", None)?;
    authority.key("service-accounts")?;
    let policy = supervisor.data().join("audit-policy.json");
    fs::write(&policy, AUDIT_POLICY).with_context(|| format!("cannot write {}", policy.display()))?;
    Ok(apiserver_again(supervisor, place))
}

/// The flags of an API server whose files exist already.
pub(super) fn apiserver_again(supervisor: &Supervisor, place: &Place) -> Vec<String> {
    let data = supervisor.data();
    let pki = |file: &str| data.join("pki").join(file).display().to_string();
    let Place { address, ports, .. } = place;
    [
        ("etcd-servers", format!("http://{address}:{}", ports.etcd)),
        ("bind-address", address.to_string()),
        ("advertise-address", address.to_string()),
        ("secure-port", ports.apiserver.to_string()),
        ("tls-cert-file", pki("apiserver.crt")),
        ("tls-private-key-file", pki("apiserver.key")),
        ("client-ca-file", pki("ca.crt")),
        ("kubelet-client-certificate", pki("apiserver-kubelet.crt")),
        ("kubelet-client-key", pki("apiserver-kubelet.key")),
        // Else exec and logs look the node's name up in a DNS that does not exist.
        ("kubelet-preferred-address-types", "InternalIP".into()),
        ("requestheader-client-ca-file", pki("ca.crt")),
        ("requestheader-allowed-names", "front-proxy-client".into()),
        ("requestheader-username-headers", "X-Remote-User".into()),
        ("requestheader-group-headers", "X-Remote-Group".into()),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-".into()),
        ("proxy-client-cert-file", pki("front-proxy.crt")),
        ("proxy-client-key-file", pki("front-proxy.key")),
        ("service-account-key-file", pki("service-accounts.pub")),
        ("service-account-signing-key-file", pki("service-accounts.key")),
        ("service-account-issuer", "https://kubernetes.default.svc".into()),
        ("service-cluster-ip-range", "10.96.0.0/16".into()),
        ("authorization-mode", "Node,RBAC".into()),
        ("enable-admission-plugins", "NodeRestriction".into()),
        ("allow-privileged", "true".into()),
        ("audit-policy-file", data.join("audit-policy.json").display().to_string()),
        ("audit-log-path", data.join("audit.log").display().to_string()),
        // A test counts requests right after it made them.
        ("audit-log-mode", "blocking".into()),
    ]
    .map(|(flag, value)| format!("--{flag}={value}"))
    .into()
}

pub(super) fn controller_manager(supervisor: &Supervisor, place: &Place) -> Vec<String> {
    let data = supervisor.data();
    let pki = |file: &str| data.join("pki").join(file).display().to_string();
    [
        ("kubeconfig", data.join("controller-manager.kubeconfig").display().to_string()),
        ("leader-elect", "false".into()),
        ("bind-address", place.address.to_string()),
        ("secure-port", place.ports.controller_manager.to_string()),
        ("use-service-account-credentials", "true".into()),
        ("service-account-private-key-file", pki("service-accounts.key")),
        ("root-ca-file", pki("ca.crt")),
        ("cluster-signing-cert-file", pki("ca.crt")),
        ("cluster-signing-key-file", pki("ca.key")),
        // A test should not wait out defaults that were chosen for thousands of nodes.
        ("horizontal-pod-autoscaler-sync-period", "5s".into()),
        // Nor should a thousand Deployments wait for a controller that asks 20 times a second.
        ("kube-api-qps", "1000".into()),
        ("kube-api-burst", "2000".into()),
    ]
    .map(|(flag, value)| format!("--{flag}={value}"))
    .into()
}

pub(super) fn scheduler(supervisor: &Supervisor, place: &Place) -> Vec<String> {
    let kubeconfig = supervisor.data().join("scheduler.kubeconfig").display().to_string();
    [
        ("kubeconfig", kubeconfig),
        ("leader-elect", "false".into()),
        ("bind-address", place.address.to_string()),
        ("secure-port", place.ports.scheduler.to_string()),
    ]
    .map(|(flag, value)| format!("--{flag}={value}"))
    .into()
}
