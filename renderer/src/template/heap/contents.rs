//! What a map holds. One that comes from data stays that data until it is changed, with what was opened of it beside it:
//! most maps are only read, and most are small.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::template::item::Item;
use crate::value::{Dict, Value};

/// More entries than this are held as a map: a few are found faster by looking at each.
const FEW: usize = 32;

/// What a map holds, by key.
pub(in crate::template) enum Contents<'a> {
    /// Data, and in the place of an entry what it was opened to; no places as long as nothing was opened.
    Data(Dict, Vec<Option<Item<'a>>>),
    /// Entries of its own, in the order of their keys.
    Few(Vec<(Arc<str>, Item<'a>)>),
    /// Many entries of its own.
    Many(BTreeMap<Arc<str>, Item<'a>>),
}

impl<'a> Contents<'a> {
    pub(super) fn of(entries: BTreeMap<Arc<str>, Item<'a>>) -> Self {
        if entries.len() > FEW { Self::Many(entries) } else { Self::Few(entries.into_iter().collect()) }
    }

    /// What is under a key.
    pub(in crate::template) fn get(&self, key: &str) -> Option<Item<'a>> {
        match self {
            Self::Data(dict, opened) => {
                let at = dict.entries().position(key)?;
                dict.entries().at(at).map(|(_, value)| opened_or(opened, at, value))
            }
            Self::Few(entries) => entries.iter().find(|(known, _)| **known == *key).map(|(_, item)| item.clone()),
            Self::Many(entries) => entries.get(key).cloned(),
        }
    }

    /// The data that it comes from, if it was not changed.
    pub(in crate::template) fn data(&self) -> Option<&Dict> {
        match self {
            Self::Data(dict, _) => Some(dict),
            Self::Few(_) | Self::Many(_) => None,
        }
    }

    pub(in crate::template) fn contains_key(&self, key: &str) -> bool {
        match self {
            Self::Data(dict, _) => dict.entries().contains_key(key),
            Self::Few(entries) => entries.iter().any(|(known, _)| **known == *key),
            Self::Many(entries) => entries.contains_key(key),
        }
    }

    pub(in crate::template) fn len(&self) -> usize {
        match self {
            Self::Data(dict, _) => dict.len(),
            Self::Few(entries) => entries.len(),
            Self::Many(entries) => entries.len(),
        }
    }

    pub(in crate::template) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys in their order.
    pub(in crate::template) fn keys(&self) -> Vec<Arc<str>> {
        match self {
            Self::Data(dict, _) => dict.entries().keys().cloned().collect(),
            Self::Few(entries) => entries.iter().map(|(key, _)| Arc::clone(key)).collect(),
            Self::Many(entries) => entries.keys().cloned().collect(),
        }
    }

    /// Keys and what is under them, in the order of the keys.
    pub(in crate::template) fn entries(&self) -> Vec<(Arc<str>, Item<'a>)> {
        match self {
            Self::Data(dict, opened) => {
                let entries = dict.entries().iter().enumerate();
                entries.map(|(at, (key, value))| (Arc::clone(key), opened_or(opened, at, value))).collect()
            }
            Self::Few(entries) => entries.clone(),
            Self::Many(entries) => entries.iter().map(|(key, item)| (Arc::clone(key), item.clone())).collect(),
        }
    }

    /// Puts what an entry was opened to in the place of its data.
    pub(super) fn open(&mut self, key: &str, item: Item<'a>) {
        match self {
            Self::Data(dict, opened) => {
                if opened.is_empty() {
                    opened.resize_with(dict.len(), || None);
                }
                let at = dict.entries().position(key);
                if let Some(place) = at.and_then(|at| opened.get_mut(at)) {
                    *place = Some(item);
                }
            }
            Self::Few(entries) => {
                if let Some((_, place)) = entries.iter_mut().find(|(known, _)| **known == *key) {
                    *place = item;
                }
            }
            Self::Many(entries) => {
                if let Some(place) = entries.get_mut(key) {
                    *place = item;
                }
            }
        }
    }

    pub(super) fn insert(&mut self, key: Arc<str>, item: Item<'a>) {
        self.own();
        match self {
            Self::Data(..) => {}
            Self::Few(entries) => match entries.binary_search_by(|(known, _)| known.cmp(&key)) {
                Ok(at) => entries[at].1 = item,
                Err(at) if entries.len() < FEW => entries.insert(at, (key, item)),
                Err(_) => {
                    let all = entries.drain(..).chain([(key, item)]);
                    *self = Self::Many(all.collect());
                }
            },
            Self::Many(entries) => {
                entries.insert(key, item);
            }
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.own();
        match self {
            Self::Data(..) => {}
            Self::Few(entries) => entries.retain(|(known, _)| **known != *key),
            Self::Many(entries) => {
                entries.remove(key);
            }
        }
    }

    /// Makes data entries of its own, to be changed.
    fn own(&mut self) {
        if let Self::Data(dict, _) = self {
            let few = dict.len() <= FEW;
            let entries = self.entries();
            *self = if few { Self::Few(entries) } else { Self::Many(entries.into_iter().collect()) };
        }
    }
}

fn opened_or<'a>(opened: &[Option<Item<'a>>], at: usize, value: &Value) -> Item<'a> {
    match opened.get(at) {
        Some(Some(item)) => item.clone(),
        Some(None) | None => Item::Data(value.clone()),
    }
}
