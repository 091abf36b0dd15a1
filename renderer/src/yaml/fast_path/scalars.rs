//! Keys and scalars of the usual style.

use std::borrow::Cow;

use super::super::{Dialect, scalar};
use super::{Ahead, FastPath, is_nothing};
use crate::bytes::find;
use crate::value::Value;

/// A key as it is written.
pub(super) enum Key<'t> {
    Plain(&'t str),
    Quoted(Cow<'t, str>),
}

/// Longer keys are left to the parser, which has a limit of its own.
pub(super) const LONGEST_KEY: usize = 512;

/// Whether the content of a line begins an item of a list.
pub(super) fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// Whether a plain scalar can begin so.
pub(super) fn begins_plain(text: &str) -> bool {
    match text.as_bytes() {
        [b'-', second, ..] => second.is_ascii_alphanumeric() || *second == b'-',
        // An address such as `::1`.
        [b':', b':', third, ..] => third.is_ascii_alphanumeric() || *third == b'/',
        [first, ..] => {
            first.is_ascii_alphanumeric()
                || matches!(first, b'$' | b'(' | b')' | b'+' | b'.' | b'/' | b';' | b'<' | b'=' | b'^' | b'_' | b'~')
        }
        [] => false,
    }
}

/// The key at the beginning of a line, and what comes after the colon.
pub(super) fn split_key(content: &str) -> Option<(Key<'_>, &str)> {
    if content.starts_with(['"', '\'']) {
        let (key, rest) = quoted(content)?;
        let after = after_colon(rest.strip_prefix(':')?)?;
        return (content.len() - rest.len() <= LONGEST_KEY).then_some((Key::Quoted(key), after));
    }
    if !begins_plain(content) {
        return None;
    }
    let colon = colon(content)?;
    let (key, rest) = (&content[..colon], &content[colon + 1..]);
    let fine = key.len() <= LONGEST_KEY && !key.ends_with(' ') && comment(key).is_none() && key != "<<";
    if fine { Some((Key::Plain(key), after_colon(rest)?)) } else { None }
}

fn after_colon(rest: &str) -> Option<&str> {
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix(' ').map(|rest| rest.trim_start_matches(' '))
}

/// The first colon that ends a key.
fn colon(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|at| bytes[*at] == b':' && matches!(bytes.get(at + 1), None | Some(b' ')))
}

/// Where a comment begins behind a space.
fn comment(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|pair| pair == b" #")
}

/// A scalar in quotes on one line, and what comes after it.
pub(super) fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let quote = text.as_bytes().first()?;
    let inner = &text[1..];
    let special = |byte: u8| byte == *quote || (byte == b'\\' && *quote == b'"');
    let end = inner.bytes().position(special)?;
    if inner.as_bytes()[end] == *quote && inner.as_bytes().get(end + 1) != Some(&b'\'') {
        return Some((Cow::Borrowed(&inner[..end]), &inner[end + 1..]));
    }
    let mut unescaped = String::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let at = rest.bytes().position(special)?;
        unescaped.push_str(&rest[..at]);
        let (span, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        let next = after.as_bytes().first();
        rest = match (span, next) {
            (b'\\', Some(b'"')) => push(&mut unescaped, '"', after),
            (b'\\', Some(b'\\')) => push(&mut unescaped, '\\', after),
            (b'\\', Some(b'n')) => push(&mut unescaped, '\n', after),
            (b'\\', Some(b't')) => push(&mut unescaped, '\t', after),
            (b'\\', _) => return None,
            (b'\'', Some(b'\'')) if *quote == b'\'' => push(&mut unescaped, '\'', after),
            _ => return Some((Cow::Owned(unescaped), after)),
        };
    }
}

fn push<'t>(unescaped: &mut String, character: char, after: &'t str) -> &'t str {
    unescaped.push(character);
    &after[1..]
}

/// Whether nothing but a comment comes after a scalar that has an end of its own.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || (rest.starts_with(' ') && is_nothing(rest.trim_start_matches(' ')))
}

impl<'t> FastPath<'t, '_> {
    /// The scalar, or the list or map on one line, that the rest of the current line holds. What is below belongs to it
    /// only if it is further to the right than `parent`.
    pub(super) fn scalar(&mut self, rest: &'t str, parent: usize) -> Option<Value> {
        let value = match rest.as_bytes().first()? {
            b'"' | b'\'' => {
                let (text, behind) = quoted(rest)?;
                is_end(behind).then_some(())?;
                Value::Text(self.interner.get(&text))
            }
            b'|' => return self.literal(&rest[1..], parent),
            b'[' | b'{' => {
                let (value, behind) = self.flow(rest)?;
                is_end(behind).then_some(())?;
                self.advance()?;
                return Some(value);
            }
            _ => self.plain(plain(rest)?)?,
        };
        self.pay()?;
        self.advance()?;
        Some(value)
    }

    pub(super) fn plain(&mut self, text: &str) -> Option<Value> {
        let meaning = scalar::meaning(text, Dialect::Strict).ok()?;
        Some(meaning.unwrap_or_else(|| Value::Text(self.interner.get(text))))
    }

    /// Text as it is written: `|`, `|-` or `|+`, and lines further to the right.
    fn literal(&mut self, header: &str, parent: usize) -> Option<Value> {
        if !matches!(header, "" | "-" | "+") {
            return None;
        }
        self.pay()?;
        let mut text = String::new();
        let mut column = None;
        let mut empty = 0;
        while self.next < self.text.len() {
            let raw = &self.text[self.next..];
            let raw = &raw[..find(raw, b'\n')?];
            let content = raw.trim_start_matches(' ');
            let begins = raw.len() - content.len();
            if content.is_empty() {
                (begins <= column.unwrap_or(0)).then_some(())?;
                empty += 1;
            } else {
                let column = *column.get_or_insert(begins);
                if column <= parent || (begins < column && content.starts_with('#')) {
                    return None;
                }
                if begins < column {
                    break;
                }
                text.extend(std::iter::repeat_n('\n', std::mem::take(&mut empty)));
                text.push_str(&raw[column..]);
                text.push('\n');
            }
            self.next += raw.len() + 1;
            self.number = self.number.checked_add(1)?;
        }
        column?;
        match header {
            "-" => {
                text.pop();
            }
            "+" => text.extend(std::iter::repeat_n('\n', empty)),
            _ => {}
        }
        self.ahead = Ahead::End;
        self.advance()?;
        Some(Value::Text(text.into()))
    }
}

/// The plain scalar that goes to the end of the line or to a comment.
fn plain(rest: &str) -> Option<&str> {
    let text = rest[..comment(rest).unwrap_or(rest.len())].trim_end_matches(' ');
    (begins_plain(text) && colon(text).is_none()).then_some(text)
}
