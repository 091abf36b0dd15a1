//! What a Secret says of how to get in: at a Git server, at the proxy before it, and at our own door for webhooks. Pure.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use reeve_crds::Reason;
use reeve_process::secret::Secret;

#[cfg(test)]
mod tests;

const USERNAME: &str = "username";
const PASSWORD: &str = "password";
const TOKEN: &str = "bearerToken";
const AUTHORITY: &str = "ca.crt";
const CLIENT_CERTIFICATE: &str = "tls.crt";
const CLIENT_KEY: &str = "tls.key";
const IDENTITY: &str = "identity";
const KNOWN_HOSTS: &str = "known_hosts";
const ADDRESS: &str = "address";
const WEBHOOK_TOKEN: &str = "token";

/// The data of a Secret.
type Data = BTreeMap<String, ByteString>;

/// How to get in at a Git server.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Who we are.
    pub login: Login,
    /// Certificates, in PEM, of authorities to trust besides those of the machine.
    pub authority: Option<String>,
}

/// Who we are.
#[derive(Clone, Debug, Default)]
pub enum Login {
    /// Nobody in particular.
    #[default]
    Anonymous,
    /// A user with a password.
    Password {
        /// The user.
        username: Secret<String>,
        /// The password.
        password: Secret<String>,
    },
    /// Whoever holds the token.
    Token(Secret<String>),
    /// The holder of an SSH key.
    Key {
        /// The private key.
        identity: Secret<String>,
        /// What the key is encrypted with.
        password: Option<Secret<String>>,
        /// The host keys to trust, as OpenSSH writes them.
        known_hosts: String,
    },
}

/// A proxy to go through.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Where it is, such as `http://proxy.acme:3128`.
    pub address: String,
    /// User and password, if it asks for them.
    pub login: Option<(Secret<String>, Secret<String>)>,
}

/// A Secret does not say how to get in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// A key is needed and not there.
    #[error("the Secret has no key `{key}`: {advice}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A value cannot be what it should.
    #[error("the key `{key}` of the Secret {what}")]
    Malformed {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is more than one way in.
    #[error("the Secret has `bearerToken` and also `username` or `password`: remove one of both")]
    Ambiguous,
    /// It is something that is not supported.
    #[error("the key `{key}` of the Secret cannot be used: {advice}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
}

impl CredentialsError {
    /// The reason of a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unsupported { .. } => Reason::Unsupported,
            Self::Missing { .. } | Self::Malformed { .. } | Self::Ambiguous => Reason::InvalidCredentials,
        }
    }
}

impl Credentials {
    /// What the Secret of a source says, for its URL.
    pub fn from_secret(data: &Data, url: &str) -> Result<Self, CredentialsError> {
        if url.starts_with("ssh://") {
            return Ok(Self { login: key(data)?, authority: None });
        }
        if url.starts_with("file://") {
            return Ok(Self::default());
        }
        for key in [CLIENT_CERTIFICATE, CLIENT_KEY] {
            if data.contains_key(key) {
                let advice = "client certificates are not supported, give username and password or bearerToken";
                return Err(CredentialsError::Unsupported { key, advice });
            }
        }
        let authority = find(data, AUTHORITY)?;
        if authority.as_ref().is_some_and(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")) {
            return Err(malformed(AUTHORITY, "holds no certificate in PEM"));
        }
        Ok(Self { login: web_login(data, authority.is_some())?, authority })
    }
}

impl Proxy {
    /// What the Secret of a source's proxy says.
    pub fn from_secret(data: &Data) -> Result<Self, CredentialsError> {
        let address = line(data, ADDRESS)?;
        let address = address.ok_or(missing(ADDRESS, "write where the proxy is, such as http://proxy.acme:3128"))?;
        let parsed: Option<http::Uri> = address.parse().ok();
        let authority = parsed.as_ref().and_then(http::Uri::authority);
        if parsed.as_ref().and_then(http::Uri::scheme_str).is_some_and(|scheme| scheme.starts_with("socks")) {
            let advice = "only proxies at http:// and https:// are supported";
            return Err(CredentialsError::Unsupported { key: ADDRESS, advice });
        }
        if !(address.starts_with("http://") || address.starts_with("https://")) || authority.is_none() {
            return Err(malformed(ADDRESS, "is no address such as http://proxy.acme:3128"));
        }
        if authority.is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(malformed(ADDRESS, "holds a user: put it under the keys `username` and `password`"));
        }
        let login = match (line(data, USERNAME)?, line(data, PASSWORD)?) {
            (Some(username), Some(password)) => Some((username.into(), password.into())),
            (None, None) => None,
            (Some(_), None) => return Err(missing(PASSWORD, "`username` needs one")),
            (None, Some(_)) => return Err(missing(USERNAME, "`password` needs one")),
        };
        Ok(Self { address, login })
    }
}

