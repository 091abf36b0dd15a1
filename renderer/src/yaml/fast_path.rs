//! The YAML that templates write, read at once: block maps and lists with short scalars, straight to values.
//!
//! Whatever is not surely of that style is left to the parser: other bytes than printable ASCII, anchors, tags, scalars
//! of several lines, anything wrong. So there is no message in here, and what is read is what the parser reads; a
//! property test holds the two against each other. Every step forward consumes text, and nothing nests deeper than
//! [`MAX_NESTED`].

use std::sync::Arc;

use super::{Dialect, Document, scalar};
use crate::bytes::{find, is_plain};
use crate::value::{Entries, Value};

mod flow;
mod interner;
mod scalars;
#[cfg(test)]
mod tests;

pub use interner::Interner;
use scalars::{Key, is_item, split_key};

/// Deeper documents are left to the parser, which knows what is too deep.
const MAX_NESTED: u16 = 40;

/// The documents of a text of the usual style with at most so many values, or nothing if it is not surely one.
pub(super) fn documents(text: &str, nodes: u64, interner: &mut Interner) -> Option<Vec<Document>> {
    if !is_plain(text) {
        return None;
    }
    FastPath {
        text,
        next: 0,
        number: 0,
        ahead: Ahead::End,
        nodes,
        nested: 0,
        interner,
        entries: Vec::new(),
        items: Vec::new(),
    }
    .documents()
}

struct FastPath<'t, 'w> {
    text: &'t str,
    /// Where the line after the current one begins.
    next: usize,
    /// The number of the current line.
    number: u32,
    ahead: Ahead<'t>,
    /// Values that may still be read.
    nodes: u64,
    nested: u16,
    interner: &'w mut Interner,
    /// The entries and items of the maps and lists that are being read, the innermost last.
    entries: Vec<(Arc<str>, Value)>,
    items: Vec<Value>,
}

/// What is to be read now.
#[derive(Clone, Copy)]
enum Ahead<'t> {
    /// A line with something on it.
    Line(Line<'t>),
    /// `---`.
    Break,
    /// The end of the text.
    End,
}

#[derive(Clone, Copy)]
struct Line<'t> {
    /// The column where the content begins.
    column: usize,
    /// What is there, without the spaces at its end.
    content: &'t str,
}

impl<'t> FastPath<'t, '_> {
    fn documents(mut self) -> Option<Vec<Document>> {
        let mut found = Vec::new();
        self.advance()?;
        loop {
            match self.ahead {
                Ahead::End => return Some(found),
                Ahead::Break => self.advance()?,
                Ahead::Line(line) => {
                    let number = self.number;
                    let value = self.block(line)?;
                    if matches!(self.ahead, Ahead::Line(_)) {
                        return None;
                    }
                    found.push(Document { value, line: number });
                }
            }
        }
    }

    /// Goes on to the next line that is neither empty nor a comment.
    fn advance(&mut self) -> Option<()> {
        loop {
            let rest = &self.text[self.next..];
            if rest.is_empty() {
                self.ahead = Ahead::End;
                return Some(());
            }
            let raw = &rest[..find(rest, b'\n').unwrap_or(rest.len())];
            self.next = (self.next + raw.len() + 1).min(self.text.len());
            self.number = self.number.checked_add(1)?;
            let content = raw.trim_start_matches(' ');
            let column = raw.len() - content.len();
            let content = content.trim_end_matches(' ');
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            self.ahead = Ahead::Line(Line { column, content });
            if column == 0 && (content.starts_with("---") || content.starts_with("...")) {
                if content != "---" {
                    return None;
                }
                self.ahead = Ahead::Break;
            }
            return Some(());
        }
    }

    fn pay(&mut self) -> Option<()> {
        self.nodes = self.nodes.checked_sub(1)?;
        Some(())
    }

    fn enter(&mut self) -> Option<()> {
        self.nested += 1;
        self.pay()?;
        (self.nested <= MAX_NESTED).then_some(())
    }

    /// The list or map that begins with this line.
    fn block(&mut self, first: Line<'t>) -> Option<Value> {
        self.enter()?;
        let value = if is_item(first.content) { self.list(first.column) } else { self.map(first.column) };
        self.nested -= 1;
        value
    }

    fn list(&mut self, column: usize) -> Option<Value> {
        let begin = self.items.len();
        while let Ahead::Line(line) = self.ahead {
            if line.column < column || (line.column == column && !is_item(line.content)) {
                break;
            }
            if line.column > column {
                return None;
            }
            let rest = line.content[1..].trim_start_matches(' ');
            let inner = Line { column: column + line.content.len() - rest.len(), content: rest };
            let item = if is_nothing(rest) {
                self.advance()?;
                self.below(column, false)?
            } else if is_item(rest) || split_key(rest).is_some() {
                self.ahead = Ahead::Line(inner);
                self.block(inner)?
            } else {
                self.scalar(rest, column)?
            };
            self.items.push(item);
        }
        Value::list(self.items.drain(begin..).collect()).ok()
    }

    fn map(&mut self, column: usize) -> Option<Value> {
        let begin = self.entries.len();
        while let Ahead::Line(line) = self.ahead {
            if line.column < column {
                break;
            }
            if line.column > column {
                return None;
            }
            let (key, rest) = split_key(line.content)?;
            let key = self.key(key)?;
            let value = if is_nothing(rest) {
                self.advance()?;
                self.below(column, true)?
            } else {
                self.scalar(rest, column)?
            };
            self.entries.push((key, value));
        }
        dict(self.entries.drain(begin..).collect())
    }

    /// What the lines below a key or a dash hold. A list below a key may be as far to the left as the key.
    fn below(&mut self, column: usize, in_map: bool) -> Option<Value> {
        match self.ahead {
            Ahead::Line(line) if line.column > column || (in_map && line.column == column && is_item(line.content)) => {
                self.block(line)
            }
            Ahead::Line(_) | Ahead::Break | Ahead::End => {
                self.pay()?;
                Some(Value::Null)
            }
        }
    }

    fn key(&mut self, key: Key<'_>) -> Option<Arc<str>> {
        self.pay()?;
        match key {
            Key::Quoted(text) => Some(self.interner.get(&text)),
            // A number that is not written as it prints has another name in Helm's dialect.
            Key::Plain(text) => match scalar::meaning(text, Dialect::Strict).ok()? {
                Some(Value::Int(number)) if number.to_string() != text => None,
                Some(Value::Null | Value::Float(_)) => None,
                _ => Some(self.interner.get(text)),
            },
        }
    }
}

/// Nothing but a comment.
fn is_nothing(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('#')
}

/// A map of these, unless a key is there twice.
fn dict(entries: Vec<(Arc<str>, Value)>) -> Option<Value> {
    let count = entries.len();
    let entries = Entries::new(entries);
    if entries.len() < count { None } else { Value::dict(entries).ok() }
}
