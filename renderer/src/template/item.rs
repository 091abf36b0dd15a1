//! What names and expressions hold while a template runs: data, and the few things that are no data.
//!
//! Jinja's lists, maps and namespaces hold data only, so nothing can contain itself. Go's maps and lists live on the heap of
//! the render, and items name them by number: one that contains itself is still let go of.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::heap::{ListId, MapId};
use super::program::{Program, Span};
use super::scope::{ChartFiles, Facts};
use crate::value::{List, Step, Value};

/// What an expression gives.
#[derive(Clone)]
pub(super) enum Item<'a> {
    /// A slot that nothing was put into.
    Unset,
    Data(Value),
    /// What is not set, and why.
    Missing(Rc<Missing>),
    /// A map of facts of which nothing was read yet.
    Facts(Rc<Tracked<'a>>),
    Namespace(Rc<RefCell<BTreeMap<Arc<str>, Value>>>),
    Macro(Rc<MacroItem>),
    /// An imported template: where its names are.
    Module(usize),
    Loop(Rc<Turns>),
    /// The files of the chart, or some of them.
    Files(Option<Rc<Vec<Arc<str>>>>),
    /// Go: a whole number of the type that arithmetic gives, which is another than that of what is written.
    Wide(i64),
    /// Go: a map, which is one thing however many names it has.
    Map(MapId),
    /// Go: a list that holds maps or lists.
    Slice(ListId),
    /// Go: the files of one chart, or some of them.
    ChartFiles(Rc<FileSet<'a>>),
    /// Go: bytes of a file that are no text.
    Bytes(Arc<[u8]>),
    /// Go: what chance, the clock or the world would have given.
    Poison(Rc<Poison>),
}

impl Item<'_> {
    /// What an error calls it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Unset | Self::Missing(_) => "not set",
            Self::Data(value) => value.kind(),
            Self::Facts(_) | Self::Map(_) => "a map",
            Self::Namespace(_) => "a namespace",
            Self::Macro(_) => "a macro",
            Self::Module(_) => "an imported template",
            Self::Loop(_) => "a loop",
            Self::Files(_) | Self::ChartFiles(_) => "files",
            Self::Slice(_) => "a list",
            Self::Bytes(_) => "bytes that are no text",
            Self::Wide(_) => "a whole number",
            Self::Poison(_) => "a value that is another on every render",
        }
    }
}

/// Something that is not set.
pub(super) struct Missing {
    pub program: Arc<Program>,
    pub span: Span,
    pub reason: Reason,
}

/// Why it is not set.
pub(super) enum Reason {
    /// No such name.
    Unknown(Arc<str>),
    /// Nothing below the parent, whose source ends there.
    Key { parent: Value, parent_end: u32, key: String, root: Option<Arc<str>> },
    /// A parameter that was not given.
    Parameter { callee: Arc<str> },
    /// What a loop, a module or a namespace does not have.
    Member { of: &'static str, key: Arc<str> },
}

/// A map inside facts, and the way to it.
pub(super) struct Tracked<'a> {
    pub facts: &'a Facts,
    pub root: Arc<str>,
    pub path: Vec<Step>,
    pub value: Value,
}

/// A macro and the activation it was declared in.
pub(super) struct MacroItem {
    pub program: Arc<Program>,
    pub number: u32,
    pub activation: usize,
}

/// A running loop, as `loop` shows it.
pub(super) struct Turns {
    pub items: List,
    pub at: Cell<usize>,
    pub depth: usize,
    /// The loop of this program that calls itself.
    pub recursive: Option<(Arc<Program>, u32)>,
    pub last: RefCell<Option<Vec<Value>>>,
}

/// The files of a chart that a template has in hand.
pub(super) struct FileSet<'a> {
    pub files: &'a dyn ChartFiles,
    /// Those that a pattern chose; all of them if none did.
    pub selected: Option<Vec<Arc<str>>>,
}

/// A value that cannot be known when a commit is rendered.
pub(super) struct Poison {
    pub name: &'static str,
    pub instead: &'static str,
    pub program: Arc<Program>,
    pub span: Span,
    /// Whether it is surely not empty.
    pub is_filled: bool,
    /// Which reading of the clock it is, if it is one.
    pub moment: Option<Moment>,
}

/// A reading of the clock, moved by so many nanoseconds. Two that were moved from one reading can be told apart.
#[derive(Clone)]
pub(super) struct Moment {
    pub reading: Rc<()>,
    pub moved: i64,
}