/// The token under the key `token` of a webhook's Secret.
pub fn webhook_token(data: &Data) -> Result<Secret<String>, CredentialsError> {
    let token = line(data, WEBHOOK_TOKEN)?.map(Secret::new);
    token.ok_or(missing(WEBHOOK_TOKEN, "write what the Git server signs its calls with, or sends with them"))
}

fn web_login(data: &Data, may_be_anonymous: bool) -> Result<Login, CredentialsError> {
    let (username, password, token) = (line(data, USERNAME)?, line(data, PASSWORD)?, line(data, TOKEN)?);
    match (username, password, token) {
        (None, None, Some(token)) => {
            // It becomes a header: one that could hold others would be a way to forge requests.
            if token.bytes().all(|byte| byte.is_ascii_graphic()) {
                Ok(Login::Token(token.into()))
            } else {
                Err(malformed(TOKEN, "has characters that no token has"))
            }
        }
        (Some(_) | None, Some(_), Some(_)) | (Some(_), None, Some(_)) => Err(CredentialsError::Ambiguous),
        (Some(username), Some(password), None) => {
            Ok(Login::Password { username: username.into(), password: password.into() })
        }
        (Some(_), None, None) => Err(missing(PASSWORD, "`username` needs one")),
        (None, Some(_), None) => Err(missing(USERNAME, "`password` needs one; most servers take any, such as git")),
        (None, None, None) if may_be_anonymous => Ok(Login::Anonymous),
        (None, None, None) => Err(missing(USERNAME, "give username and password, or bearerToken, or ca.crt")),
    }
}

fn key(data: &Data) -> Result<Login, CredentialsError> {
    let identity = find(data, IDENTITY)?.ok_or(missing(IDENTITY, "an ssh:// URL needs a private key"))?;
    if !identity.contains("-----BEGIN ") {
        return Err(malformed(IDENTITY, "is no private key as ssh-keygen makes one"));
    }
    let advice = "an ssh:// URL needs the server's host keys, as ssh-keyscan prints them";
    let known_hosts = find(data, KNOWN_HOSTS)?.ok_or(missing(KNOWN_HOSTS, advice))?;
    if known_hosts.lines().any(|line| line.trim_start().starts_with('@')) {
        let advice = "its lines with @cert-authority or @revoked are not supported, list the host keys themselves";
        return Err(CredentialsError::Unsupported { key: KNOWN_HOSTS, advice });
    }
    let password = line(data, PASSWORD)?.map(Secret::new);
    Ok(Login::Key { identity: identity.into(), password, known_hosts })
}

/// Text that may have many lines; an empty value is as good as none.
fn find(data: &Data, key: &'static str) -> Result<Option<String>, CredentialsError> {
    let Some(ByteString(bytes)) = data.get(key) else { return Ok(None) };
    let text = std::str::from_utf8(bytes).map_err(|_| malformed(key, "is not text"))?;
    if text.contains('\0') {
        return Err(malformed(key, "is not text"));
    }
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

/// Text of one line. The line break at its end, which editors and `echo` leave there, does not belong to it.
fn line(data: &Data, key: &'static str) -> Result<Option<String>, CredentialsError> {
    let Some(text) = find(data, key)? else { return Ok(None) };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.contains(['\r', '\n']) {
        return Err(malformed(key, "has more than one line"));
    }
    Ok(Some(text.to_owned()))
}

const fn missing(key: &'static str, advice: &'static str) -> CredentialsError {
    CredentialsError::Missing { key, advice }
}

const fn malformed(key: &'static str, what: &'static str) -> CredentialsError {
    CredentialsError::Malformed { key, what }
}
