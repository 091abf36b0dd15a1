//! Whether a revision carries the signatures that are asked for, made with keys that are trusted. Pure.
//!
//! Only what was signed is believed: which commit a tag names, and what it is called, are read from the signed text.
//! Everything here comes from a repository that may be hostile: it is bounded, and nothing of it is believed before its
//! signature.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use reeve_crds::git_source::VerifyMode;

mod object;
mod pgp;
mod refused;
mod ssh;
#[cfg(test)]
mod tests;

pub(super) use object::tag_target;
pub use refused::{KeysError, Refused, SignatureError, is_signature_reason};

use pgp::PgpKey;
use refused::Subject;
use ssh::SshKey;

const PGP_ENTRY: &str = ".asc";
const SSH_ENTRY: &str = ".sshpub";
/// Bytes of one entry of a Secret.
const LARGEST_ENTRY: usize = 256 * 1024;
/// Keys of a Secret.
const MOST_KEYS: usize = 512;
/// Bytes of a signature; one of RSA with 16384 bits has a fifth of it.
const LARGEST_SIGNATURE: usize = 16 * 1024;

/// The keys that are trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedKeys {
    ssh: Vec<SshKey>,
    pgp: Vec<PgpKey>,
}

/// A revision as Git stores it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedObjects {
    /// The full id of the commit.
    pub id: String,
    /// The commit.
    pub commit: Vec<u8>,
    /// The name of the tag that was followed, if it was one.
    pub tag_name: Option<String>,
    /// The annotated tag with its id, and the tags that it names in turn, if it names no commit.
    pub tags: Vec<(String, Vec<u8>)>,
}

/// A key that signed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// Its kind and fingerprint.
    pub key: String,
    /// What the Secret calls it.
    pub entry: String,
}

/// Who signed a revision, as far as that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignedBy {
    /// The commit or the tag, as asked for, was signed by one.
    One(Signer),
    /// Each was signed by another.
    Both {
        /// Who signed the tag.
        tag: Signer,
        /// Who signed the commit.
        commit: Signer,
    },
}

impl std::fmt::Display for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.key, self.entry)
    }
}

impl std::fmt::Display for SignedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(signer) => signer.fmt(f),
            Self::Both { tag, commit } => write!(f, "{tag} and {commit}"),
        }
    }
}

impl TrustedKeys {
    /// The keys that a Secret holds. One that cannot be used makes all of it unusable: whoever put it there counts on it.
    pub fn from_secret(data: &BTreeMap<String, ByteString>) -> Result<Self, KeysError> {
        let mut keys = Self::default();
        for (entry, ByteString(bytes)) in data {
            let (is_pgp, is_ssh) = (entry.ends_with(PGP_ENTRY), entry.ends_with(SSH_ENTRY));
            if !is_pgp && !is_ssh {
                continue;
            }
            let invalid = |what: String| KeysError::Invalid { entry: entry.clone(), what };
            if bytes.len() > LARGEST_ENTRY {
                return Err(invalid(format!("is larger than {} KiB", LARGEST_ENTRY / 1024)));
            }
            let text = std::str::from_utf8(bytes).map_err(|_| invalid("is not text".to_owned()))?;
            let before = keys.len();
            if is_pgp {
                keys.pgp.extend(pgp::read(entry, text).map_err(invalid)?);
                if let Some((key, other)) = pgp::twice(&keys.pgp) {
                    let what = format!(
                        "holds {key}, as does {other}: keep the newest copy alone, or what one says of being revoked would not count for the other"
                    );
                    return Err(invalid(what));
                }
            } else {
                keys.ssh.extend(ssh::read(entry, text).map_err(invalid)?);
            }
            if keys.len() == before {
                return Err(invalid("holds no key".to_owned()));
            }
            if keys.len() > MOST_KEYS {
                return Err(invalid(format!("is one too many: a Secret may hold {MOST_KEYS} keys")));
            }
        }
        if keys.len() == 0 { Err(KeysError::None) } else { Ok(keys) }
    }

    fn len(&self) -> usize {
        self.ssh.len() + self.pgp.len()
    }

    /// Who signed a revision, if that is to be trusted.
    pub fn check(&self, mode: VerifyMode, objects: &SignedObjects, now: Timestamp) -> Result<SignedBy, SignatureError> {
        let tag = || {
            let subject = Subject::Tag(objects.tag_name.clone().unwrap_or_default());
            self.check_tag(objects, now).map_err(|refused| SignatureError { subject, refused })
        };
        let commit = || {
            let subject = Subject::Commit(objects.id.clone());
            self.check_commit(objects, now).map_err(|refused| SignatureError { subject, refused })
        };
        match mode {
            VerifyMode::Head => commit().map(SignedBy::One),
            VerifyMode::Tag => tag().map(SignedBy::One),
            VerifyMode::TagAndHead => {
                let (tag, commit) = (tag()?, commit()?);
                Ok(if tag == commit { SignedBy::One(tag) } else { SignedBy::Both { tag, commit } })
            }
        }
    }

    /// A merge is signed as any commit is, by whoever merged: what its parents carry does not count.
    fn check_commit(&self, objects: &SignedObjects, now: Timestamp) -> Result<Signer, Refused> {
        let parts = object::commit(&objects.commit).ok_or_else(|| Refused::Bad("there are several".to_owned()))?;
        self.check_signature(&parts, now)
    }

    /// The tag that was followed must be signed, and name the commit, be it by way of other tags.
    fn check_tag(&self, objects: &SignedObjects, now: Timestamp) -> Result<Signer, Refused> {
        let Some((_, raw)) = objects.tags.first() else { return Err(Refused::Lightweight) };
        let parts = object::tag(raw);
        let signer = self.check_signature(&parts, now)?;
        let unreadable = || Refused::WrongTag("cannot be read".to_owned());
        let facts = object::tag_facts(&parts.payload).ok_or_else(unreadable)?;
        // Or an old tag could be passed off as a new version.
        if Some(facts.name) != objects.tag_name.as_deref() {
            let name: String = facts.name.chars().filter(|c| !c.is_control()).take(64).collect();
            return Err(Refused::WrongTag(format!("was signed under another name, `{name}`")));
        }
        let mut target = facts.target;
        for (id, raw) in &objects.tags[1..] {
            if target != id {
                break;
            }
            target = object::tag_facts(raw).ok_or_else(unreadable)?.target;
        }
        if target == objects.id {
            Ok(signer)
        } else {
            Err(Refused::WrongTag(format!("does not name commit {}", objects.id)))
        }
    }

    fn check_signature(&self, parts: &object::Parts, now: Timestamp) -> Result<Signer, Refused> {
        let signature = parts.signature.as_ref().ok_or(Refused::Unsigned)?;
        if signature.len() > LARGEST_SIGNATURE {
            return Err(Refused::Bad(format!("it is larger than {} KiB", LARGEST_SIGNATURE / 1024)));
        }
        let text = std::str::from_utf8(signature).map_err(|_| Refused::Bad("it is not text".to_owned()))?;
        let text = text.trim();
        if text.starts_with("-----BEGIN SSH SIGNATURE-----") {
            ssh::check(&self.ssh, &parts.payload, text)
        } else if text.starts_with("-----BEGIN PGP SIGNATURE-----") {
            pgp::check(&self.pgp, &parts.payload, text, now)
        } else {
            Err(Refused::Unsupported)
        }
    }
}
