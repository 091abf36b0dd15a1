//! A commit or a tag as Git stores it, taken apart: what was signed, and the signature. Pure.
//!
//! As Git itself does it: the signature of a commit is a header, that of a tag stands behind its message, and what was
//! signed is all the rest.

/// Headers that hold a signature. The second is there in repositories that are kept in both formats of Git.
const HEADERS: [&[u8]; 2] = [b"gpgsig ", b"gpgsig-sha256 "];
/// How a signature begins.
const BEGINNINGS: [&[u8]; 4] = [
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
];

/// Digits of an id.
const ID: usize = 40;

/// What was signed, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) payload: Vec<u8>,
    pub(super) signature: Option<Vec<u8>>,
}

/// What a tag says of itself, within what was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TagFacts<'a> {
    /// The object that it names.
    pub(super) target: &'a str,
    /// Its own name.
    pub(super) name: &'a str,
}

/// A commit. Of several signatures, which Git never writes, none counts.
pub(super) fn commit(raw: &[u8]) -> Option<Parts> {
    let (payload, mut signatures) = without_signatures(raw);
    match signatures.len() {
        0 => Some(Parts { payload, signature: None }),
        1 => Some(Parts { payload, signature: signatures.pop() }),
        _ => None,
    }
}

/// An annotated tag.
pub(super) fn tag(raw: &[u8]) -> Parts {
    let last = lines(raw).filter(|(_, line)| BEGINNINGS.iter().any(|start| line.starts_with(start))).last();
    let Some((at, _)) = last else { return Parts { payload: without_signatures(raw).0, signature: None } };
    let (signed, signature) = raw.split_at(at);
    Parts { payload: without_signatures(signed).0, signature: Some(signature.to_vec()) }
}

/// What the first lines of a tag say.
pub(super) fn tag_facts(payload: &[u8]) -> Option<TagFacts<'_>> {
    let mut values = lines(payload).map(|(_, line)| line.strip_suffix(b"\n").unwrap_or(line));
    let mut next = |key: &str| std::str::from_utf8(values.next()?).ok()?.strip_prefix(key);
    let target = next("object ")?;
    next("type ")?;
    Some(TagFacts { target, name: next("tag ")? })
}

/// The full id of what a tag names.
pub(crate) fn tag_target(raw: &[u8]) -> Option<&str> {
    let is_id = |text: &&str| text.len() == ID && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    tag_facts(raw).map(|facts| facts.target).filter(is_id)
}

/// The object without headers that hold a signature, and what the first kind of them holds.
fn without_signatures(raw: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut kept = Vec::with_capacity(raw.len());
    let mut signatures: Vec<Vec<u8>> = Vec::new();
    // Which header the last line belongs to, if it is one of those.
    let mut within = None;
    for (at, line) in lines(raw) {
        if line == b"\n" {
            kept.extend_from_slice(&raw[at..]);
            break;
        }
        if let (Some(header), Some(rest)) = (within, line.strip_prefix(b" ")) {
            if header == 0
                && let Some(signature) = signatures.last_mut()
            {
                signature.extend_from_slice(rest);
            }
            continue;
        }
        within = HEADERS.iter().position(|header| line.starts_with(header));
        match within {
            Some(0) => signatures.push(line[HEADERS[0].len()..].to_vec()),
            Some(_) => {}
            None => kept.extend_from_slice(line),
        }
    }
    (kept, signatures)
}

/// Lines with the break at their end, each with its place.
fn lines(raw: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    raw.split_inclusive(|byte| *byte == b'\n').scan(0, |at, line| {
        let place = *at;
        *at += line.len();
        Some((place, line))
    })
}
