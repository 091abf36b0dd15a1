use std::borrow::Cow;

use super::scrub;

#[test]
fn credentials_of_a_url_are_replaced() {
    let cases = [
        ("https://user:token@host/a.git", "https://[redacted]@host/a.git"),
        ("HTTPS://ghp_abc@github.com/a/b", "HTTPS://[redacted]@github.com/a/b"),
        ("https://user:p@ss@host:8443/a", "https://[redacted]@host:8443/a"),
        ("https://user:pa/s?s@host/a", "https://[redacted]@host/a"),
        ("https://user:@host", "https://[redacted]@host"),
        ("ssh://git:pw@host/a", "ssh://[redacted]@host/a"),
        ("https://u:t@[::1]:8443/a", "https://[redacted]@[::1]:8443/a"),
        ("https://h/a?access_token=abc&ref=main", "https://h/a?access_token=[redacted]&ref=main"),
        ("https://h/a?X-Amz-Signature=abc", "https://h/a?X-Amz-Signature=[redacted]"),
    ];
    for (given, wanted) in cases {
        assert_eq!(scrub(given), wanted);
    }
}

#[test]
fn every_url_and_token_within_a_text_is_replaced() {
    let line = r#"{"a":"https://u:t1@h/x","b":"cannot read 'https://t2@h/y', Authorization: Bearer eyJ.t3-x=="}"#;
    let wanted = r#"{"a":"https://[redacted]@h/x","b":"cannot read 'https://[redacted]@h/y', Authorization: Bearer [redacted]"}"#;
    assert_eq!(scrub(line), wanted);
    assert_eq!(scrub("authorization: Basic dXNlcjpwdw== sent"), "authorization: Basic [redacted] sent");
    assert_eq!(scrub("\u{1b}[2mhttps://u:t@h\u{1b}[0m é"), "\u{1b}[2mhttps://[redacted]@h\u{1b}[0m é");
}

#[test]
fn text_without_credentials_stays_as_it_is() {
    let texts = [
        "",
        "nothing here",
        "git@github.com:org/repo.git",
        "ssh://git@host:2222/a.git",
        "https://host:6443/api/v1/pods?fieldSelector=a%3Db&continue=eyJ",
        "https://registry.example/@scope/name",
        "https://[2001:db8::1]/x",
        "é://",
    ];
    for text in texts {
        assert_eq!(scrub(text), text);
    }
    assert!(matches!(scrub("plain"), Cow::Borrowed(_)));
}
