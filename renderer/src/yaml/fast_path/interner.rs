//! Keeps texts that come again and again in objects in memory once.

use std::sync::Arc;

/// So many words are remembered at most.
const ROOM: usize = 1024;

/// Longer text seldom comes again.
const LONGEST: usize = 48;

/// The words met last. Each has one slot that it can be at, so that looking costs the same whatever the words are, and a
/// newcomer takes the slot of the one before it.
#[derive(Debug, Default)]
pub struct Interner(Vec<Option<Arc<str>>>);

impl Interner {
    /// The word, from memory if it is there.
    pub(super) fn get(&mut self, word: &str) -> Arc<str> {
        if word.len() > LONGEST {
            return word.into();
        }
        if self.0.is_empty() {
            self.0.resize(ROOM, None);
        }
        let Some(slot) = self.0.get_mut(slot_of(word)) else { return word.into() };
        match slot {
            Some(same) if &**same == word => same.clone(),
            _ => slot.insert(word.into()).clone(),
        }
    }
}

fn slot_of(word: &str) -> usize {
    let mixed = word.bytes().fold(word.len(), |mixed, byte| mixed.wrapping_mul(31).wrapping_add(usize::from(byte)));
    (mixed ^ (mixed >> 10)) % ROOM
}
