//! Signatures of SSH keys, as `git` makes them with `gpg.format=ssh`. Pure.

use ssh_key::public::KeyData;
use ssh_key::{HashAlg, PublicKey, SshSig};

use super::{Refused, Signer};

/// What a signature of Git is made for: one that was made for something else says nothing about a commit.
const NAMESPACE: &str = "git";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// Letters of a line, as `ssh-keygen` breaks them.
const WIDTH: usize = 70;
const FEWEST_RSA_BITS: usize = 2048;
/// What the library checks.
const MOST_RSA_BITS: usize = 4096;

/// A key that is trusted, and under which name of the Secret.
#[derive(Clone, Debug)]
pub(super) struct SshKey {
    entry: String,
    key: PublicKey,
}

/// The keys of one entry: lines as `ssh-keygen` writes them into `.pub` files.
pub(super) fn read(entry: &str, text: &str) -> Result<Vec<SshKey>, String> {
    if text.contains("PRIVATE KEY-----") {
        return Err("holds a private key: write the public one, which ssh-keygen puts into the file .pub".to_owned());
    }
    let mut keys = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let unreadable = |error: ssh_key::Error| {
            format!("has no public key in line {number} such as `ssh-ed25519 AAAA...`: {error}")
        };
        let key = PublicKey::from_openssh(line).map_err(unreadable)?;
        usable(key.key_data()).map_err(|why| format!("has a key in line {number} that {why}"))?;
        keys.push(SshKey { entry: entry.to_owned(), key });
    }
    Ok(keys)
}

fn usable(key: &KeyData) -> Result<(), String> {
    match key {
        KeyData::Ed25519(_) | KeyData::Ecdsa(_) | KeyData::SkEd25519(_) | KeyData::SkEcdsaSha2NistP256(_) => Ok(()),
        KeyData::Rsa(rsa) => match rsa.n.as_positive_bytes().map_or(0, <[u8]>::len) * 8 {
            bits if bits < FEWEST_RSA_BITS => {
                Err(format!("is too short: RSA with {bits} bits, of which {FEWEST_RSA_BITS} are needed"))
            }
            bits if bits > MOST_RSA_BITS => {
                Err(format!("is too long: RSA with {bits} bits, of which {MOST_RSA_BITS} can be checked"))
            }
            _ => Ok(()),
        },
        other => Err(format!("is of a kind that cannot be used, {}", other.algorithm())),
    }
}

/// Who of those that are trusted has signed this.
pub(super) fn check(keys: &[SshKey], payload: &[u8], signature: &str) -> Result<Signer, Refused> {
    let signature = parse(signature)?;
    let name = format!("SSH {}", signature.public_key().fingerprint(HashAlg::Sha256));
    let Some(trusted) = keys.iter().find(|trusted| trusted.key.key_data() == signature.public_key()) else {
        return Err(Refused::UnknownKey(name));
    };
    if signature.namespace() != NAMESPACE {
        let purpose: String = signature.namespace().chars().filter(|c| !c.is_control()).take(32).collect();
        return Err(Refused::Bad(format!("it was made for `{purpose}`, not for `{NAMESPACE}`")));
    }
    match trusted.key.verify(NAMESPACE, payload, &signature) {
        Ok(()) => Ok(Signer { key: name, entry: trusted.entry.clone() }),
        Err(_) => Err(Refused::Bad(format!("it says that {name} made it, which is not so for this content"))),
    }
}

/// Reads a signature, however long its lines are: not all tools break them as `ssh-keygen` does.
fn parse(text: &str) -> Result<SshSig, Refused> {
    let unreadable = |why: &dyn std::fmt::Display| Refused::Bad(format!("it cannot be read: {why}"));
    let inner = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let inner = inner.ok_or_else(|| unreadable(&"it has no end"))?;
    let letters: Vec<char> = inner.chars().filter(|letter| !letter.is_whitespace()).collect();
    let body: String = letters.chunks(WIDTH).flat_map(|line| line.iter().copied().chain(['\n'])).collect();
    SshSig::from_pem(format!("{BEGIN}\n{body}{END}\n")).map_err(|error| unreadable(&error))
}
