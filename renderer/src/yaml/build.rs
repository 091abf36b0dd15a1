//! Puts nodes together: nesting, aliases, merge keys, keys that are there twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Content, Dialect, Entry, Node, Problem, Span};
use crate::number;
use crate::value::{MAX_DEPTH, Value};

/// The document under construction.
pub(super) struct Builder {
    dialect: Dialect,
    nodes_left: u64,
    nodes: u64,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    pub(super) documents: Vec<Node>,
    pub(super) problems: Vec<Problem>,
}

/// A list or map that has not ended yet.
struct Open {
    span: Span,
    anchor: usize,
    begun: u64,
    content: Filling,
}

enum Filling {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, merged: Vec<Node>, key: Option<Key> },
}

enum Key {
    Name(Arc<str>, Span),
    Merge,
}

/// What an anchor names, how deep it is, and how many nodes following it costs.
struct Anchored {
    node: Node,
    depth: u16,
    nodes: u64,
}

/// The name of a key that is not text, as Helm's reader makes one for JSON: of a number it writes the value, not the text,
/// and of a fraction no more than single precision has.
fn helm_key(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::Bool(truth) => Some(truth.to_string().into()),
        Value::Int(number) => Some(number.to_string().into()),
        Value::Float(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "as Helm's reader does it")]
            let single = *number as f32;
            let shortest = format!("{single:e}").parse().ok().filter(|shortest: &f64| shortest.is_finite())?;
            Some(number::general(shortest).into())
        }
        Value::Null | Value::Text(_) | Value::List(_) | Value::Dict(_) => None,
    }
}

impl Builder {
    pub(super) fn new(dialect: Dialect, nodes: u64) -> Self {
        Self {
            dialect,
            nodes_left: nodes,
            nodes: 0,
            open: Vec::new(),
            anchors: HashMap::new(),
            documents: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn pay(&mut self, nodes: u64, span: Span) -> Result<(), Problem> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.nodes_left = self.nodes_left.checked_sub(nodes).ok_or_else(|| {
            Problem::new("yaml-limit", span, "the document has too many values, aliases followed")
                .help("split the file, or use fewer aliases")
        })?;
        Ok(())
    }

    pub(super) fn scalar(&mut self, node: Node, text: &str, plain: bool, anchor: usize) -> Result<(), Problem> {
        self.pay(1, node.span)?;
        if let Some(Open { content: Filling::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            if plain && text == "<<" {
                *key = Some(Key::Merge);
            } else {
                let name = match (&node.content, self.dialect) {
                    (Content::Scalar(Value::Text(same)), _) => same.clone(),
                    (Content::Scalar(value), Dialect::Helm) => helm_key(value).unwrap_or_else(|| text.into()),
                    _ => text.into(),
                };
                *key = Some(Key::Name(name, node.span));
                if plain && matches!(node.content, Content::Scalar(Value::Null)) {
                    self.problems.push(Problem::new("yaml-key", node.span, "a key must not be empty or null"));
                }
            }
            if anchor > 0 {
                self.anchors.insert(anchor, Anchored { node, depth: 0, nodes: 1 });
            }
            return Ok(());
        }
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { node: node.clone(), depth: 0, nodes: 1 });
        }
        self.push_node(node);
        Ok(())
    }

