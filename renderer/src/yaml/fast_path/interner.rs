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
    let (eights, rest) = word.as_bytes().as_chunks::<8>();
    let mix = |mixed: u64, part: u64| (mixed.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
    let mixed = eights.iter().fold(word.len() as u64, |mixed, eight| mix(mixed, u64::from_le_bytes(*eight)));
    let last = rest.iter().fold(0, |last, byte| (last << 8) | u64::from(*byte));
    // A product is mixed best at its top.
    usize::try_from(mix(mixed, last) >> 32).unwrap_or_default() % ROOM
}
