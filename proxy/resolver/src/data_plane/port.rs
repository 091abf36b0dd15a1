//! What clients and pods speak at one port, where that is not plain. Pure.

use reeve_crds::ScalingRule;
use reeve_crds::scaling_rule::status::ResolverPort;

use super::secrets::{SecretKey, Secrets, Use};

/// As the rule says it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PortSettings {
    /// Where the certificate is by which TLS of clients ends here.
    pub(crate) tls: Option<SecretKey>,
    /// Where the authorities are that pods' certificates are signed by, and the name in these.
    pub(crate) pod_tls: Option<(SecretKey, String)>,
    /// Whether clients begin with a header of the PROXY protocol.
    pub(crate) accepts_header: bool,
    /// Whether pods get one.
    pub(crate) sends_header: bool,
}

impl PortSettings {
    pub(crate) fn of(rule: &ScalingRule, port: &ResolverPort) -> Self {
        let Some(found) = rule.spec.ports.iter().find(|found| found.port == port.port) else { return Self::default() };
        let namespace = rule.metadata.namespace.clone().unwrap_or_default();
        let secret = |name: &String| SecretKey { namespace: namespace.clone(), name: name.clone() };
        let own_name = || format!("{}.{namespace}.svc", port.service);
        Self {
            tls: found.tls.as_ref().map(|tls| secret(&tls.secret_name)),
            pod_tls: found
                .backend_tls
                .as_ref()
                .map(|tls| (secret(&tls.ca_secret_name), tls.server_name.clone().unwrap_or_else(own_name))),
            accepts_header: found.accept_proxy_protocol,
            sends_header: found.send_proxy_protocol,
        }
    }

    /// The Secrets without which nobody can be served.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (SecretKey, Use)> {
        let certificate = self.tls.iter().map(|key| (key.clone(), Use::Certificate));
        certificate.chain(self.pod_tls.iter().map(|(key, _)| (key.clone(), Use::Authorities)))
    }

    /// Why nobody can be served, if so.
    pub(crate) fn problem(&self, secrets: &Secrets) -> Option<String> {
        self.secrets().find_map(|(key, wanted)| secrets.problem(&key, wanted))
    }
}
