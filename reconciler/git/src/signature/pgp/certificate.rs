//! What a PGP key is worth: which of its parts may sign, and when.
//!
//! A part counts if the key's owner vouches for it by a valid signature. As with `gpg`, the newest one counts.

use ::pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use ::pgp::crypto::hash::HashAlgorithm;
use ::pgp::crypto::public_key::PublicKeyAlgorithm;
use ::pgp::packet::{KeyFlags, PublicKey, PublicSubkey, RevocationCode, Signature, SignatureType, SubpacketData};
use ::pgp::ser::Serialize as _;
use ::pgp::types::{KeyDetails, KeyVersion, PublicParams, Tag, Timestamp};

use crate::signature::{Refused, Signer};

const FEWEST_RSA_BITS: u16 = 2048;

/// A key or a subkey of it that is trusted, and under which name of the Secret.
#[derive(Clone, Debug)]
pub(in crate::signature) struct PgpKey {
    entry: String,
    /// The fingerprint of the whole: it is what people call the key.
    name: String,
    part: Part,
    own: Standing,
    /// A subkey is worth no more than the key it belongs to.
    above: Option<Standing>,
}

#[derive(Clone, Debug)]
enum Part {
    Primary(PublicKey),
    Subkey(PublicSubkey),
}

/// From when to when a part is valid.
#[derive(Clone, Copy, Debug)]
struct Standing {
    signs: bool,
    created: u64,
    expires: Option<u64>,
    revoked: Option<Revoked>,
}

#[derive(Clone, Copy, Debug)]
enum Revoked {
    /// It may have been in the wrong hands at any time.
    Always,
    /// It went out of use.
    Since(u64),
}

/// The parts of a key that its owner vouches for.
pub(super) fn keys(entry: &str, certificate: &SignedPublicKey) -> Result<Vec<PgpKey>, String> {
    let primary = &certificate.primary_key;
    let name = format!("PGP {:X}", primary.fingerprint());
    if !matches!(primary.version(), KeyVersion::V4 | KeyVersion::V6) {
        return Err(format!("holds {name}, whose format is outdated: make a new key"));
    }
    let standing = of_primary(certificate)
        .ok_or_else(|| format!("holds {name}, which lacks a valid signature of its own: export it anew"))?;
    let mut keys = Vec::new();
    let mut push = |part: Part, own: Standing, above| {
        let bits = part.rsa_bits().unwrap_or(FEWEST_RSA_BITS);
        if bits < FEWEST_RSA_BITS {
            return Err(format!(
                "holds {name}, which is too short: {bits} bits, of which {FEWEST_RSA_BITS} are needed"
            ));
        }
        keys.push(PgpKey { entry: entry.to_owned(), name: name.clone(), part, own, above });
        Ok(())
    };
    push(Part::Primary(primary.clone()), standing, None)?;
    for subkey in &certificate.public_subkeys {
        if let Some(own) = of_subkey(primary, subkey) {
            push(Part::Subkey(subkey.key.clone()), own, Some(standing))?;
        }
    }
    Ok(keys)
}

impl PgpKey {
    pub(super) fn is_primary(&self) -> bool {
        matches!(self.part, Part::Primary(_))
    }

    pub(super) fn signer(&self) -> Signer {
        Signer { key: self.name.clone(), entry: self.entry.clone() }
    }

    /// Whether the signature says that this key made it.
    pub(super) fn is_named_by(&self, signature: &Signature) -> bool {
        let (fingerprint, id) = match &self.part {
            Part::Primary(key) => (key.fingerprint(), key.legacy_key_id()),
            Part::Subkey(key) => (key.fingerprint(), key.legacy_key_id()),
        };
        signature.issuer_fingerprint().contains(&&fingerprint) || signature.issuer_key_id().contains(&&id)
    }

    /// Whether this key made the signature over this, and might.
    pub(super) fn check(&self, signature: &Signature, payload: &[u8], made: Timestamp) -> Result<(), Refused> {
        let verified = match &self.part {
            Part::Primary(key) => signature.verify(key, payload),
            Part::Subkey(key) => signature.verify(key, payload),
        };
        let key = &self.name;
        if verified.is_err() {
            return Err(Refused::Bad(format!("it says that {key} made it, which is not so for this content")));
        }
        let not_valid = |why: String| Refused::KeyNotValid { key: key.clone(), why };
        if !self.own.signs {
            return Err(not_valid("is not for signing".to_owned()));
        }
        for standing in self.above.iter().chain([&self.own]) {
            standing.at(made.as_secs().into()).map_err(not_valid)?;
        }
        Ok(())
    }
}

impl Part {
    fn rsa_bits(&self) -> Option<u16> {
        let params = match self {
            Self::Primary(key) => key.public_params(),
            Self::Subkey(key) => key.public_params(),
        };
        let PublicParams::RSA(rsa) = params else { return None };
        // The modulus comes first, and before it how many bits it has.
        let written = rsa.to_bytes().ok()?;
        written.first_chunk().map(|bits| u16::from_be_bytes(*bits))
    }
}

