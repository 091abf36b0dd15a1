//! What Go knows of a single character: its class, and its upper, lower and title case as one character.
//!
//! The standard library's case mappings may give several characters for one; Go's never do, so those are left out here.

use std::sync::LazyLock;

use regex::Regex;

static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
static UPPER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Lu}$").ok());
static LOWER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Ll}$").ok());
static PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{P}$").ok());
static PRINTABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());

fn is_in(class: &LazyLock<Option<Regex>>, letter: char) -> bool {
    let mut buffer = [0; 4];
    let text = letter.encode_utf8(&mut buffer);
    class.as_ref().is_some_and(|class| class.is_match(text))
}

/// Whether it is a letter.
pub(super) fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || !letter.is_ascii() && is_in(&LETTER, letter)
}

/// Whether it is an upper case letter.
pub(super) fn is_upper(letter: char) -> bool {
    letter.is_ascii_uppercase() || !letter.is_ascii() && is_in(&UPPER, letter)
}

/// Whether it is a lower case letter.
pub(super) fn is_lower(letter: char) -> bool {
    letter.is_ascii_lowercase() || !letter.is_ascii() && is_in(&LOWER, letter)
}

/// Whether it is punctuation; Unicode counts `$+<=>^|~` and the backtick as symbols.
pub(super) fn is_punctuation(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_punctuation() && !"$+<=>^`|~".contains(letter);
    }
    is_in(&PUNCTUATION, letter)
}

/// Whether Go prints it as it is; the only space that counts is the plain one.
pub(crate) fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return letter == ' ' || letter.is_ascii_graphic();
    }
    is_in(&PRINTABLE, letter)
}

/// Whether it is a digraph that has a title case of its own, already in it.
pub(super) fn is_title(letter: char) -> bool {
    matches!(letter, '\u{1C5}' | '\u{1C8}' | '\u{1CB}' | '\u{1F2}')
        || matches!(u32::from(letter), 0x1F88..=0x1F8F | 0x1F98..=0x1F9F | 0x1FA8..=0x1FAF | 0x1FBC | 0x1FCC | 0x1FFC)
}

/// Its upper case.
pub(super) fn upper(letter: char) -> char {
    let code = u32::from(letter);
    match code {
        // Greek with a small iota below: one capital each, which the full mapping spells with two.
        0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => char::from_u32(code + 8).unwrap_or(letter),
        0x1FB3 | 0x1FC3 | 0x1FF3 => char::from_u32(code + 9).unwrap_or(letter),
        _ => single(letter.to_uppercase(), letter),
    }
}

/// Its lower case.
pub(super) fn lower(letter: char) -> char {
    if letter == '\u{130}' {
        return 'i';
    }
    single(letter.to_lowercase(), letter)
}

/// Its title case.
pub(super) fn title(letter: char) -> char {
    match u32::from(letter) {
        0x1C4..=0x1C6 => '\u{1C5}',
        0x1C7..=0x1C9 => '\u{1C8}',
        0x1CA..=0x1CC => '\u{1CB}',
        0x1F1..=0x1F3 => '\u{1F2}',
        // Georgian has capitals, and titles do not use them.
        0x10D0..=0x10FA | 0x10FD..=0x10FF => letter,
        _ => upper(letter),
    }
}

fn single(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(letter), None) => letter,
        _ => otherwise,
    }
}
