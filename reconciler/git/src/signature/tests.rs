//! The keys and signatures are those of real `ssh-keygen` and `gpg`, in `tests/fixtures`; those of `gpg` are made as on days of
//! December 2025 and on the first of January 2026. What is signed is always `payload`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use proptest::prelude::*;
use reeve_crds::Reason;
use reeve_crds::git_source::VerifyMode;

use super::{KeysError, Refused, SignatureError, SignedBy, SignedObjects, TrustedKeys, is_signature_reason, object};

mod keys;
mod tags;

const ID: &str = "4f1c2aa90b3d4f1c2aa90b3d4f1c2aa90b3d4f1c";

/// A file of `tests/fixtures`.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/signature/tests/fixtures/", $name))
    };
}
use fixture;

const PAYLOAD: &str = fixture!("payload");

fn secret(entries: &[(&str, &str)]) -> BTreeMap<String, ByteString> {
    entries.iter().map(|(name, text)| ((*name).to_owned(), ByteString(text.as_bytes().to_vec()))).collect()
}

fn trusted(entries: &[(&str, &str)]) -> TrustedKeys {
    TrustedKeys::from_secret(&secret(entries)).unwrap()
}

fn now() -> Timestamp {
    "2026-02-01T00:00:00Z".parse().unwrap()
}

/// A commit as Git stores it.
fn commit(payload: &str, signature: &str) -> Vec<u8> {
    let (headers, message) = payload.split_once("\n\n").unwrap();
    let signature = signature.trim_end().replace('\n', "\n ");
    format!("{headers}\ngpgsig {signature}\n\n{message}").into_bytes()
}

fn check(keys: &TrustedKeys, commit: Vec<u8>) -> Result<SignedBy, SignatureError> {
    let objects = SignedObjects { id: ID.to_owned(), commit, ..SignedObjects::default() };
    keys.check(VerifyMode::Head, &objects, now())
}

fn refused(keys: &TrustedKeys, commit: Vec<u8>) -> (&'static str, String) {
    let error = check(keys, commit).unwrap_err();
    assert!(is_signature_reason(error.reason()), "{}", error.reason());
    (error.reason().as_str(), error.to_string())
}

#[test]
fn a_commit_that_a_trusted_key_signed_names_it() {
    let cases = [
        ("a.sshpub", fixture!("ed25519.sshpub"), fixture!("ed25519.ssh.sig"), "SSH SHA256:"),
        ("a.sshpub", fixture!("ed25519.sshpub"), fixture!("sha256.ssh.sig"), "SSH SHA256:"),
        ("a.sshpub", fixture!("ecdsa256.sshpub"), fixture!("ecdsa256.ssh.sig"), "SSH SHA256:"),
        ("a.sshpub", fixture!("ecdsa384.sshpub"), fixture!("ecdsa384.ssh.sig"), "SSH SHA256:"),
        ("a.sshpub", fixture!("ecdsa521.sshpub"), fixture!("ecdsa521.ssh.sig"), "SSH SHA256:"),
        ("a.sshpub", fixture!("rsa.sshpub"), fixture!("rsa.ssh.sig"), "SSH SHA256:"),
        ("a.asc", fixture!("rsa.asc"), fixture!("rsa.pgp.sig"), "PGP "),
        ("a.asc", fixture!("ecdsa.asc"), fixture!("ecdsa.pgp.sig"), "PGP "),
        ("a.asc", fixture!("subkey.asc"), fixture!("subkey.pgp.sig"), "PGP "),
    ];
    for (entry, key, signature, name) in cases {
        let signed_by = check(&trusted(&[(entry, key)]), commit(PAYLOAD, signature));
        let signed_by = signed_by.unwrap_or_else(|error| panic!("{key}: {error}")).to_string();
        assert!(signed_by.starts_with(name) && signed_by.ends_with(&format!(" ({entry})")), "{signed_by}");
        assert!(signed_by.len() > 40, "{signed_by}");
    }
}

