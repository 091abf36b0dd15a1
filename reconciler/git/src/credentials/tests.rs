use k8s_openapi::ByteString;
use reeve_crds::Reason;

use super::{Credentials, CredentialsError, Data, Login, Proxy, webhook_token};

const HTTPS: &str = "https://git.acme/fleet.git";
const SSH: &str = "ssh://git@git.acme/fleet.git";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n";

fn data(pairs: &[(&str, &str)]) -> Data {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()))).collect()
}

fn refused(pairs: &[(&str, &str)], url: &str) -> String {
    Credentials::from_secret(&data(pairs), url).unwrap_err().to_string()
}

#[test]
fn a_secret_lets_in_by_password_token_or_key_and_a_last_line_break_does_not_count() {
    let read = |pairs: &[(&str, &str)], url| Credentials::from_secret(&data(pairs), url).unwrap();
    match read(&[("username", "ann\n"), ("password", "pass word\r\n")], HTTPS).login {
        Login::Password { username, password } => {
            assert_eq!((username.expose().as_str(), password.expose().as_str()), ("ann", "pass word"));
        }
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(read(&[("bearerToken", "t0k.en\n")], HTTPS).login, Login::Token(token) if token.expose() == "t0k.en")
    );
    let anonymous = read(&[("ca.crt", CERTIFICATE)], HTTPS);
    assert!(matches!(anonymous.login, Login::Anonymous) && anonymous.authority.as_deref() == Some(CERTIFICATE));
    let key = read(&[("identity", KEY), ("known_hosts", "git.acme ssh-ed25519 AAAA"), ("password", "x")], SSH);
    assert!(matches!(key.login, Login::Key { password: Some(_), .. }));
}

#[test]
fn what_is_missing_is_named() {
    assert!(refused(&[], HTTPS).starts_with("the Secret has no key `username`"));
    assert!(refused(&[("username", "ann")], HTTPS).starts_with("the Secret has no key `password`"));
    assert!(refused(&[("password", "x")], HTTPS).starts_with("the Secret has no key `username`"));
    assert!(refused(&[("password", "x"), ("username", " \n")], HTTPS).starts_with("the Secret has no key `username`"));
    assert!(refused(&[("known_hosts", "x")], SSH).starts_with("the Secret has no key `identity`"));
    assert!(refused(&[("identity", KEY)], SSH).starts_with("the Secret has no key `known_hosts`"));
    let error = Proxy::from_secret(&data(&[])).unwrap_err();
    assert_eq!((error.reason(), error.to_string().contains("`address`")), (Reason::InvalidCredentials, true));
}

#[test]
fn what_cannot_be_used_is_refused_and_never_shown() {
    let two_ways = [("username", "ann"), ("password", "x"), ("bearerToken", "hunter2")];
    assert!(refused(&two_ways, HTTPS).contains("remove one of both"));
    assert!(refused(&[("bearerToken", "hunter2\r\nX-Evil: 1")], HTTPS).contains("more than one line"));
    assert!(refused(&[("bearerToken", "hunter 2")], HTTPS).contains("no token has"));
    assert!(refused(&[("ca.crt", "hunter2")], HTTPS).contains("no certificate"));
    assert!(refused(&[("identity", "hunter2"), ("known_hosts", "x")], SSH).contains("no private key"));
    for pairs in [&two_ways[..], &[("bearerToken", "hunter2 x")]] {
        assert!(!refused(pairs, HTTPS).contains("hunter2"));
    }
    for (pairs, url) in [
        (&[("tls.crt", CERTIFICATE), ("tls.key", KEY)][..], HTTPS),
        (&[("identity", KEY), ("known_hosts", "git.acme ssh-ed25519 AAAA\n@revoked * ssh-rsa AAAA")], SSH),
    ] {
        let error = Credentials::from_secret(&data(pairs), url).unwrap_err();
        assert!(matches!(error, CredentialsError::Unsupported { .. }), "{error}");
        assert_eq!(error.reason(), Reason::Unsupported);
    }
}

#[test]
fn a_proxy_is_a_web_address_without_a_user_in_it() {
    let read = |address: &str| Proxy::from_secret(&data(&[("address", address)]));
    assert_eq!(read("http://proxy.acme:3128\n").unwrap().address, "http://proxy.acme:3128");
    assert!(matches!(read("socks5://proxy:1080").unwrap_err(), CredentialsError::Unsupported { .. }));
    for bad in ["proxy.acme:3128", "http://", "http://ann:hunter2@proxy:1"] {
        let error = read(bad).unwrap_err();
        assert!(matches!(error, CredentialsError::Malformed { .. }) && !error.to_string().contains("hunter2"), "{bad}");
    }
    let login = data(&[("address", "http://proxy:1"), ("username", "ann")]);
    assert!(Proxy::from_secret(&login).unwrap_err().to_string().contains("`password`"));
}

#[test]
fn a_webhook_needs_a_token() {
    assert_eq!(webhook_token(&data(&[("token", "x y\n")])).unwrap().expose(), "x y");
    for pairs in [&[][..], &[("token", "\n")]] {
        assert!(webhook_token(&data(pairs)).unwrap_err().to_string().starts_with("the Secret has no key `token`"));
    }
}