impl Standing {
    /// Why it was not valid at this time, if it was not.
    fn at(&self, time: u64) -> Result<(), String> {
        match self.revoked {
            Some(Revoked::Always) => return Err("was revoked".to_owned()),
            Some(Revoked::Since(since)) if time >= since => return Err(format!("was revoked on {}", day(since))),
            Some(Revoked::Since(_)) | None => {}
        }
        if time < self.created {
            return Err(format!("was made later, on {}", day(self.created)));
        }
        match self.expires {
            Some(expires) if time >= expires => Err(format!("expired on {}", day(expires))),
            Some(_) | None => Ok(()),
        }
    }
}

fn of_primary(certificate: &SignedPublicKey) -> Option<Standing> {
    let (primary, details) = (&certificate.primary_key, &certificate.details);
    let of_users = details.users.iter().flat_map(|user| {
        let vouches = |signature: &&Signature| {
            is_certification(signature) && signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        };
        user.signatures.iter().filter(vouches)
    });
    let of_itself = details.direct_signatures.iter().filter(|signature| {
        signature.typ() == Some(SignatureType::Key) && is_sound(signature) && signature.verify_key(primary).is_ok()
    });
    // Both may say what the key is for and how long it lasts: what the stricter one says counts.
    let vouched: Vec<&Signature> = newest(of_users).into_iter().chain(newest(of_itself)).collect();
    let revoked = details.revocation_signatures.iter().filter(|signature| signature.verify_key(primary).is_ok());
    standing(primary, &vouched, revoked)
}

fn of_subkey(primary: &PublicKey, subkey: &SignedPublicSubKey) -> Option<Standing> {
    let valid = |kind: SignatureType| {
        subkey.signatures.iter().filter(move |signature| {
            signature.typ() == Some(kind) && signature.verify_subkey_binding(primary, &subkey.key).is_ok()
        })
    };
    let bound = newest(valid(SignatureType::SubkeyBinding).filter(|signature| is_sound(signature)))?;
    let mut standing = standing(&subkey.key, &[bound], valid(SignatureType::SubkeyRevocation))?;
    // It must agree to belong to the key, or anybody could claim the subkeys of others.
    let agrees = |back: &Signature| back.verify_primary_key_binding(&subkey.key, primary).is_ok();
    standing.signs &= flags(bound).is_some_and(|flags| flags.sign()) && bound.embedded_signature().is_some_and(agrees);
    Some(standing)
}

fn standing<'a>(
    key: &impl KeyDetails,
    vouched: &[&Signature],
    revoked: impl Iterator<Item = &'a Signature>,
) -> Option<Standing> {
    if vouched.is_empty() {
        return None;
    }
    let created = u64::from(key.created_at().as_secs());
    let lasts = vouched.iter().filter_map(|signature| signature.key_expiration_time());
    let lasts = lasts.map(|lasts| u64::from(lasts.as_secs())).filter(|lasts| *lasts > 0).min();
    let signs = vouched.iter().filter_map(|signature| flags(signature)).all(|flags| flags.sign());
    let revoked = revoked.map(revocation).reduce(|one, other| match (one, other) {
        (Revoked::Since(one), Revoked::Since(other)) => Revoked::Since(one.min(other)),
        _ => Revoked::Always,
    });
    Some(Standing { signs: signs && can_sign(key), created, expires: lasts.map(|lasts| created + lasts), revoked })
}

fn revocation(signature: &Signature) -> Revoked {
    let out_of_use =
        matches!(signature.revocation_reason_code(), Some(RevocationCode::KeySuperseded | RevocationCode::KeyRetired));
    match signature.created() {
        Some(since) if out_of_use => Revoked::Since(since.as_secs().into()),
        Some(_) | None => Revoked::Always,
    }
}

fn newest<'a>(signatures: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    signatures.max_by_key(|signature| signature.created())
}

/// What the key is for, if that is said.
fn flags(signature: &Signature) -> Option<KeyFlags> {
    signature.config()?.hashed_subpackets().find_map(|part| match &part.data {
        SubpacketData::KeyFlags(flags) => Some(flags.clone()),
        _ => None,
    })
}

fn is_certification(signature: &Signature) -> bool {
    let kind = signature.typ();
    let is_one = matches!(
        kind,
        Some(
            SignatureType::CertGeneric
                | SignatureType::CertPersona
                | SignatureType::CertCasual
                | SignatureType::CertPositive
        )
    );
    is_one && is_sound(signature)
}

/// SHA-1 will do for what owners say of their own keys: nobody else chooses what is signed there, and old keys have it.
fn is_sound(signature: &Signature) -> bool {
    !matches!(signature.hash_alg(), None | Some(HashAlgorithm::Md5 | HashAlgorithm::Ripemd160 | HashAlgorithm::None))
}

fn can_sign(key: &impl KeyDetails) -> bool {
    matches!(
        key.algorithm(),
        PublicKeyAlgorithm::RSA
            | PublicKeyAlgorithm::RSASign
            | PublicKeyAlgorithm::ECDSA
            | PublicKeyAlgorithm::EdDSALegacy
            | PublicKeyAlgorithm::Ed25519
            | PublicKeyAlgorithm::Ed448
    )
}

fn day(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "a day far away".to_owned(), |time| time.strftime("%Y-%m-%d").to_string())
}
