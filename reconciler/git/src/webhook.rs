//! Whether a webhook call is genuine: signed, or sent with the token, by someone who knows it. Pure.
//!
//! Comparisons take the same time whatever was sent.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use reeve_crds::git_source::WebhookType;
use reeve_process::secret::Secret;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// Hex digits of a hook's id.
const ID_DIGITS: usize = 32;
const GITHUB: &str = "x-hub-signature-256";
const GITLAB: &str = "x-gitlab-token";
const GITEA: &str = "x-gitea-signature";
const GENERIC: &str = "x-signature";
/// What GitHub writes before the digits.
const ALGORITHM: &str = "sha256=";

/// A call is not genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nobody can know an empty token, so everybody does.
    #[error("the token is empty")]
    NoToken,
    /// The header is missing, there several times, or not of its form.
    #[error("the header {0} is missing or malformed")]
    Unsigned(&'static str),
    /// It was signed with another token, or changed on its way.
    #[error("the signature is wrong")]
    Wrong,
}

/// Whether a call with these headers and this body is from someone who knows the token.
pub fn verify(kind: WebhookType, token: &Secret<String>, headers: &HeaderMap, body: &[u8]) -> Result<(), Refused> {
    let token = token.expose().as_bytes();
    if token.is_empty() {
        return Err(Refused::NoToken);
    }
    match kind {
        WebhookType::GitHub => signed(token, GITHUB, prefixed(only(headers, GITHUB)?), body),
        WebhookType::Gitea => signed(token, GITEA, Some(only(headers, GITEA)?), body),
        WebhookType::Generic => {
            let value = only(headers, GENERIC)?;
            signed(token, GENERIC, prefixed(value).or(Some(value)), body)
        }
        WebhookType::GitLab => same(token, only(headers, GITLAB)?.as_bytes()),
    }
}

/// The path segment under which a source is told of pushes: nobody guesses it, and it changes with the token.
pub fn hook_id(namespace: &str, name: &str, token: &Secret<String>) -> String {
    let digest = Sha256::digest(format!("{namespace}/{name}/{}", token.expose()).as_bytes());
    let mut id = HEXLOWER.encode(&digest);
    id.truncate(ID_DIGITS);
    id
}

/// The value of a header that is there once: of two, someone in between might have looked at the other.
fn only<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a str, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_| Refused::Unsigned(name)),
        _ => Err(Refused::Unsigned(name)),
    }
}

fn prefixed(value: &str) -> Option<&str> {
    value.strip_prefix(ALGORITHM)
}

fn signed(token: &[u8], header: &'static str, digits: Option<&str>, body: &[u8]) -> Result<(), Refused> {
    let signature = digits.and_then(bytes).ok_or(Refused::Unsigned(header))?;
    mac(token)?.chain_update(body).verify_slice(&signature).map_err(|_| Refused::Wrong)
}

/// Compares digests of both, so that the time tells nothing of lengths either.
fn same(token: &[u8], given: &[u8]) -> Result<(), Refused> {
    let wanted = mac(token)?.chain_update(token).finalize().into_bytes();
    mac(token)?.chain_update(given).verify_slice(&wanted).map_err(|_| Refused::Wrong)
}

fn mac(token: &[u8]) -> Result<Hmac<Sha256>, Refused> {
    Hmac::new_from_slice(token).map_err(|_| Refused::NoToken)
}

/// Hex digits, in either case.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