    pub(super) fn open(&mut self, span: Span, map: bool, anchor: usize) -> Result<(), Problem> {
        self.pay(1, span)?;
        if self.open.len() >= usize::from(MAX_DEPTH) {
            return Err(Problem::new("yaml-limit", span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if let Some(Open { content: Filling::Map { key: None, .. }, .. }) = self.open.last() {
            return Err(Problem::new("yaml-key", span, "a key must be text, not a list or a map").help("quote it"));
        }
        let content = if map {
            Filling::Map { entries: Vec::new(), merged: Vec::new(), key: None }
        } else {
            Filling::List(Vec::new())
        };
        self.open.push(Open { span, anchor, begun: self.nodes, content });
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let content = match open.content {
            Filling::List(items) => Content::List(items),
            Filling::Map { entries, merged, .. } => {
                let nodes: u64 = merged.iter().map(|node| node.entries().map_or(1, <[Entry]>::len) as u64).sum();
                self.pay(nodes, open.span)?;
                Content::Map(self.finish(entries, merged))
            }
        };
        let node = Node { span: open.span, content };
        if open.anchor > 0 {
            let nodes = self.nodes - open.begun + 1;
            // What is named is copied, so anchors inside of anchors would cost their square for nothing.
            self.pay(nodes, open.span)?;
            self.anchors.insert(open.anchor, Anchored { depth: depth(&node), node: node.clone(), nodes });
        }
        self.push_node(node);
        Ok(())
    }

    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Problem> {
        let unknown = || Problem::new("yaml-syntax", span, "this alias stands for something that contains itself");
        let (cost, depth) = self.anchors.get(&anchor).map(|named| (named.nodes, named.depth)).ok_or_else(unknown)?;
        self.pay(cost, span)?;
        if self.open.len() + usize::from(depth) > usize::from(MAX_DEPTH) {
            return Err(Problem::new("yaml-limit", span, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let node = self.anchors.get(&anchor).map(|named| named.node.clone()).ok_or_else(unknown)?;
        if let Some(Open { content: Filling::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            match node.content {
                Content::Scalar(Value::Text(text)) => *key = Some(Key::Name(text, span)),
                _ => return Err(Problem::new("yaml-key", span, "a key must be text")),
            }
            return Ok(());
        }
        self.push_node(node);
        Ok(())
    }

    pub(super) fn end_document(&mut self) {
        self.anchors.clear();
    }

    fn push_node(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            if !matches!(node.content, Content::Scalar(Value::Null)) {
                self.documents.push(node);
            }
            return;
        };
        match &mut open.content {
            Filling::List(items) => items.push(node),
            Filling::Map { entries, merged, key } => match key.take() {
                Some(Key::Name(key, span)) => entries.push(Entry { key, span, value: node }),
                Some(Key::Merge) => merged.push(node),
                None => {}
            },
        }
    }

    /// A map's own entries, each key once, and below them what `<<` brings in.
    fn finish(&mut self, written: Vec<Entry>, merged: Vec<Node>) -> Vec<Entry> {
        if merged.is_empty() && is_short_and_unique(&written) {
            return written;
        }
        let mut first: HashMap<Arc<str>, usize> = HashMap::with_capacity(written.len());
        let mut entries: Vec<Entry> = Vec::with_capacity(written.len());
        for entry in written {
            match first.get(&entry.key).copied() {
                None => {
                    first.insert(entry.key.clone(), entries.len());
                    entries.push(entry);
                }
                Some(at) if self.dialect == Dialect::Helm => entries[at] = entry,
                Some(at) => {
                    let mut problem =
                        Problem::new("yaml-duplicate-key", entry.span, format!("`{}` is there twice", entry.key))
                            .help("keep one of the two");
                    problem.other = Some(("the first is here".to_owned(), entries[at].span));
                    self.problems.push(problem);
                }
            }
        }
        let mut known: HashSet<Arc<str>> = first.into_keys().collect();
        for node in merged {
            let span = node.span;
            let sources = match node.content {
                Content::Map(_) => vec![node],
                Content::List(items) => items,
                Content::Scalar(_) => Vec::new(),
            };
            if sources.is_empty() || sources.iter().any(|source| source.entries().is_none()) {
                self.problems.push(Problem::new("yaml-merge", span, "`<<` takes a map or a list of maps"));
                continue;
            }
            for entry in sources.into_iter().flat_map(into_entries) {
                if known.insert(entry.key.clone()) {
                    entries.push(entry);
                }
            }
        }
        entries
    }
}

/// What nearly every map is; looking at each pair is cheaper than a table for so few.
fn is_short_and_unique(entries: &[Entry]) -> bool {
    entries.len() <= 16
        && entries.iter().enumerate().all(|(at, entry)| entries[..at].iter().all(|before| before.key != entry.key))
}

fn into_entries(node: Node) -> Vec<Entry> {
    match node.content {
        Content::Map(entries) => entries,
        Content::Scalar(_) | Content::List(_) => Vec::new(),
    }
}

fn depth(node: &Node) -> u16 {
    match &node.content {
        Content::Scalar(_) => 0,
        Content::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Content::Map(entries) => 1 + entries.iter().map(|entry| depth(&entry.value)).max().unwrap_or(0),
    }
}