#[test]
fn the_fingerprint_is_the_one_that_ssh_keygen_and_gpg_print() {
    let signed_by =
        |entry, key, signature| check(&trusted(&[(entry, key)]), commit(PAYLOAD, signature)).unwrap().to_string();
    let ssh = signed_by("ann.sshpub", fixture!("ed25519.sshpub"), fixture!("ed25519.ssh.sig"));
    assert_eq!(ssh, "SSH SHA256:paVtTnmI8mJ0ZpCcIy/DDawtK+L8n9pk33/rjkLZCDA (ann.sshpub)");
    // Of the whole key, though a subkey signed.
    let pgp = signed_by("ann.asc", fixture!("subkey.asc"), fixture!("subkey.pgp.sig"));
    assert_eq!(pgp, "PGP 21B0475DA5B768A974E1FA700AA171E741CF348A (ann.asc)");
}

#[test]
fn one_of_many_keys_will_do() {
    let both = format!("# of the team\n\n{}{}", fixture!("rsa.sshpub"), fixture!("ed25519.sshpub"));
    // Two blocks one after the other, as `cat` makes them.
    let blocks = format!("{}{}", fixture!("ecdsa.asc"), fixture!("rsa.asc"));
    let keys = trusted(&[("team.sshpub", &both), ("team.asc", &blocks), ("notes.txt", "not looked at")]);
    for signature in
        [fixture!("ed25519.ssh.sig"), fixture!("rsa.ssh.sig"), fixture!("rsa.pgp.sig"), fixture!("ecdsa.pgp.sig")]
    {
        check(&keys, commit(PAYLOAD, signature)).unwrap();
    }
}

#[test]
fn a_commit_without_a_signature_is_unsigned() {
    let keys = trusted(&[("a.sshpub", fixture!("ed25519.sshpub"))]);
    let (reason, message) = refused(&keys, PAYLOAD.into());
    assert_eq!(reason, "Unsigned");
    assert_eq!(message, format!("commit {ID} is not signed: sign it, as git commit -S does, and push it"));
}

#[test]
fn a_key_that_is_not_trusted_is_named() {
    let ssh = trusted(&[("a.sshpub", fixture!("rsa.sshpub"))]);
    let (reason, message) = refused(&ssh, commit(PAYLOAD, fixture!("ed25519.ssh.sig")));
    assert_eq!(reason, "UnknownKey");
    assert!(
        message.contains("is signed by SSH SHA256:paVtTnmI8mJ0ZpCcIy/DDawtK+L8n9pk33/rjkLZCDA, which is not trusted"),
        "{message}"
    );
    let pgp = trusted(&[("a.asc", fixture!("rsa.asc"))]);
    let (reason, message) = refused(&pgp, commit(PAYLOAD, fixture!("subkey.pgp.sig")));
    assert_eq!(reason, "UnknownKey");
    assert!(
        message.contains("is signed by PGP 5E47975C8B722E8574198472D986F0EEA004FA19, which is not trusted"),
        "{message}"
    );
}

#[test]
fn a_commit_that_was_changed_after_it_was_signed_is_refused() {
    let keys = trusted(&[("a.sshpub", fixture!("ed25519.sshpub")), ("a.asc", fixture!("rsa.asc"))]);
    let changed = PAYLOAD.replace("4b825dc6", "4b825dc7");
    for signature in [fixture!("ed25519.ssh.sig"), fixture!("rsa.pgp.sig")] {
        let (reason, message) = refused(&keys, commit(&changed, signature));
        assert_eq!(reason, "BadSignature");
        assert!(message.contains("which is not so for this content"), "{message}");
    }
}

#[test]
fn a_signature_that_was_made_for_something_else_is_refused() {
    let keys = trusted(&[("a.sshpub", fixture!("ed25519.sshpub"))]);
    let (reason, message) = refused(&keys, commit(PAYLOAD, fixture!("namespace.ssh.sig")));
    assert_eq!(reason, "BadSignature");
    assert!(message.contains("it was made for `file`, not for `git`"), "{message}");
}

#[test]
fn a_signature_over_sha_1_is_refused() {
    let keys = trusted(&[("a.asc", fixture!("rsa.asc"))]);
    let (reason, message) = refused(&keys, commit(PAYLOAD, fixture!("sha1.pgp.sig")));
    assert_eq!(reason, "WeakSignature");
    assert!(message.contains("SHA1"), "{message}");
}

