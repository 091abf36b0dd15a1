//! The entries of a dict: most dicts are small and none ever changes, so they lie in one piece of memory, in the order of
//! their keys. Whoever wants to change many makes a map of them first.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Value;

/// Up to so many entries, looking at one key after the other takes less time than halving: keys of another length are seen
/// to differ without reading them.
const FEW: usize = 64;

/// Keys and values, in the order of the keys, each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries(Vec<Entry>);

type Entry = (Arc<str>, Value);

impl Entries {
    /// Entries in any order; of several with one key the last counts.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|(one, _), (next, _)| one < next) {
            // The sort keeps the order of equal keys, so the last of them is the one met first from the end.
            entries.reverse();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            entries.dedup_by(|(one, _), (other, _)| one == other);
        }
        entries.shrink_to_fit();
        Self(entries)
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The key as it is held, and the value under it.
    pub fn get_key_value(&self, key: &str) -> Option<(&Arc<str>, &Value)> {
        self.position(key).and_then(|at| self.at(at))
    }

    /// Where a key is.
    pub fn position(&self, key: &str) -> Option<usize> {
        match self.0.len() {
            ..=FEW => self.0.iter().position(|(known, _)| **known == *key),
            _ => self.search(key).ok(),
        }
    }

    /// The entry at a position.
    pub fn at(&self, position: usize) -> Option<(&Arc<str>, &Value)> {
        self.0.get(position).map(|(key, value)| (key, value))
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> Iter<'_> {
        self.into_iter()
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Arc<str>> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.iter().map(|(_, value)| value)
    }

    /// The entries as a map, to change many of them.
    pub fn to_map(&self) -> BTreeMap<Arc<str>, Value> {
        self.0.iter().cloned().collect()
    }

    /// Puts a value under a key. Moves all behind it: for a few changes, not for many.
    pub fn insert(&mut self, key: Arc<str>, value: Value) {
        match self.search(&key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Removes a key. Moves all behind it.
    pub fn remove(&mut self, key: &str) {
        if let Ok(at) = self.search(key) {
            self.0.remove(at);
        }
    }

    /// Where a key is, or would be.
    fn search(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(key))
    }
}

/// Goes through keys and values.
pub(super) type Iter<'a> = std::iter::Map<std::slice::Iter<'a, Entry>, fn(&'a Entry) -> (&'a Arc<str>, &'a Value)>;

impl<'a> IntoIterator for &'a Entries {
    type Item = (&'a Arc<str>, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self::new(entries.into_iter().collect())
    }
}

impl<const N: usize> From<[Entry; N]> for Entries {
    fn from(entries: [Entry; N]) -> Self {
        Self::new(entries.into())
    }
}

impl From<BTreeMap<Arc<str>, Value>> for Entries {
    fn from(entries: BTreeMap<Arc<str>, Value>) -> Self {
        Self(entries.into_iter().collect())
    }
}
