//! YAML with positions: text in, nodes that know their line and column out.
//!
//! Built over parser events, since the values of the usual crates carry no positions, resolve `yes` and `0755` silently,
//! let the last of two equal keys win, or follow an alias bomb to the end. Every walk here is bounded; nothing recurses
//! deeper than [`MAX_DEPTH`](crate::value::MAX_DEPTH). It never opens a file.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::value::{KeyPath, Step, TooDeep, Value};

mod build;
mod fast_path;
mod read;
mod relax;
mod scalar;
#[cfg(test)]
mod tests;
pub mod write;

pub use fast_path::Interner;
pub use read::{documents, values};
pub use write::write;

/// A stretch of text: line and column from 1, length in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Characters, at least 1.
    pub length: u32,
}

impl Span {
    /// The same stretch in a file.
    pub fn in_file(self, file: &Arc<str>) -> Location {
        Location { file: file.clone(), line: self.line, column: self.column, length: self.length.max(1) }
    }
}

/// A value and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub span: Span,
    /// What it is.
    pub content: Content,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Null, a boolean, a number or text.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order written.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Arc<str>,
    /// Where the key is written.
    pub span: Span,
    /// What it holds.
    pub value: Node,
}

/// A document as data, without positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What it holds.
    pub value: Value,
    /// The line where it begins, from 1.
    pub line: u32,
}

/// Which YAML is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Files of a repository and rendered objects: what YAML 1.1 and 1.2 read differently is refused, and so is a key
    /// that is there twice.
    Strict,
    /// What Helm's `fromYaml` reads: YAML 1.1, the last of two equal keys wins.
    Helm,
}

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which YAML.
    pub dialect: Dialect,
    /// Nodes in all documents together, with aliases followed.
    pub nodes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { dialect: Dialect::Strict, nodes: 500_000 }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The class of the finding.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write instead.
    pub help: Option<String>,
    /// A second location, with what is there.
    pub other: Option<(String, Span)>,
}

impl Problem {
    fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, help: None, other: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The finding, in a file.
    pub fn in_file(self, file: &Arc<str>) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, self.message).at(self.span.in_file(file));
        diagnostic.help = self.help;
        match self.other {
            Some((message, span)) => diagnostic.note(message, Some(span.in_file(file))),
            None => diagnostic,
        }
    }
}

impl Node {
    /// The value, without positions.
    pub fn to_value(&self) -> Result<Value, TooDeep> {
        match &self.content {
            Content::Scalar(value) => Ok(value.clone()),
            Content::List(items) => Value::list(items.iter().map(Self::to_value).collect::<Result<_, _>>()?),
            Content::Map(entries) => Value::dict(
                entries
                    .iter()
                    .map(|entry| Ok((entry.key.clone(), entry.value.to_value()?)))
                    .collect::<Result<_, TooDeep>>()?,
            ),
        }
    }

    /// The entries, if this is a map.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    /// The entry of this key, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| &*entry.key == key)
    }

    /// The value under this key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Where the value at a path is written: its key if it has one, else the value itself.
    pub fn span_at(&self, path: &KeyPath) -> Option<Span> {
        let mut node = self;
        let mut span = self.span;
        for step in &path.0 {
            (node, span) = match (step, &node.content) {
                (Step::Key(key), Content::Map(_)) => node.entry(key).map(|entry| (&entry.value, entry.span))?,
                (Step::Index(index), Content::List(items)) => items.get(*index).map(|item| (item, item.span))?,
                _ => return None,
            };
        }
        Some(span)
    }

    /// What an error calls it.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            Content::Scalar(value) => value.kind(),
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }
}
