//! Cases and words: titles, initials, snake and camel case, wrapping and abbreviating.
//!
//! Lengths are bytes, as in Go; cuts move to the edge of a character. Turning case into words is in `casing`.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::arguments::{made, text};
use super::numbers::whole;
use super::strings::mapped;
use super::{Entry, go_format, letters};

mod casing;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("title", 1, 1, title),
    Entry::new("untitle", 1, 1, untitle),
    Entry::new("swapcase", 1, 1, swapcase),
    Entry::new("initials", 1, 1, initials),
    Entry::new("snakecase", 1, 1, snakecase),
    Entry::new("kebabcase", 1, 1, kebabcase),
    Entry::new("camelcase", 1, 1, camelcase),
    Entry::new("abbrev", 2, 2, abbrev),
    Entry::new("abbrevboth", 3, 3, abbrevboth),
    Entry::new("wrap", 2, 2, wrap),
    Entry::new("wrapWith", 3, 3, wrap_with),
];

fn title(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut before = ' ';
    mapped(budget, text(arguments, 0)?, |letter| {
        let starts = separates(before);
        before = letter;
        if starts { letters::title(letter) } else { letter }
    })
}

/// Whether a new word may start after it.
fn separates(letter: char) -> bool {
    match letter {
        '_' => false,
        ascii if ascii.is_ascii() => !ascii.is_ascii_alphanumeric(),
        other => other.is_whitespace(),
    }
}

fn untitle(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut starts = true;
    mapped(budget, text(arguments, 0)?, |letter| {
        if letter.is_whitespace() {
            starts = true;
            return letter;
        }
        if std::mem::take(&mut starts) { letters::lower(letter) } else { letter }
    })
}

fn swapcase(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut starts = true;
    mapped(budget, text(arguments, 0)?, |letter| {
        let swapped = if letters::is_upper(letter) || letters::is_title(letter) {
            letters::lower(letter)
        } else if letters::is_lower(letter) {
            if starts { letters::title(letter) } else { letters::upper(letter) }
        } else {
            starts = letter.is_whitespace();
            return letter;
        };
        starts = false;
        swapped
    })
}

fn initials(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.memory(subject.len() as u64)?;
    Ok(subject.split_whitespace().filter_map(|word| word.chars().next()).collect::<String>().into())
}

fn snakecase(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    connected(budget, text(arguments, 0)?, '_')
}

fn kebabcase(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    connected(budget, text(arguments, 0)?, '-')
}

fn connected(budget: &Budget, subject: &str, connector: char) -> Result<Value, Failure> {
    budget.steps(subject.len() as u64 / 8 + 1)?;
    budget.memory(subject.len() as u64 * 2)?;
    Ok(casing::connected(subject, connector).into())
}

fn camelcase(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.steps(subject.len() as u64 / 8 + 1)?;
    budget.memory(subject.len() as u64 * 2)?;
    Ok(casing::camel(subject).into())
}

fn abbrev(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (width, subject) = (whole(arguments, 0)?, text(arguments, 1)?);
    if width < 4 {
        return Ok(arguments[1].clone());
    }
    budget.memory(subject.len() as u64)?;
    Ok(abbreviated(subject, 0, width).into())
}

fn abbrevboth(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (left, right, subject) = (whole(arguments, 0)?, whole(arguments, 1)?, text(arguments, 2)?);
    if right < 4 || left > 0 && right < 7 {
        return Ok(arguments[2].clone());
    }
    budget.memory(subject.len() as u64)?;
    Ok(abbreviated(subject, left, right).into())
}

/// The text in no more than `width` bytes, around what stands at `offset`, with dots for what is left out.
fn abbreviated(subject: &str, offset: i64, width: i64) -> String {
    let (Ok(width), offset) = (usize::try_from(width), usize::try_from(offset).unwrap_or(0)) else {
        return subject.into();
    };
    if subject.len() <= width {
        return subject.into();
    }
    let room = width - 3;
    let last = subject.len() - room;
    let offset = offset.min(last);
    if offset <= 4 {
        return format!("{}...", &subject[..subject.floor_char_boundary(room)]);
    }
    if offset < last {
        let offset = subject.ceil_char_boundary(offset);
        let middle = subject.floor_char_boundary((offset + room).saturating_sub(3)).max(offset);
        return format!("...{}...", &subject[offset..middle]);
    }
    format!("...{}", &subject[subject.ceil_char_boundary(last)..])
}

fn wrap(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (width, subject) = (whole(arguments, 0)?, text(arguments, 1)?);
    wrapped(budget, subject, width, "\n", false)
}

fn wrap_with(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (width, between, subject) = (whole(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);
    wrapped(budget, subject, width, if between.is_empty() { "\n" } else { between }, true)
}

fn wrapped(budget: &Budget, subject: &str, width: i64, between: &str, cut_words: bool) -> Result<Value, Failure> {
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    if subject.len() <= width {
        return made(budget, subject);
    }
    let mut writer = go_format::Writer::new(budget);
    let mut rest = subject;
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(' ') {
            rest = after;
            continue;
        }
        let line = rest.as_bytes()[..=width].iter().rposition(|byte| *byte == b' ');
        let (end, skip) = match line {
            Some(space) => (space, 1),
            None if cut_words && inside(rest, width) == rest.len() => break,
            None if cut_words => (inside(rest, width), 0),
            None => match rest.as_bytes()[width..].iter().position(|byte| *byte == b' ') {
                Some(space) => (width + space, 1),
                None => break,
            },
        };
        writer.push(&rest[..end])?;
        writer.push(between)?;
        rest = &rest[end + skip..];
    }
    writer.push(rest)?;
    Ok(writer.finish().into())
}

/// The edge of a character at or before `at`, but not at the start: a line takes at least one.
fn inside(text: &str, at: usize) -> usize {
    match text.floor_char_boundary(at) {
        0 => text.ceil_char_boundary(at.max(1)),
        edge => edge,
    }
}
