//! Looking through text eight bytes at a time: most of what is rendered is looked through several times.

/// A one in each byte.
const ONES: u64 = u64::MAX / 0xff;
/// The topmost bit of each byte.
const TOPS: u64 = ONES * 0x80;

/// Where a byte first is.
pub(crate) fn find(text: &str, byte: u8) -> Option<usize> {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let zero_where_found = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
        let found = zero_where_found.wrapping_sub(ONES) & !zero_where_found & TOPS;
        if found != 0 {
            // The lowest byte that is marked is right, whatever is marked above it.
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|found| *found == byte).map(|at| words.len() * 8 + at)
}

/// Whether a text has nothing but printable ASCII and line breaks.
pub(crate) fn is_plain(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let fine = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        // Below 128 these sums set the topmost bit of a byte and never reach the next one.
        let beyond = word | word.wrapping_add(ONES);
        let from_space = word.wrapping_add(ONES * (0x80 - 0x20));
        let no_break = (word ^ (ONES * 0x0a)).wrapping_add(ONES * 0x7f);
        (beyond | (!from_space & no_break)) & TOPS == 0
    };
    words.iter().all(fine) && rest.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_byte_is_found_where_it_first_is(text in "[\\x00-\\x7fé]{0,40}", byte in 0u8..0x80) {
            prop_assert_eq!(find(&text, byte), text.bytes().position(|found| found == byte));
        }

        #[test]
        fn plain_text_is_printable_or_a_line_break(text in "[ -~\n]{0,30}[\\x00-\\x20\\x7eé\u{7f}]?[ -~\n]{0,30}") {
            prop_assert_eq!(is_plain(&text), text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')));
        }
    }
}
