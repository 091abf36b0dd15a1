//! The data that values files, templates and objects are made of: JSON, with keys in order.
//!
//! A value is shared, never changed: whoever wants another makes another. Lists and dicts know how deep they are and how
//! large they would be written out, since a template can build `[x, x]` sixty times over in next to no memory; whoever
//! walks a value can ask first what the walk will cost. It never reads or writes text: that is `yaml` and `canonical`.

use std::fmt;
use std::sync::Arc;

mod canonical;
mod entries;
mod json;
mod merge;
mod path;
#[cfg(test)]
mod tests;

pub use canonical::{Digest, DigestWriter, canonical, digest};
pub use entries::Entries;
pub use merge::{merge, without_nulls};
pub use path::{KeyPath, Step};

/// How deep lists and dicts may be nested: far more than any manifest, far less than a stack holds.
pub const MAX_DEPTH: u16 = 100;

/// A list or dict would be nested deeper than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nested deeper than {MAX_DEPTH} levels")]
pub struct TooDeep;

/// One datum.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; never NaN or infinite when it comes from a file.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(List),
    /// A map with text keys, in the order of the keys.
    Dict(Dict),
}

/// A shared list.
#[derive(Clone, PartialEq)]
pub struct List(Arc<Body<Vec<Value>>>);

/// A shared map in the order of its keys.
#[derive(Clone, PartialEq)]
pub struct Dict(Arc<Body<Entries>>);

#[derive(Clone)]
struct Body<T> {
    content: T,
    depth: u16,
    size: u64,
}

impl<T: PartialEq> PartialEq for Body<T> {
    fn eq(&self, other: &Self) -> bool {
        self.size == other.size && self.content == other.content
    }
}

impl Value {
    /// Text of any kind.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list; refused when nested too deep.
    pub fn list(items: Vec<Value>) -> Result<Self, TooDeep> {
        List::new(items).map(Self::List)
    }

    /// A dict; refused when nested too deep.
    pub fn dict(entries: Entries) -> Result<Self, TooDeep> {
        Dict::new(entries).map(Self::Dict)
    }

    /// An empty list.
    pub fn empty_list() -> Self {
        Self::List(List::default())
    }

    /// An empty dict.
    pub fn empty_dict() -> Self {
        Self::Dict(Dict::default())
    }

    /// Levels of nesting: 0 for a scalar.
    pub fn depth(&self) -> u16 {
        match self {
            Self::List(list) => list.0.depth,
            Self::Dict(dict) => dict.0.depth,
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Text(_) => 0,
        }
    }

    /// Nodes plus bytes of text, written out in full: what a walk over it costs. Saturates, and is known without a walk.
    pub fn size(&self) -> u64 {
        match self {
            Self::List(list) => list.0.size,
            Self::Dict(dict) => dict.0.size,
            Self::Text(text) => 1 + text.len() as u64,
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 1,
        }
    }

    /// What an error calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Dict(_) => "a map",
        }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The dict, if it is one.
    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value under `key`, if this is a dict that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_dict().and_then(|dict| dict.get(key))
    }

    /// The same with every whole number a float, as all numbers are that Go reads from YAML or JSON.
    #[must_use]
    pub fn with_floats(&self) -> Self {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "it is lost in Go as well")]
            Self::Int(number) => Self::Float(*number as f64),
            Self::List(list) => Self::List(List(Arc::new(Body {
                content: list.items().iter().map(Self::with_floats).collect(),
                depth: list.0.depth,
                size: list.0.size,
            }))),
            Self::Dict(dict) => Self::Dict(dict.with_floats()),
            Self::Null | Self::Bool(_) | Self::Float(_) | Self::Text(_) => self.clone(),
        }
    }

    /// What Go's templates take for true: not null, `false`, zero or empty.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Dict(dict) => !dict.is_empty(),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// The depth of what holds something that deep.
fn around(deepest: u16) -> Result<u16, TooDeep> {
    if deepest < MAX_DEPTH { Ok(deepest + 1) } else { Err(TooDeep) }
}

impl List {
    /// A list of these; refused when nested too deep.
    pub fn new(items: Vec<Value>) -> Result<Self, TooDeep> {
        let (mut deepest, mut size) = (0, 1u64);
        for item in &items {
            deepest = item.depth().max(deepest);
            size = size.saturating_add(item.size());
        }
        Ok(Self(Arc::new(Body { content: items, depth: around(deepest)?, size })))
    }

    /// The items.
    pub fn items(&self) -> &[Value] {
        &self.0.content
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.content.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.content.is_empty()
    }
}

impl Default for List {
    fn default() -> Self {
        Self(Arc::new(Body { content: Vec::new(), depth: 1, size: 1 }))
    }
}

impl Dict {
    /// A dict of these; refused when nested too deep.
    pub fn new(entries: Entries) -> Result<Self, TooDeep> {
        let (mut deepest, mut size) = (0, 1u64);
        for (key, value) in &entries {
            deepest = value.depth().max(deepest);
            size = size.saturating_add(key.len() as u64).saturating_add(value.size());
        }
        Ok(Self(Arc::new(Body { content: entries, depth: around(deepest)?, size })))
    }

    /// The entries, in the order of their keys.
    pub fn entries(&self) -> &Entries {
        &self.0.content
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.content.get(key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.content.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.content.is_empty()
    }

    /// The same with every whole number a float.
    #[must_use]
    pub fn with_floats(&self) -> Self {
        let entries = self.entries().iter().map(|(key, value)| (Arc::clone(key), value.with_floats())).collect();
        Self(Arc::new(Body { content: entries, depth: self.0.depth, size: self.0.size }))
    }

    /// Whether both are the very same dict in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Dict {
    fn default() -> Self {
        Self(Arc::new(Body { content: Entries::default(), depth: 1, size: 1 }))
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries()).finish()
    }
}
