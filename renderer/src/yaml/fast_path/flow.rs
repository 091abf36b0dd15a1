//! Lists and maps on one line, as `toJson` and people write them.

use std::sync::Arc;

use super::scalars::{Key, LONGEST_KEY, begins_plain, quoted};
use super::{FastPath, dict};
use crate::value::Value;

impl<'t> FastPath<'t, '_> {
    /// A list or map in brackets, and what comes after it.
    pub(super) fn flow(&mut self, text: &'t str) -> Option<(Value, &'t str)> {
        self.enter()?;
        let found = match text.strip_prefix('[') {
            Some(items) => self.flow_list(items),
            None => self.flow_map(text.strip_prefix('{')?),
        };
        self.nested -= 1;
        found
    }

    fn flow_list(&mut self, text: &'t str) -> Option<(Value, &'t str)> {
        let mut items = Vec::new();
        let mut rest = text.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix(']') {
            return Some((Value::empty_list(), rest));
        }
        loop {
            let (item, behind) = self.flow_node(rest)?;
            items.push(item);
            match next(behind, ']')? {
                Next::Another(behind) => rest = behind,
                Next::End(behind) => return Some((Value::list(items).ok()?, behind)),
            }
        }
    }

    fn flow_map(&mut self, text: &'t str) -> Option<(Value, &'t str)> {
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        let mut rest = text.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((Value::empty_dict(), rest));
        }
        loop {
            let (key, behind) = if rest.starts_with('"') {
                let (key, behind) = quoted(rest)?;
                (Key::Quoted(key), behind.strip_prefix(':')?)
            } else {
                let (key, behind) = token(rest)?;
                // Without a space the colon would be part of the key.
                let behind = behind.strip_prefix(':').filter(|behind| behind.starts_with(' '))?;
                (Key::Plain(key), behind)
            };
            (rest.len() - behind.len() <= LONGEST_KEY).then_some(())?;
            let key = self.key(key)?;
            let (value, behind) = self.flow_node(behind.trim_start_matches(' '))?;
            entries.push((key, value));
            match next(behind, '}')? {
                Next::Another(behind) => rest = behind,
                Next::End(behind) => return Some((dict(entries)?, behind)),
            }
        }
    }

    fn flow_node(&mut self, text: &'t str) -> Option<(Value, &'t str)> {
        match text.as_bytes().first()? {
            b'[' | b'{' => self.flow(text),
            b'"' | b'\'' => {
                let (value, behind) = quoted(text)?;
                self.pay()?;
                Some((Value::Text(self.interner.get(&value)), behind))
            }
            _ => {
                let (value, behind) = token(text)?;
                self.pay()?;
                Some((self.plain(value)?, behind))
            }
        }
    }
}

enum Next<'t> {
    Another(&'t str),
    End(&'t str),
}

fn next(text: &str, end: char) -> Option<Next<'_>> {
    let text = text.trim_start_matches(' ');
    match text.strip_prefix(',') {
        Some(behind) => Some(Next::Another(behind.trim_start_matches(' '))),
        None => text.strip_prefix(end).map(Next::End),
    }
}

/// A plain scalar of characters that mean nothing in brackets, as a colon does right before another of them.
fn token(text: &str) -> Option<(&str, &str)> {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-' | b'+' | b'=');
    let bytes = text.as_bytes();
    let goes_on = |at: usize, byte: &u8| is_inner(byte) || (*byte == b':' && bytes.get(at + 1).is_some_and(is_inner));
    let end = bytes.iter().enumerate().position(|(at, byte)| !goes_on(at, byte))?;
    let (token, behind) = text.split_at(end);
    begins_plain(token).then_some((token, behind))
}
