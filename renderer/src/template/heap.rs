//! The maps and lists of Go's templates: one render's own, changed in place by `set`, `unset` and `merge`.
//!
//! A map that comes from data is opened when it is reached; what is below stays data until it is reached itself. So a change is seen through every name of the map and never by another render. Whoever allocates pays
//! the budget first; nothing is freed before the render ends.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::item::{Item, Tracked};
use crate::value::{Dict, Value};

mod contents;

pub(super) use contents::Contents;

/// Names a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapId(u32);

/// Names a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListId(u32);

impl ListId {
    /// Go's nil list: empty like any other, but JSON and YAML have null for it.
    pub(super) const NIL: Self = Self(u32::MAX);
}

/// What a map is to Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Map,
    /// `.Values`: a map with a type of its own.
    Values,
    /// A struct: it has these fields and no others.
    Struct(&'static str),
    /// `.Chart`.
    Chart,
    /// The groups, versions and kinds of the cluster.
    Versions,
    /// The version of the cluster, which prints as such.
    KubeVersion,
    Capabilities,
    /// What `semver` gives, which prints as such.
    Semver,
    /// A time, which prints as such.
    Time,
}

impl Shape {
    /// Whether Go has a struct there: with fields, but no items.
    pub(super) fn is_struct(self) -> bool {
        match self {
            Self::Map | Self::Values | Self::Versions => false,
            Self::Struct(_) | Self::Chart | Self::KubeVersion | Self::Capabilities | Self::Semver | Self::Time => true,
        }
    }
}

/// One map.
pub(super) struct Map<'a> {
    pub contents: Contents<'a>,
    pub shape: Shape,
    /// Facts that it shows, whose reads are recorded.
    pub origin: Option<Rc<Tracked<'a>>>,
    /// Keys of facts whose read is recorded.
    pub recorded: BTreeSet<Arc<str>>,
    /// The same as data, as it was at that change of the heap.
    whole: Option<(Dict, u64)>,
}

/// All maps and lists of a render.
#[derive(Default)]
pub(super) struct Heap<'a> {
    maps: Vec<Map<'a>>,
    lists: Vec<Rc<[Item<'a>]>>,
    changes: u64,
    /// How often a struct was written as data, which is not the same for all functions.
    pub(super) structs_written: u64,
}

impl<'a> Heap<'a> {
    pub(super) fn add_map(&mut self, entries: BTreeMap<Arc<str>, Item<'a>>) -> MapId {
        self.add_shaped(entries, Shape::Map)
    }

    /// A map of this shape.
    pub(super) fn add_shaped(&mut self, entries: BTreeMap<Arc<str>, Item<'a>>, shape: Shape) -> MapId {
        self.push(Map { contents: Contents::of(entries), shape, origin: None, recorded: BTreeSet::new(), whole: None })
    }

    /// A map of data: what is below is opened when it is reached.
    pub(super) fn open(&mut self, dict: &Dict) -> MapId {
        let whole = Some((dict.clone(), self.changes));
        let contents = Contents::Data(dict.clone(), Vec::new());
        self.push(Map { contents, shape: Shape::Map, origin: None, recorded: BTreeSet::new(), whole })
    }

    fn push(&mut self, map: Map<'a>) -> MapId {
        self.maps.push(map);
        MapId(u32::try_from(self.maps.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn add_list(&mut self, items: Vec<Item<'a>>) -> ListId {
        self.lists.push(items.into());
        ListId(u32::try_from(self.lists.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn map(&self, id: MapId) -> Option<&Map<'a>> {
        self.maps.get(id.0 as usize)
    }

    /// The map, to set its shape or origin: not to change what it holds.
    pub(super) fn map_mut(&mut self, id: MapId) -> Option<&mut Map<'a>> {
        self.maps.get_mut(id.0 as usize)
    }

    /// Puts an entry into a map.
    pub(super) fn insert(&mut self, id: MapId, key: Arc<str>, item: Item<'a>) {
        self.changes += 1;
        if let Some(map) = self.map_mut(id) {
            map.contents.insert(key, item);
        }
    }

    /// Takes an entry out of a map.
    pub(super) fn remove(&mut self, id: MapId, key: &str) {
        self.changes += 1;
        if let Some(map) = self.map_mut(id) {
            map.contents.remove(key);
        }
    }

    /// Puts an entry that every template gets anew; no data remembered elsewhere depends on it.
    pub(super) fn replace_quietly(&mut self, id: MapId, key: &str, item: Item<'a>) {
        if let Some(map) = self.map_mut(id) {
            map.whole = None;
            map.contents.insert(key.into(), item);
        }
    }

    /// Puts the map that data was opened to in the place of that data.
    pub(super) fn replace_opened(&mut self, id: MapId, key: &str, item: Item<'a>) {
        if let Some(map) = self.map_mut(id) {
            map.contents.open(key, item);
        }
    }

    pub(super) fn list(&self, id: ListId) -> Rc<[Item<'a>]> {
        self.lists.get(id.0 as usize).map_or_else(|| Rc::from(Vec::new()), Rc::clone)
    }

    /// The map as data, if nothing changed since it was known.
    pub(super) fn known_whole(&self, id: MapId) -> Option<Dict> {
        let (dict, at) = self.map(id)?.whole.as_ref()?;
        (*at == self.changes).then(|| dict.clone())
    }

    /// Remembers a map as data.
    pub(super) fn remember_whole(&mut self, id: MapId, dict: &Dict) {
        let now = self.changes;
        if let Some(map) = self.map_mut(id) {
            map.whole = Some((dict.clone(), now));
        }
    }
}

/// Whether data is a map, or a list that may hold one: what Go could change in place. Looks no deeper, since a list can
/// hold another twice, sixty times over.
pub(super) fn is_changeable(value: &Value) -> bool {
    match value {
        Value::Dict(_) => true,
        Value::List(list) => list.items().iter().any(|item| matches!(item, Value::List(_) | Value::Dict(_))),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
    }
}
