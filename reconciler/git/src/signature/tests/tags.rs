//! Signed tags.

use super::*;

const TAG: &str = "3333333333333333333333333333333333333333";
const INNER: &str = "4444444444444444444444444444444444444444";

/// Signs with a key that is made on the spot, as `git tag -s` does with one of SSH.
struct Tagger(ssh_key::PrivateKey);

impl Tagger {
    fn new() -> Self {
        let pair = ssh_key::private::Ed25519Keypair::from_seed(&[7; 32]);
        Self(ssh_key::PrivateKey::from(pair))
    }

    fn keys(&self) -> TrustedKeys {
        trusted(&[("tagger.sshpub", &self.0.public_key().to_openssh().unwrap())])
    }

    fn sign(&self, text: &str) -> String {
        let signature = self.0.sign("git", ssh_key::HashAlg::Sha512, text.as_bytes()).unwrap();
        signature.to_pem(ssh_key::LineEnding::LF).unwrap()
    }

    fn tag(&self, name: &str, target: &str) -> Vec<u8> {
        let text = text(name, target);
        format!("{text}{}\n", self.sign(&text)).into_bytes()
    }
}

fn text(name: &str, target: &str) -> String {
    format!(
        "object {target}\ntype commit\ntag {name}\ntagger Reeve Tests <tests@reeve.invalid> 1767225600 +0000\n\nRelease\n"
    )
}

fn objects(tags: Vec<(&str, Vec<u8>)>) -> SignedObjects {
    SignedObjects {
        id: ID.to_owned(),
        commit: PAYLOAD.into(),
        tag_name: Some("v1.4.2".to_owned()),
        tags: tags.into_iter().map(|(id, raw)| (id.to_owned(), raw)).collect(),
    }
}

fn reason(keys: &TrustedKeys, mode: VerifyMode, objects: &SignedObjects) -> (&'static str, String) {
    let error = keys.check(mode, objects, now()).unwrap_err();
    (error.reason().as_str(), error.to_string())
}

#[test]
fn a_tag_counts_by_its_own_signature_and_the_commit_need_not_have_one() {
    let tagger = Tagger::new();
    let objects = objects(vec![(TAG, tagger.tag("v1.4.2", ID))]);
    let signed_by = tagger.keys().check(VerifyMode::Tag, &objects, now()).unwrap().to_string();
    assert!(signed_by.starts_with("SSH SHA256:") && signed_by.ends_with(" (tagger.sshpub)"), "{signed_by}");
    for mode in [VerifyMode::Head, VerifyMode::TagAndHead] {
        let (reason, message) = reason(&tagger.keys(), mode, &objects);
        assert_eq!(reason, "Unsigned");
        assert!(message.starts_with(&format!("commit {ID}")), "{message}");
    }
}

#[test]
fn tag_and_head_asks_for_both_and_names_both() {
    let tagger = Tagger::new();
    let both = format!("{}\n{}", tagger.0.public_key().to_openssh().unwrap(), fixture!("ed25519.sshpub"));
    let keys = trusted(&[("team.sshpub", &both)]);
    let signed = commit(PAYLOAD, fixture!("ed25519.ssh.sig"));
    let objects = SignedObjects { commit: signed, ..objects(vec![(TAG, tagger.tag("v1.4.2", ID))]) };
    let signed_by = keys.check(VerifyMode::TagAndHead, &objects, now()).unwrap();
    assert!(matches!(signed_by, SignedBy::Both { .. }), "{signed_by}");
    let own = SignedObjects { commit: commit(PAYLOAD, &tagger.sign(PAYLOAD)), ..objects.clone() };
    let signed_by = keys.check(VerifyMode::TagAndHead, &own, now()).unwrap();
    assert!(matches!(signed_by, SignedBy::One(_)), "{signed_by}");
    let (reason, message) = reason(&tagger.keys(), VerifyMode::TagAndHead, &objects);
    assert_eq!(reason, "UnknownKey", "{message}");
}

#[test]
fn a_lightweight_tag_and_an_unsigned_one_are_refused() {
    let keys = Tagger::new().keys();
    let (word, message) = reason(&keys, VerifyMode::Tag, &objects(vec![]));
    assert_eq!(word, "Unsigned");
    assert_eq!(message, "tag v1.4.2 is lightweight and cannot be signed: make it with git tag -s, and push it");
    let (word, message) = reason(&keys, VerifyMode::Tag, &objects(vec![(TAG, text("v1.4.2", ID).into_bytes())]));
    assert_eq!(word, "Unsigned");
    assert_eq!(message, "tag v1.4.2 is not signed: make it with git tag -s, and push it");
}

#[test]
fn a_tag_that_was_signed_under_another_name_or_for_another_commit_is_refused() {
    let tagger = Tagger::new();
    for (tag, words) in
        [(tagger.tag("v1.4.1", ID), "another name, `v1.4.1`"), (tagger.tag("v1.4.2", INNER), "does not name")]
    {
        let (reason, message) = reason(&tagger.keys(), VerifyMode::Tag, &objects(vec![(TAG, tag)]));
        assert_eq!(reason, "WrongTag");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_tag_of_a_tag_leads_to_the_commit_or_is_refused() {
    let tagger = Tagger::new();
    let outer = || (TAG, tagger.tag("v1.4.2", INNER));
    let led = objects(vec![outer(), (INNER, text("rc", ID).into_bytes())]);
    tagger.keys().check(VerifyMode::Tag, &led, now()).unwrap();
    let other = "5555555555555555555555555555555555555555";
    for inner in [(INNER, text("rc", other).into_bytes()), (other, text("rc", ID).into_bytes())] {
        assert_eq!(reason(&tagger.keys(), VerifyMode::Tag, &objects(vec![outer(), inner])).0, "WrongTag");
    }
    // The signature of an inner one does not stand in for that of the outer one.
    let unsigned = objects(vec![(TAG, text("v1.4.2", INNER).into_bytes()), (INNER, tagger.tag("rc", ID))]);
    assert_eq!(reason(&tagger.keys(), VerifyMode::Tag, &unsigned).0, "Unsigned");
}

#[test]
fn what_a_message_quotes_is_no_signature_and_the_last_one_counts() {
    let tagger = Tagger::new();
    let quoted = format!("{}{}", text("v1.4.2", ID), tagger.sign("something else"));
    let tag = format!("{quoted}\n{}", tagger.sign(&format!("{quoted}\n")));
    tagger.keys().check(VerifyMode::Tag, &objects(vec![(TAG, tag.into_bytes())]), now()).unwrap();
    assert_eq!(reason(&tagger.keys(), VerifyMode::Tag, &objects(vec![(TAG, quoted.into_bytes())])).0, "BadSignature");
}

#[test]
fn every_refusal_has_a_reason_that_is_known_as_one() {
    let all = [
        Refused::Unsigned,
        Refused::Lightweight,
        Refused::UnknownKey(String::new()),
        Refused::Bad(String::new()),
        Refused::Weak(String::new()),
        Refused::KeyNotValid { key: String::new(), why: String::new() },
        Refused::Unsupported,
        Refused::WrongTag(String::new()),
    ];
    for refused in all {
        let subject = crate::signature::Subject::Commit(ID.to_owned());
        assert!(is_signature_reason(SignatureError { subject, refused }.reason()));
    }
    assert!(!is_signature_reason(Reason::Invalid));
}
