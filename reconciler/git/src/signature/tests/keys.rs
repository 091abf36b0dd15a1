//! Which keys a Secret may hold, and when they count.

use super::*;

fn invalid(entry: &str, text: &str) -> String {
    let error = TrustedKeys::from_secret(&secret(&[(entry, text)])).unwrap_err();
    assert_eq!(error.reason(), Reason::InvalidTrustedKey);
    let message = error.to_string();
    assert!(message.contains(&format!("the key `{entry}` ")), "{message}");
    message
}

#[test]
fn a_secret_without_keys_says_which_names_they_have() {
    for entries in [&[][..], &[("ann.pub", fixture!("ed25519.sshpub")), ("username", "ann")]] {
        let error = TrustedKeys::from_secret(&secret(entries)).unwrap_err();
        assert_eq!((error.clone(), error.reason()), (KeysError::None, Reason::NoTrustedKeys));
        assert!(error.to_string().contains(".sshpub") && error.to_string().contains(".asc"), "{error}");
    }
}

#[test]
fn a_key_that_cannot_be_read_is_named_with_what_is_wrong() {
    let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n";
    assert!(invalid("a.sshpub", private).contains("holds a private key"));
    let private = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nb3Blbg==\n-----END PGP PRIVATE KEY BLOCK-----\n";
    assert!(invalid("a.asc", private).contains("holds a private key"));
    assert!(invalid("a.sshpub", "ssh-ed25519 AAAA ann\n").contains("line 1"));
    assert!(invalid("a.sshpub", &format!("\n{}ann\n", fixture!("ed25519.sshpub"))).contains("line 3"));
    assert!(invalid("a.sshpub", "# nobody\n").contains("holds no key"));
    assert!(invalid("a.asc", fixture!("ed25519.sshpub")).contains("holds no public key"));
    let cut = &fixture!("rsa.asc")[..300];
    assert!(invalid("a.asc", cut).len() > 40);
    assert!(invalid("a.asc", &"x".repeat(300 * 1024)).contains("larger than 256 KiB"));
    let many = fixture!("ed25519.sshpub").repeat(513);
    assert!(invalid("a.sshpub", &many).contains("may hold 512 keys"));
}

#[test]
fn a_short_key_of_rsa_is_refused() {
    assert!(invalid("a.sshpub", fixture!("short.sshpub")).contains("1024 bits"));
    assert!(invalid("a.asc", fixture!("short.asc")).contains("1024 bits"));
}

#[test]
fn a_key_of_rsa_that_is_too_long_to_be_checked_is_refused_before_it_signs_anything() {
    assert!(invalid("a.sshpub", fixture!("long.sshpub")).contains("5120 bits"));
}

#[test]
fn a_pgp_key_that_is_there_twice_is_refused_since_one_copy_may_be_revoked() {
    let twice = TrustedKeys::from_secret(&secret(&[("a.asc", fixture!("rsa.asc")), ("b.asc", fixture!("rsa.asc"))]));
    let message = twice.unwrap_err().to_string();
    assert!(message.contains("the key `b.asc` ") && message.contains("as does a.asc"), "{message}");
    let in_one = format!("{}\n{}", fixture!("ecdsa.asc"), fixture!("ecdsa.asc"));
    assert!(invalid("a.asc", &in_one).contains("as does a.asc"));
}

#[test]
fn a_key_counts_until_it_expires() {
    let keys = trusted(&[("a.asc", fixture!("expired.asc"))]);
    check(&keys, commit(PAYLOAD, fixture!("before-expiry.pgp.sig"))).unwrap();
    let (reason, message) = refused(&keys, commit(PAYLOAD, fixture!("after-expiry.pgp.sig")));
    assert_eq!(reason, "KeyNotValid");
    assert!(message.contains("expired on 2025-12-16"), "{message}");
}

#[test]
fn a_key_that_is_revoked_as_out_of_use_counts_until_then_and_a_stolen_one_never() {
    let retired = trusted(&[("a.asc", fixture!("retired.asc"))]);
    check(&retired, commit(PAYLOAD, fixture!("retired-before.pgp.sig"))).unwrap();
    let (reason, message) = refused(&retired, commit(PAYLOAD, fixture!("retired-after.pgp.sig")));
    assert_eq!(reason, "KeyNotValid");
    assert!(message.contains("was revoked on 2025-12-20"), "{message}");
    let stolen = trusted(&[("a.asc", fixture!("compromised.asc"))]);
    for signature in [fixture!("compromised-before.pgp.sig"), fixture!("compromised-after.pgp.sig")] {
        let (reason, message) = refused(&stolen, commit(PAYLOAD, signature));
        assert_eq!(reason, "KeyNotValid");
        assert!(message.contains("was revoked:"), "{message}");
    }
}

/// Parts of two keys put together, as armoured text.
fn assembled(change: impl FnOnce(&mut ::pgp::composed::SignedPublicKey)) -> String {
    use ::pgp::composed::{ArmorOptions, Deserializable as _, SignedPublicKey};
    let (mut key, _) = SignedPublicKey::from_string(fixture!("subkey.asc")).unwrap();
    change(&mut key);
    key.to_armored_string(ArmorOptions::default()).unwrap()
}

#[test]
fn a_subkey_that_its_key_does_not_vouch_for_is_unknown() {
    use ::pgp::composed::{Deserializable as _, SignedPublicKey};
    let (other, _) = SignedPublicKey::from_string(fixture!("rsa.asc")).unwrap();
    let claimed = assembled(|key| {
        key.primary_key = other.primary_key;
        key.details = other.details;
    });
    let (reason, _) = refused(&trusted(&[("a.asc", &claimed)]), commit(PAYLOAD, fixture!("subkey.pgp.sig")));
    assert_eq!(reason, "UnknownKey");
}

#[test]
fn a_key_without_a_signature_of_its_own_is_refused() {
    let bare = assembled(|key| key.details.users.clear());
    assert!(invalid("a.asc", &bare).contains("lacks a valid signature of its own"));
}

#[test]
fn a_subkey_that_does_not_agree_to_belong_to_its_key_may_not_sign() {
    use ::pgp::packet::SubpacketData;
    let claimed = assembled(|key| {
        for signature in key.public_subkeys.iter_mut().flat_map(|subkey| &mut subkey.signatures) {
            let parts: Vec<_> =
                signature.config().unwrap().unhashed_subpackets().map(|part| part.data.clone()).collect();
            let is_agreement = |part: &SubpacketData| matches!(part, SubpacketData::EmbeddedSignature(_));
            if let Some(at) = parts.iter().position(is_agreement) {
                signature.unhashed_subpacket_remove(at).unwrap();
            }
        }
    });
    let (reason, message) = refused(&trusted(&[("a.asc", &claimed)]), commit(PAYLOAD, fixture!("subkey.pgp.sig")));
    assert_eq!(reason, "KeyNotValid");
    assert!(message.contains("is not for signing"), "{message}");
}
