//! Text that Helm's reader of YAML takes and the parser does not: quoted text whose next lines begin too far left.
//!
//! White space at the beginning of such a line means nothing, so more of it is put there.

use super::Problem;

/// What the parser says of such a line.
const REFUSAL: &str = "invalid indentation in multiline quoted scalar";
/// Spaces that are far enough right for any document.
const FAR: &str =
    "                                                                                                    ";
/// Quoted texts that are mended in one file.
pub(super) const MOST: usize = 500;

/// The text with the line that a problem is about moved to the right, and all after it up to the closing quote.
pub(super) fn relaxed(text: &str, problem: &Problem) -> Option<String> {
    if !problem.message.contains(REFUSAL) {
        return None;
    }
    let at = problem.span.line.checked_sub(1)? as usize;
    let before = text.lines().take(at).collect::<Vec<_>>();
    let quote = before.iter().rev().find_map(|line| opening(line))?;
    let mut is_open = true;
    let mut relaxed = String::with_capacity(text.len() + 4096);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number >= at && is_open {
            if line.starts_with(FAR) {
                return None;
            }
            relaxed.push_str(FAR);
            is_open = !closes(line, quote);
        }
        relaxed.push_str(line);
    }
    Some(relaxed)
}

/// The quote with which a value begins on this line.
fn opening(line: &str) -> Option<char> {
    let mut found = None;
    for (at, letter) in line.char_indices().filter(|(_, letter)| matches!(letter, '\'' | '"')) {
        let before = line[..at].trim_end();
        let begins = before.is_empty() || before.ends_with([':', '-', ',', '[', '{', '?']);
        if begins && found.is_none() {
            found = Some(letter);
        }
    }
    found
}

/// Whether the quoted text ends on this line.
fn closes(line: &str, quote: char) -> bool {
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quote == '"' => {
                letters.next();
            }
            letter if letter == quote => {
                if quote == '\'' && letters.peek() == Some(&'\'') {
                    letters.next();
                } else {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
