//! Changes fields of an encoded message and leaves every other byte of it as it is.
//!
//! What we do not know survives: a newer kubelet's fields, unknown enums, the order of the rest. Knows nothing of the CRI.

use std::collections::BTreeMap;

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};

/// One field to drop and, perhaps, to write anew.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edit {
    /// The fields that lead to the message that has it; each is a single message.
    pub(crate) path: &'static [u32],
    pub(crate) tag: u32,
    /// For a repeated field or map: only entries with this text as their first field.
    pub(crate) key: Option<String>,
    /// What is written in its place.
    pub(crate) value: Option<Wire>,
}

/// A value as it is encoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wire {
    Varint(u64),
    Bytes(Vec<u8>),
}

/// The message with `edits` made. Without edits it is the same to the byte.
pub(crate) fn splice(message: &[u8], edits: &[Edit]) -> Result<Vec<u8>, DecodeError> {
    splice_below(message, &edits.iter().collect::<Vec<_>>(), 0)
}

/// All occurrences of one inner message, which decoders read as one, and what is to be edited in it.
#[derive(Default)]
struct Inner<'e> {
    edits: Vec<&'e Edit>,
    bytes: Vec<u8>,
    found: bool,
}

fn splice_below(message: &[u8], edits: &[&Edit], depth: usize) -> Result<Vec<u8>, DecodeError> {
    let mut inner: BTreeMap<u32, Inner> = BTreeMap::new();
    let mut here = Vec::new();
    for edit in edits {
        match edit.path.get(depth) {
            Some(tag) => inner.entry(*tag).or_default().edits.push(*edit),
            None => here.push(*edit),
        }
    }
    let mut spliced = Vec::with_capacity(message.len() + 32 * edits.len());
    let mut rest = message;
    while !rest.is_empty() {
        let record = Record::read(&mut rest)?;
        if let (Some(inner), Some(payload)) = (inner.get_mut(&record.tag), record.payload) {
            inner.bytes.extend_from_slice(payload);
            inner.found = true;
        } else if !here.iter().any(|edit| record.is_target_of(edit)) {
            spliced.extend_from_slice(record.bytes);
        }
    }
    for (tag, inner) in inner {
        let bytes = splice_below(&inner.bytes, &inner.edits, depth + 1)?;
        if inner.found || !bytes.is_empty() {
            write_bytes(tag, &bytes, &mut spliced);
        }
    }
    for edit in here {
        match &edit.value {
            Some(Wire::Varint(number)) => {
                encode_key(edit.tag, WireType::Varint, &mut spliced);
                encode_varint(*number, &mut spliced);
            }
            Some(Wire::Bytes(bytes)) => write_bytes(edit.tag, bytes, &mut spliced),
            None => {}
        }
    }
    Ok(spliced)
}

/// Whether every occurrence of a field has a length before it, as texts, messages and entries of maps must.
pub(crate) fn is_delimited(message: &[u8], path: &[u32], tag: u32) -> bool {
    let mut rest = message;
    while !rest.is_empty() {
        let Ok(record) = Record::read(&mut rest) else { return false };
        let is_fine = match path.split_first() {
            Some((first, below)) if record.tag == *first => {
                record.payload.is_some_and(|payload| is_delimited(payload, below, tag))
            }
            None if record.tag == tag => record.payload.is_some(),
            _ => true,
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// A field as it is in the message.
struct Record<'m> {
    tag: u32,
    bytes: &'m [u8],
    /// Of a text, bytes or message.
    payload: Option<&'m [u8]>,
}

impl<'m> Record<'m> {
    fn read(rest: &mut &'m [u8]) -> Result<Self, DecodeError> {
        let begin = *rest;
        let (tag, wire) = decode_key(rest)?;
        let mut payload = None;
        if wire == WireType::LengthDelimited {
            let mut ahead = *rest;
            let length = decode_varint(&mut ahead)?;
            payload = usize::try_from(length).ok().and_then(|length| ahead.get(..length));
        }
        skip_field(wire, tag, rest, DecodeContext::default())?;
        Ok(Self { tag, bytes: &begin[..begin.len() - rest.len()], payload })
    }

    fn is_target_of(&self, edit: &Edit) -> bool {
        self.tag == edit.tag
            && edit.key.as_ref().is_none_or(|key| self.payload.is_some_and(|entry| first_text(entry) == key.as_bytes()))
    }
}

/// The first field of an entry, which is its key. The last one counts, as for every decoder.
fn first_text(mut entry: &[u8]) -> &[u8] {
    let mut text: &[u8] = &[];
    while !entry.is_empty() {
        match Record::read(&mut entry) {
            Ok(Record { tag: 1, payload: Some(payload), .. }) => text = payload,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    text
}

fn write_bytes(tag: u32, bytes: &[u8], to: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, to);
    encode_varint(bytes.len() as u64, to);
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests;