#[test]
fn a_signature_of_another_kind_is_refused() {
    let keys = trusted(&[("a.asc", fixture!("rsa.asc"))]);
    for text in ["-----BEGIN SIGNED MESSAGE-----\nMII=\n-----END SIGNED MESSAGE-----\n", "trust me\n"] {
        assert_eq!(refused(&keys, commit(PAYLOAD, text)).0, "UnsupportedSignature");
    }
}

#[test]
fn a_signature_that_is_too_large_or_not_alone_is_refused() {
    let keys = trusted(&[("a.sshpub", fixture!("ed25519.sshpub"))]);
    let signature = fixture!("ed25519.ssh.sig");
    let large = signature.replace("\n-----END", &format!("{}\n-----END", "\n".repeat(20_000)));
    assert_eq!(refused(&keys, commit(PAYLOAD, &large)).0, "BadSignature");
    let twice = String::from_utf8(commit(PAYLOAD, signature)).unwrap();
    assert_eq!(refused(&keys, commit(&twice, signature)).0, "BadSignature");
}

#[test]
fn lines_of_a_signature_may_be_as_long_as_they_like() {
    let keys = trusted(&[("a.sshpub", fixture!("ed25519.sshpub"))]);
    let lines: Vec<&str> = fixture!("ed25519.ssh.sig").lines().collect();
    let body = lines[1..lines.len() - 1].concat();
    for width in [64, 76, 1000] {
        let broken: Vec<String> =
            body.as_bytes().chunks(width).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect();
        let signature = [lines[0], &broken.join("\n"), lines[lines.len() - 1]].join("\n");
        check(&keys, commit(PAYLOAD, &signature)).unwrap();
    }
}

/// The signature of a merged tag is part of what a merge signs, and that for the other format of Git is not.
#[test]
fn only_the_signature_of_the_commit_itself_is_taken_out_of_it() {
    let raw = b"tree 1\nmergetag object 2\n -----BEGIN PGP SIGNATURE-----\n x\ngpgsig a\n b\n \n c\ngpgsig-sha256 d\n e\nencoding x\n\ngpgsig f\n g\n";
    let parts = object::commit(raw).unwrap();
    let payload = "tree 1\nmergetag object 2\n -----BEGIN PGP SIGNATURE-----\n x\nencoding x\n\ngpgsig f\n g\n";
    assert_eq!(String::from_utf8(parts.payload).unwrap(), payload);
    assert_eq!(parts.signature.unwrap(), b"a\nb\n\nc\n");
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let known =
        [fixture!("ed25519.ssh.sig"), fixture!("rsa.ssh.sig"), fixture!("rsa.pgp.sig"), fixture!("subkey.pgp.sig"), ""];
    let changed = (prop::sample::select(known.to_vec()), prop::collection::vec((any::<usize>(), any::<u8>()), 0..8));
    let signature = changed.prop_map(|(signature, changes)| {
        let mut bytes = signature.as_bytes().to_vec();
        for (at, byte) in changes {
            let length = bytes.len();
            if let Some(there) = bytes.get_mut(at % length.max(1)) {
                *there = byte;
            }
        }
        bytes
    });
    (signature, prop::collection::vec(any::<u8>(), 0..64)).prop_map(|(signature, rest)| {
        let mut raw = b"tree 4b825dc6\ngpgsig ".to_vec();
        for byte in signature {
            raw.push(byte);
            if byte == b'\n' {
                raw.push(b' ');
            }
        }
        raw.extend_from_slice(b"\n\n");
        raw.extend(rest);
        raw
    })
}

/// Read once: to read keys is to check what their owners say of them.
static MANY: LazyLock<TrustedKeys> = LazyLock::new(|| {
    trusted(&[
        ("a.sshpub", &format!("{}{}", fixture!("ed25519.sshpub"), fixture!("rsa.sshpub"))),
        ("a.asc", &format!("{}{}", fixture!("rsa.asc"), fixture!("subkey.asc"))),
    ])
});

proptest! {
    #[test]
    fn whatever_a_repository_holds_is_refused_and_nothing_breaks(raw in hostile()) {
        let objects = SignedObjects {
            id: ID.to_owned(),
            commit: raw.clone(),
            tag_name: Some("v1".to_owned()),
            tags: vec![(ID.to_owned(), raw)],
        };
        for mode in [VerifyMode::Head, VerifyMode::Tag] {
            prop_assert!(MANY.check(mode, &objects, now()).is_err());
        }
    }
}
