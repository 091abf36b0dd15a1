use http::{HeaderMap, HeaderName, HeaderValue};
use reeve_crds::git_source::WebhookType;
use reeve_process::secret::Secret;

use super::{Refused, hook_id, verify};

/// The example of GitHub's documentation on validating deliveries.
const TOKEN: &str = "It's a Secret to Everybody";
const BODY: &[u8] = b"Hello, World!";
const SIGNATURE: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn check(kind: WebhookType, pairs: &[(&'static str, &str)], body: &[u8]) -> Result<(), Refused> {
    verify(kind, &Secret::new(TOKEN.to_owned()), &headers(pairs), body)
}

#[test]
fn a_genuine_call_of_every_kind_is_let_in() {
    let prefixed = format!("sha256={SIGNATURE}");
    let upper = SIGNATURE.to_uppercase();
    let cases = [
        (WebhookType::GitHub, "x-hub-signature-256", prefixed.as_str()),
        (WebhookType::Gitea, "x-gitea-signature", SIGNATURE),
        (WebhookType::Gitea, "x-gitea-signature", &upper),
        (WebhookType::Generic, "x-signature", SIGNATURE),
        (WebhookType::Generic, "x-signature", &prefixed),
        (WebhookType::GitLab, "x-gitlab-token", TOKEN),
    ];
    for (kind, name, value) in cases {
        assert_eq!(check(kind, &[(name, value)], BODY), Ok(()), "{kind:?}");
    }
}

#[test]
fn a_call_that_was_changed_or_signed_with_another_token_is_refused() {
    let prefixed = format!("sha256={SIGNATURE}");
    let other = "0".repeat(64);
    assert_eq!(
        check(WebhookType::GitHub, &[("x-hub-signature-256", &prefixed)], b"Hello, World?"),
        Err(Refused::Wrong)
    );
    assert_eq!(check(WebhookType::Gitea, &[("x-gitea-signature", &other)], BODY), Err(Refused::Wrong));
    assert_eq!(check(WebhookType::Gitea, &[("x-gitea-signature", &SIGNATURE[..62])], BODY), Err(Refused::Wrong));
    for token in ["It's a Secret to Everybod", "It's a Secret to Everybody!", "x", ""] {
        assert_eq!(check(WebhookType::GitLab, &[("x-gitlab-token", token)], BODY), Err(Refused::Wrong), "{token}");
    }
    let foreign = Secret::new("another".to_owned());
    let signed = headers(&[("x-signature", SIGNATURE)]);
    assert_eq!(verify(WebhookType::Generic, &foreign, &signed, BODY), Err(Refused::Wrong));
}

#[test]
fn a_call_without_one_well_formed_signature_is_refused() {
    let unsigned = |kind, pairs: &[(&'static str, &str)]| {
        assert!(matches!(check(kind, pairs, BODY), Err(Refused::Unsigned(_))), "{kind:?} {pairs:?}");
    };
    let prefixed = format!("sha256={SIGNATURE}");
    unsigned(WebhookType::GitHub, &[]);
    unsigned(WebhookType::GitHub, &[("x-hub-signature-256", SIGNATURE)]);
    unsigned(WebhookType::GitHub, &[("x-hub-signature", &prefixed)]);
    unsigned(WebhookType::GitHub, &[("x-signature", &prefixed)]);
    unsigned(WebhookType::GitHub, &[("x-hub-signature-256", &prefixed), ("x-hub-signature-256", &prefixed)]);
    unsigned(WebhookType::Gitea, &[("x-gitea-signature", "not hex")]);
    unsigned(WebhookType::Gitea, &[("x-gitea-signature", "abc")]);
    unsigned(WebhookType::GitLab, &[("x-gitea-signature", SIGNATURE)]);
    unsigned(WebhookType::Generic, &[("x-signature", "sha1=00")]);
}

#[test]
fn an_empty_token_lets_nobody_in() {
    let empty = Secret::new(String::new());
    let cases = [(WebhookType::GitLab, "x-gitlab-token", ""), (WebhookType::Gitea, "x-gitea-signature", SIGNATURE)];
    for (kind, name, value) in cases {
        assert_eq!(verify(kind, &empty, &headers(&[(name, value)]), BODY), Err(Refused::NoToken));
    }
}

#[test]
fn the_id_of_a_hook_tells_nothing_and_differs_by_each_of_its_parts() {
    let id = |namespace, name, token: &str| hook_id(namespace, name, &Secret::new(token.to_owned()));
    let first = id("team", "fleet", "x");
    assert!(first.len() == 32 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    assert_eq!(first, id("team", "fleet", "x"));
    for other in
        [id("team2", "fleet", "x"), id("team", "fleet2", "x"), id("team", "fleet", "y"), id("tea", "mfleet", "x")]
    {
        assert_ne!(first, other);
    }
}
