//! Certificates and authorities from Secrets: what the latest of each makes of connections that come from now on. A Secret
//! that goes, or that cannot be read any more, leaves what was known in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tracing::warn;

use super::pod_stream::{PodConfigs, PodTls};

/// Names a Secret.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct SecretKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What a Secret is wanted for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Use {
    /// `tls.crt` and `tls.key`, for clients.
    Certificate,
    /// `ca.crt`, for pods.
    Authorities,
}

/// Why a Secret is of no use.
#[derive(Debug, thiserror::Error)]
enum SecretError {
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("its {0} cannot be read")]
    Pem(&'static str, #[source] rustls::pki_types::pem::Error),
    #[error("its {0} is empty")]
    Empty(&'static str),
    #[error("its certificate and key cannot be used")]
    Tls(#[source] rustls::Error),
}

/// What is known of Secrets.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    known: Mutex<BTreeMap<(SecretKey, Use), Known>>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    certificate: Option<Arc<ServerConfig>>,
    authorities: Option<Arc<PodConfigs>>,
    problem: Option<String>,
}

impl Secrets {
    /// By which connections of clients are accepted.
    pub(crate) fn certificate(&self, key: &SecretKey) -> Option<Arc<ServerConfig>> {
        self.known.lock().get(&(key.clone(), Use::Certificate))?.certificate.clone()
    }

    /// By which pods of this name are trusted.
    pub(crate) fn pod_tls(&self, key: &SecretKey, name: &str) -> Option<PodTls> {
        let configs = self.known.lock().get(&(key.clone(), Use::Authorities))?.authorities.clone()?;
        let name = ServerName::try_from(name.to_owned()).ok()?;
        Some(PodTls { name, configs })
    }

    /// Why a Secret cannot be used, if so.
    pub(crate) fn problem(&self, key: &SecretKey, wanted: Use) -> Option<String> {
        let known = self.known.lock();
        let known = known.get(&(key.clone(), wanted));
        if known.is_some_and(|known| known.certificate.is_some() || known.authorities.is_some()) {
            return None;
        }
        let why = known.and_then(|known| known.problem.clone()).unwrap_or_else(|| "it was not read yet".to_owned());
        Some(format!("Secret {}: {why}", key.name))
    }

    /// From now on a Secret is this.
    pub(crate) fn set(&self, key: &SecretKey, wanted: Use, secret: Option<&Secret>) {
        let made = secret.ok_or_else(|| "it is not there".to_owned()).and_then(|secret| {
            let made = match wanted {
                Use::Certificate => {
                    certificate(secret).map(|made| Known { certificate: Some(made), ..Known::default() })
                }
                Use::Authorities => {
                    authorities(secret).map(|made| Known { authorities: Some(made), ..Known::default() })
                }
            };
            made.map_err(|error| reeve_process::error_chain(&error))
        });
        let mut all = self.known.lock();
        let known = all.entry((key.clone(), wanted)).or_default();
        match made {
            Ok(made) => *known = made,
            Err(problem) => {
                warn!(secret = %key.name, namespace = %key.namespace, problem, "cannot use a Secret");
                known.problem = Some(problem);
            }
        }
    }

    pub(crate) fn fail(&self, key: &SecretKey, wanted: Use, problem: String) {
        self.known.lock().entry((key.clone(), wanted)).or_default().problem = Some(problem);
    }

    pub(crate) fn forget(&self, key: &SecretKey, wanted: Use) {
        self.known.lock().remove(&(key.clone(), wanted));
    }
}

/// The one that is linked; others may be installed for the whole process.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn field<'a>(secret: &'a Secret, name: &'static str) -> Result<&'a [u8], SecretError> {
    let data = secret.data.as_ref().and_then(|data| data.get(name));
    data.map(|value| value.0.as_slice()).ok_or(SecretError::Missing(name))
}

fn certificates(secret: &Secret, name: &'static str) -> Result<Vec<CertificateDer<'static>>, SecretError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(field(secret, name)?).collect();
    let read = read.map_err(|cause| SecretError::Pem(name, cause))?;
    if read.is_empty() { Err(SecretError::Empty(name)) } else { Ok(read) }
}

fn certificate(secret: &Secret) -> Result<Arc<ServerConfig>, SecretError> {
    let chain = certificates(secret, "tls.crt")?;
    let key = PrivateKeyDer::from_pem_slice(field(secret, "tls.key")?);
    let key = key.map_err(|cause| SecretError::Pem("tls.key", cause))?;
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = builder.and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(SecretError::Tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn authorities(secret: &Secret) -> Result<Arc<PodConfigs>, SecretError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(secret, "ca.crt")? {
        roots.add(authority).map_err(SecretError::Tls)?;
    }
    let roots = Arc::new(roots);
    let config = |protocols: &[&[u8]]| {
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let builder = builder.map_err(SecretError::Tls)?.with_root_certificates(Arc::clone(&roots));
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    };
    Ok(Arc::new(PodConfigs { http1: config(&[b"http/1.1"])?, http2: config(&[b"h2"])?, bytes: config(&[])? }))
}
