//! Signatures of PGP keys, as `git` makes them by default. Pure.

use ::pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use ::pgp::crypto::hash::HashAlgorithm;
use ::pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersion, SubpacketData};
use jiff::Timestamp;

use super::{Refused, Signer};

mod certificate;

pub(super) use certificate::PgpKey;

const PUBLIC_KEY: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const PRIVATE_KEY: &str = "-----BEGIN PGP PRIVATE KEY BLOCK-----";

/// The keys of one entry: one block or several, as `gpg --export --armor` writes them.
pub(super) fn read(entry: &str, text: &str) -> Result<Vec<PgpKey>, String> {
    if text.contains(PRIVATE_KEY) {
        return Err("holds a private key: write the public one, as gpg --export --armor does".to_owned());
    }
    let starts: Vec<usize> = text.match_indices(PUBLIC_KEY).map(|(at, _)| at).collect();
    if starts.is_empty() {
        return Err("holds no public key as gpg --export --armor writes it".to_owned());
    }
    let unreadable = |error: ::pgp::errors::Error| format!("cannot be read as a PGP key: {error}");
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut keys = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        let (certificates, _) = SignedPublicKey::from_string_many(&text[start..end]).map_err(unreadable)?;
        let before = keys.len();
        for certificate in certificates {
            keys.extend(certificate::keys(entry, &certificate.map_err(unreadable)?)?);
        }
        if keys.len() == before {
            return Err("has a block without a key that is known here".to_owned());
        }
    }
    Ok(keys)
}

/// A key of which there are two copies, and the entry of the first of them.
pub(super) fn twice(keys: &[PgpKey]) -> Option<(String, String)> {
    let primaries = || keys.iter().filter(|key| key.is_primary()).map(PgpKey::signer);
    let second = |(at, key): (usize, Signer)| {
        let first = primaries().take(at).find(|first| first.key == key.key)?;
        Some((key.key, first.entry))
    };
    primaries().enumerate().find_map(second)
}

/// Who of those that are trusted has signed this.
pub(super) fn check(keys: &[PgpKey], payload: &[u8], text: &str, now: Timestamp) -> Result<Signer, Refused> {
    let signature = parse(text)?;
    let config = signature.config().ok_or(Refused::Unsupported)?;
    is_sound(config)?;
    let Some(made) = signature.created() else {
        return Err(Refused::Bad("it does not say when it was made".to_owned()));
    };
    let ends = signature.signature_expiration_time().map_or(0, |lasts| u64::from(lasts.as_secs()));
    if ends > 0 && i64::try_from(u64::from(made.as_secs()) + ends).is_ok_and(|end| end <= now.as_second()) {
        return Err(Refused::Bad("it has expired".to_owned()));
    }
    let mut refused = Refused::UnknownKey(issuer(&signature)?);
    for key in keys.iter().filter(|key| key.is_named_by(&signature)) {
        match key.check(&signature, payload, made) {
            Ok(()) => return Ok(key.signer()),
            // Another of the same id may do. That the key is not valid tells more than that it is not this one.
            Err(_) if matches!(refused, Refused::KeyNotValid { .. }) => {}
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

fn parse(text: &str) -> Result<Signature, Refused> {
    let unreadable = |error: ::pgp::errors::Error| Refused::Bad(format!("it cannot be read: {error}"));
    let (mut signatures, _) = DetachedSignature::from_string_many(text).map_err(unreadable)?;
    let first = signatures.next().ok_or_else(|| Refused::Bad("it is empty".to_owned()))?.map_err(unreadable)?;
    match signatures.next() {
        None => Ok(first.signature),
        Some(_) => Err(Refused::Bad("there are several".to_owned())),
    }
}

/// Whether this is how Git has things signed today, and all of it is understood.
fn is_sound(config: &SignatureConfig) -> Result<(), Refused> {
    match config.hash_alg {
        HashAlgorithm::Sha224
        | HashAlgorithm::Sha256
        | HashAlgorithm::Sha384
        | HashAlgorithm::Sha512
        | HashAlgorithm::Sha3_256
        | HashAlgorithm::Sha3_512 => {}
        weak => return Err(Refused::Weak(format!("it is made over a hash of the kind {weak}, use SHA256 or SHA512"))),
    }
    if !matches!(config.version(), SignatureVersion::V4 | SignatureVersion::V6) {
        return Err(Refused::Weak("its format is outdated".to_owned()));
    }
    if config.typ != SignatureType::Binary {
        return Err(Refused::Bad("it is no signature of a file".to_owned()));
    }
    let is_strange = |data: &SubpacketData| {
        matches!(data, SubpacketData::Other(..) | SubpacketData::Experimental(..) | SubpacketData::Notation(_))
    };
    if config.hashed_subpackets().any(|part| part.is_critical && is_strange(&part.data)) {
        return Err(Refused::Bad("it has a critical part that is not known here".to_owned()));
    }
    Ok(())
}

/// Who made a signature, by its own word.
fn issuer(signature: &Signature) -> Result<String, Refused> {
    if let Some(fingerprint) = signature.issuer_fingerprint().first() {
        return Ok(format!("PGP {fingerprint:X}"));
    }
    match signature.issuer_key_id().first() {
        Some(id) => Ok(format!("PGP {}", id.to_string().to_uppercase())),
        None => Err(Refused::Bad("it does not say who made it".to_owned())),
    }
}
