//! What a kubeconfig of a Secret may say: data only. Whoever may write a Secret shall not have Reeve read files, run
//! programs, be somebody else or believe any server. Pure.

use kube::Config;
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};

#[cfg(test)]
mod tests;

/// Why it may not be somebody else.
const NOBODY_ELSE: &str =
    "Reeve acts as the runtime's `target.serviceAccount`; give it an account that may impersonate that";
/// The longest that is read.
const LONGEST: usize = 256 * 1024;

/// A kubeconfig that is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum KubeconfigError {
    /// It is longer than any that is meant.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// It is no kubeconfig.
    #[error("it is none: {0}")]
    Malformed(String),
    /// It lacks what says where to go.
    #[error("{0}")]
    Incomplete(String),
    /// It says something that a Secret may not say.
    #[error("it has `{field}`: {advice}")]
    Refused {
        /// The field.
        field: &'static str,
        /// What to write instead.
        advice: &'static str,
    },
}

/// Where a kubeconfig leads, by its current context.
pub(super) async fn read(bytes: &[u8]) -> Result<Config, KubeconfigError> {
    if bytes.len() > LONGEST {
        return Err(KubeconfigError::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| KubeconfigError::Malformed("it is not UTF-8".to_owned()))?;
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| malformed(&error))?;
    let (cluster, user) = in_use(&kubeconfig)?;
    judge_cluster(cluster)?;
    judge_user(user)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(|error| malformed(&error))
}

fn malformed(error: &kube::config::KubeconfigError) -> KubeconfigError {
    // The parser shows the lines around a mistake, which may be those of a key.
    let said = error.to_string();
    KubeconfigError::Malformed(said.lines().next().unwrap_or_default().to_owned())
}

/// The cluster and the user of the current context.
fn in_use(kubeconfig: &Kubeconfig) -> Result<(&Cluster, &AuthInfo), KubeconfigError> {
    let incomplete = |what: String| KubeconfigError::Incomplete(what);
    let name = kubeconfig.current_context.as_deref().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| incomplete("it names no `current-context`".to_owned()))?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == name);
    let context = context.and_then(|context| context.context.as_ref());
    let context = context.ok_or_else(|| incomplete(format!("it has no context `{name}`, its `current-context`")))?;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|cluster| cluster.cluster.as_ref());
    let cluster =
        cluster.ok_or_else(|| incomplete(format!("it has no cluster `{}`, that of its context", context.cluster)))?;
    let user = context.user.as_deref().unwrap_or_default();
    let found = kubeconfig.auth_infos.iter().find(|found| found.name == user);
    let found = found.and_then(|found| found.auth_info.as_ref());
    Ok((cluster, found.ok_or_else(|| incomplete(format!("it has no user `{user}`, that of its context")))?))
}

fn judge_cluster(cluster: &Cluster) -> Result<(), KubeconfigError> {
    let server = cluster.server.as_deref().unwrap_or_default();
    let address = server.parse::<http::Uri>().ok().filter(|address| address.host().is_some());
    if address.is_none_or(|address| address.scheme_str() != Some("https")) {
        let what = "the `server` of its cluster is no address such as https://10.0.0.1:6443";
        return Err(KubeconfigError::Incomplete(what.to_owned()));
    }
    let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let refused = [
        (
            cluster.insecure_skip_tls_verify == Some(true),
            "insecure-skip-tls-verify",
            "put the server's authority into `certificate-authority-data`",
        ),
        (
            given(&cluster.certificate_authority),
            "certificate-authority",
            "put the file's content, in Base64, into `certificate-authority-data`",
        ),
        (given(&cluster.proxy_url), "proxy-url", "clusters behind a proxy are not supported"),
    ];
    first_of(&refused)
}

fn judge_user(user: &AuthInfo) -> Result<(), KubeconfigError> {
    let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let is_somebody_else = given(&user.impersonate)
        || given(&user.impersonate_uid)
        || user.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty())
        || user.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty());
    let refused = [
        (given(&user.token_file), "tokenFile", "put the token into `token`"),
        (
            given(&user.client_certificate),
            "client-certificate",
            "put the file's content, in Base64, into `client-certificate-data`",
        ),
        (given(&user.client_key), "client-key", "put the file's content, in Base64, into `client-key-data`"),
        (user.exec.is_some(), "exec", "no program is run; give it a `token` or a certificate"),
        (user.auth_provider.is_some(), "auth-provider", "no program is run; give it a `token` or a certificate"),
        (is_somebody_else, "as", NOBODY_ELSE),
    ];
    first_of(&refused)
}

fn first_of(refused: &[(bool, &'static str, &'static str)]) -> Result<(), KubeconfigError> {
    match refused.iter().find(|(is_there, ..)| *is_there) {
        Some((_, field, advice)) => Err(KubeconfigError::Refused { field, advice }),
        None => Ok(()),
    }
}
