//! Why a revision is not trusted, or the keys cannot be: in a word for programmes, and in a sentence for people.
use reeve_crds::Reason;

/// The Secret with the trusted keys cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// It has none.
    #[error(
        "has no trusted key: put SSH keys under names that end in .sshpub, and PGP keys under names that end in .asc"
    )]
    None,
    /// One of them is no key.
    #[error("cannot be used: the key `{entry}` {what}")]
    Invalid {
        /// What the Secret calls it.
        entry: String,
        /// What is wrong with it.
        what: String,
    },
}

impl KeysError {
    /// The reason of a condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::None => Reason::NoTrustedKeys,
            Self::Invalid { .. } => Reason::InvalidTrustedKey,
        }
    }
}

/// What is wrong with a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is none.
    Unsigned,
    /// There can be none, since the tag has no object of its own.
    Lightweight,
    /// A key made it that is not trusted: its kind and fingerprint.
    UnknownKey(String),
    /// It is not a signature of this content.
    Bad(String),
    /// It can be forged.
    Weak(String),
    /// The key is trusted, but may not sign, or not at that time.
    KeyNotValid {
        /// Its kind and fingerprint.
        key: String,
        /// Why.
        why: String,
    },
    /// It is of a kind that is not known here.
    Unsupported,
    /// The tag is signed, and is not what it is served as.
    WrongTag(String),
}

/// What is not signed as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Commit(String),
    Tag(String),
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit(id) => write!(f, "commit {id}"),
            Self::Tag(name) => write!(f, "tag {name}"),
        }
    }
}

impl Subject {
    fn how_to_sign(&self) -> &'static str {
        match self {
            Self::Commit(_) => "sign it, as git commit -S does, and push it",
            Self::Tag(_) => "make it with git tag -s, and push it",
        }
    }
}

/// A commit or a tag is not signed as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureError {
    pub(super) subject: Subject,
    pub(super) refused: Refused,
}

impl std::error::Error for SignatureError {}

impl std::fmt::Display for SignatureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (subject, sign) = (&self.subject, self.subject.how_to_sign());
        match &self.refused {
            Refused::Unsigned => write!(f, "{subject} is not signed: {sign}"),
            Refused::Lightweight => write!(f, "{subject} is lightweight and cannot be signed: {sign}"),
            Refused::UnknownKey(key) => write!(
                f,
                "{subject} is signed by {key}, which is not trusted: if it should be, put its public key into the Secret of spec.verify"
            ),
            Refused::Bad(why) => {
                write!(f, "the signature of {subject} is bad: {why}; find out how that came about, then {sign}")
            }
            Refused::Weak(why) => write!(f, "the signature of {subject} is too weak: {why}; {sign}"),
            Refused::KeyNotValid { key, why } => {
                write!(
                    f,
                    "{subject} is signed by {key}, which {why}: sign with another key, or renew this one in the Secret of spec.verify"
                )
            }
            Refused::Unsupported => {
                write!(f, "the signature of {subject} is neither one of SSH nor one of PGP: {sign}")
            }
            Refused::WrongTag(what) => write!(f, "{subject} {what}: find out how that came about, then {sign}"),
        }
    }
}

/// Whether a revision with this reason was refused for its signature.
pub fn is_signature_reason(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unsigned
            | Reason::UnknownKey
            | Reason::BadSignature
            | Reason::WeakSignature
            | Reason::KeyNotValid
            | Reason::UnsupportedSignature
            | Reason::WrongTag
    )
}

impl SignatureError {
    /// What is wrong.
    pub fn refused(&self) -> &Refused {
        &self.refused
    }

    /// The reason of a condition.
    pub fn reason(&self) -> Reason {
        match &self.refused {
            Refused::Unsigned | Refused::Lightweight => Reason::Unsigned,
            Refused::UnknownKey(_) => Reason::UnknownKey,
            Refused::Bad(_) => Reason::BadSignature,
            Refused::Weak(_) => Reason::WeakSignature,
            Refused::KeyNotValid { .. } => Reason::KeyNotValid,
            Refused::Unsupported => Reason::UnsupportedSignature,
            Refused::WrongTag(_) => Reason::WrongTag,
        }
    }
}
