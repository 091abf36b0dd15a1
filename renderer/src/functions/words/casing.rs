//! Splits an identifier into words and joins them in another case.
//!
//! Snake and kebab case keep numbers with the word before (`bld4_floor`), unless small letters follow (`http_2xx`).

use crate::functions::letters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    /// Starts with a capital: `Word` or `HTTP`.
    Capital,
    Small,
    Connector,
    Punctuation,
    /// Symbols and scripts that are not spelled with letters.
    Other,
}

fn is_connector(letter: char) -> bool {
    letter == '-' || letter == '_' || letter.is_whitespace()
}

fn is_spelled(letter: char) -> bool {
    let ideograph = matches!(u32::from(letter), 0x3400..=0x4D85 | 0x4E00..=0x9FCC | 0x2_0000..=0x2_B81D);
    !ideograph && letters::is_letter(letter)
}

fn is_small(letter: char) -> bool {
    is_spelled(letter) && !letters::is_upper(letter)
}

fn kind_of(letter: char) -> Kind {
    if is_connector(letter) {
        Kind::Connector
    } else if letters::is_punctuation(letter) {
        Kind::Punctuation
    } else if letters::is_upper(letter) {
        Kind::Capital
    } else if is_spelled(letter) {
        Kind::Small
    } else if letter.is_numeric() {
        Kind::Number
    } else {
        Kind::Other
    }
}

/// What is left to split.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(Kind, &'a str)> {
        let first = self.rest.chars().next()?;
        let kind = kind_of(first);
        let tail = &self.rest[first.len_utf8()..];
        let more = match kind {
            Kind::Connector => length_while(tail, is_connector),
            Kind::Punctuation => length_while(tail, letters::is_punctuation),
            Kind::Small => length_while(tail, is_small),
            Kind::Number => length_while(tail, char::is_numeric),
            Kind::Other => length_while(tail, |letter| matches!(kind_of(letter), Kind::Other)),
            Kind::Capital => capitals(tail),
        };
        let (word, rest) = self.rest.split_at(first.len_utf8() + more);
        self.rest = rest;
        Some((kind, word))
    }
}

/// How far a word goes on after its capital: through small letters, or through more capitals, of which the last belongs
/// to the next word when small letters follow it.
fn capitals(tail: &str) -> usize {
    let end = length_while(tail, letters::is_upper);
    if end == 0 {
        return length_while(tail, is_small);
    }
    match tail[end..].chars().next() {
        Some(next) if is_spelled(next) => end - tail[..end].chars().next_back().map_or(0, char::len_utf8),
        _ => end,
    }
}

fn length_while(text: &str, wanted: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !wanted(letter)).unwrap_or(text.len())
}

/// Snake or kebab case.
pub(super) fn connected(text: &str, connector: char) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut words = Words { rest: text };
    let mut current = words.next();
    while !words.rest.is_empty() {
        let Some((kind, word)) = current else { break };
        write(&mut out, (kind, word), connector);
        current = words.next();
        match kind {
            Kind::Connector | Kind::Punctuation => {}
            Kind::Number => {
                current = write_small(&mut out, &mut words, current, connector);
                gap(&mut out, current, connector);
            }
            Kind::Capital | Kind::Small | Kind::Other => match current {
                Some((Kind::Number, _)) if words.rest.is_empty() => {}
                Some(number @ (Kind::Number, _)) => {
                    current = words.next();
                    if matches!(current, Some((Kind::Small, _))) {
                        out.push(connector);
                    }
                    write(&mut out, number, connector);
                    if matches!(current, Some((Kind::Small, _))) {
                        current = write_small(&mut out, &mut words, current, connector);
                    }
                    gap(&mut out, current, connector);
                }
                other => gap(&mut out, other, connector),
            },
        }
    }
    if let Some(last) = current {
        write(&mut out, last, connector);
    }
    out
}

/// Small words and numbers, as many as follow each other; returns what comes after.
fn write_small<'a>(
    out: &mut String,
    words: &mut Words<'a>,
    mut current: Option<(Kind, &'a str)>,
    connector: char,
) -> Option<(Kind, &'a str)> {
    while let Some(word @ (Kind::Small | Kind::Number, _)) = current {
        write(out, word, connector);
        current = words.next();
    }
    current
}

fn gap(out: &mut String, next: Option<(Kind, &str)>, connector: char) {
    if next.is_some_and(|(kind, _)| !matches!(kind, Kind::Connector | Kind::Punctuation)) {
        out.push(connector);
    }
}

fn write(out: &mut String, (kind, word): (Kind, &str), connector: char) {
    match kind {
        Kind::Connector => out.extend(word.chars().map(|_| connector)),
        Kind::Capital => {
            out.extend(
                word.chars().map(|letter| if letters::is_upper(letter) { letters::lower(letter) } else { letter }),
            );
        }
        Kind::Number | Kind::Small | Kind::Punctuation | Kind::Other => out.push_str(word),
    }
}

/// Camel case that starts with a capital.
pub(super) fn camel(text: &str) -> String {
    let start = text.find(|letter| !is_connector(letter)).unwrap_or(text.len());
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..start]);
    if start == text.len() {
        // Go's library writes the last one twice when there is nothing else.
        out.extend(text.chars().next_back());
        return out;
    }
    let mut starts = true;
    let mut shouting = false;
    let mut held = None;
    for letter in text[start..].chars() {
        if is_connector(letter) {
            out.extend(held.replace(letter));
        } else if held.take().is_some() || std::mem::take(&mut starts) {
            shouting = letters::is_upper(letter);
            out.push(letters::upper(letter));
        } else {
            shouting &= letters::is_upper(letter);
            out.push(if shouting { letters::lower(letter) } else { letter });
        }
    }
    out.extend(held);
    out
}
