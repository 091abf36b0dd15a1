//! One certificate authority per control plane, and all that it signs.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};

/// A name for a Git server that pods may look up.
pub const GIT_HOST: &str = "git.example.com";

pub(crate) struct Authority {
    folder: PathBuf,
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, in files.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    /// A new authority that keeps its files in `folder`.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let key = KeyPair::generate().context("cannot make a key")?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "reeve-tests");
        let certificate = params.self_signed(&key).context("cannot sign the authority")?.pem();
        write(&folder.join("ca.crt"), &certificate)?;
        write(&folder.join("ca.key"), &key.serialize_pem())?;
        Ok(Self { folder: folder.to_owned(), certificate, issuer: Issuer::new(params, key) })
    }

    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server that answers to these addresses, to `localhost`, the API's Service names and
    /// [`GIT_HOST`].
    pub(crate) fn server(&self, name: &str, addresses: &[IpAddr]) -> Result<Pair> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = addresses.iter().map(|address| SanType::IpAddress(*address)).collect();
        for host in ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", GIT_HOST] {
            params.subject_alt_names.push(SanType::DnsName(host.try_into().context("bad host name")?));
        }
        self.issue(name, &params)
    }

    /// A certificate that makes its holder the Kubernetes user `user`, in `group`.
    pub(crate) fn client(&self, file: &str, user: &str, group: Option<&str>) -> Result<Pair> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.issue(file, &params)
    }

    /// A bare key and, as `<name>.pub`, its public half, for service-account tokens.
    pub(crate) fn key(&self, name: &str) -> Result<()> {
        let key = KeyPair::generate().context("cannot make a key")?;
        write(&self.pair(name).key, &key.serialize_pem())?;
        write(&self.folder.join(format!("{name}.pub")), &key.public_key_pem())
    }

    fn issue(&self, file: &str, params: &CertificateParams) -> Result<Pair> {
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = params.signed_by(&key, &self.issuer).with_context(|| format!("cannot sign {file}"))?;
        let pair = self.pair(file);
        write(&pair.certificate, &certificate.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }

    fn pair(&self, name: &str) -> Pair {
        Pair { certificate: self.folder.join(format!("{name}.crt")), key: self.folder.join(format!("{name}.key")) }
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
