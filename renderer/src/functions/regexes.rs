//! Regular expressions with Go's syntax and results, in time linear in text and pattern.
//!
//! Patterns are brought from Go's syntax to ours in `syntax`, which also says what they cost. A pattern that is none is an
//! error for all but `regexMatch`, which Sprig has answer that nothing matches.

use regex::{Captures, Regex, RegexBuilder};

use crate::budget::{Budget, Exceeded};
use crate::failure::Failure;
use crate::value::Value;

use super::arguments::{made, text};
use super::go_format::Writer;
use super::numbers::whole;
use super::{Entry, letters};

mod syntax;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("regexMatch", 2, 2, regex_match),
    Entry::new("mustRegexMatch", 2, 2, must_regex_match),
    Entry::new("regexFindAll", 3, 3, find_all),
    Entry::new("mustRegexFindAll", 3, 3, find_all),
    Entry::new("regexFind", 2, 2, find),
    Entry::new("mustRegexFind", 2, 2, find),
    Entry::new("regexReplaceAll", 3, 3, replace_all),
    Entry::new("mustRegexReplaceAll", 3, 3, replace_all),
    Entry::new("regexReplaceAllLiteral", 3, 3, replace_all_literal),
    Entry::new("mustRegexReplaceAllLiteral", 3, 3, replace_all_literal),
    Entry::new("regexSplit", 3, 3, split),
    Entry::new("mustRegexSplit", 3, 3, split),
    Entry::new("regexQuoteMeta", 1, 1, quote_meta),
];

/// Bytes a pattern may have.
const LONGEST: usize = 64 << 10;
/// Bytes a compiled pattern may take.
const COMPILED: usize = 2 << 20;
/// What an item of a list takes besides its text.
const ITEM: u64 = 48;
/// States times bytes of text that one step pays for: a search may look at every state for every byte, in about 4 ns each.
const WORK: u64 = 256;
/// Steps for what compiling any pattern takes, however short.
const COMPILING: u64 = 200;

/// A compiled pattern and what it costs to run it over one byte.
struct Pattern {
    regex: Regex,
    states: u64,
    ahead: Option<usize>,
}

impl Pattern {
    fn new(budget: &Budget, pattern: &str) -> Result<Self, Failure> {
        budget.steps(pattern.len() as u64 / 4 + COMPILING)?;
        let wrong = |why: &str| Failure::argument(format!("`{}` is no regular expression: {why}", shortened(pattern)));
        if pattern.len() > LONGEST {
            return Err(Exceeded::Memory(COMPILED as u64).into());
        }
        let translated = syntax::translate(pattern).map_err(|why| wrong(&why))?;
        budget.steps(translated.states.saturating_mul(4))?;
        let regex = RegexBuilder::new(&translated.pattern)
            .size_limit(COMPILED)
            .nest_limit(syntax::MAX_NESTING * 2)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => Exceeded::Memory(COMPILED as u64).into(),
                _ => wrong("it is not understood"),
            })?;
        Ok(Self { regex, states: translated.states, ahead: translated.ahead })
    }

    /// Pays for one search through so many bytes.
    fn pay(&self, budget: &Budget, bytes: usize) -> Result<(), Failure> {
        Ok(budget.steps((bytes as u64).saturating_mul(self.states + 8) / WORK + 1)?)
    }

    /// All matches from left to right, at most `most`. The whole text is paid for once, and after each match what the search
    /// before it may have looked at beyond its end: that much is looked at again.
    fn each<'t>(
        &self,
        budget: &Budget,
        subject: &'t str,
        most: Option<usize>,
        mut visit: impl FnMut(Captures<'t>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if most == Some(0) {
            return Ok(());
        }
        self.pay(budget, subject.len())?;
        for (at, captures) in self.regex.captures_iter(subject).enumerate() {
            let end = captures.get(0).map_or(0, |all| all.end());
            visit(captures)?;
            if most.is_some_and(|most| at + 1 >= most) {
                break;
            }
            let rest = subject.len() - end;
            self.pay(budget, self.ahead.map_or(rest, |ahead| rest.min(ahead)))?;
        }
        Ok(())
    }
}

fn shortened(pattern: &str) -> &str {
    &pattern[..pattern.floor_char_boundary(80)]
}

fn regex_match(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    // What is no pattern matches nothing, as in Sprig; one that is too large for us is an error all the same.
    match must_regex_match(budget, arguments) {
        Err(Failure::Argument(_)) if text(arguments, 0).is_ok() && text(arguments, 1).is_ok() => Ok(false.into()),
        other => other,
    }
}

fn must_regex_match(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (pattern, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    let pattern = Pattern::new(budget, pattern)?;
    pattern.pay(budget, subject.len())?;
    Ok(pattern.regex.is_match(subject).into())
}

fn find(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (pattern, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    let pattern = Pattern::new(budget, pattern)?;
    pattern.pay(budget, subject.len())?;
    made(budget, pattern.regex.find(subject).map_or("", |found| found.as_str()))
}

fn find_all(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (pattern, subject, most) = (text(arguments, 0)?, text(arguments, 1)?, whole(arguments, 2)?);
    let mut found = Vec::new();
    Pattern::new(budget, pattern)?.each(budget, subject, usize::try_from(most).ok(), |captures| {
        budget.memory(captures[0].len() as u64 + ITEM)?;
        found.push(Value::from(&captures[0]));
        Ok(())
    })?;
    Ok(Value::list(found)?)
}

fn replace_all(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let template = text(arguments, 2)?;
    replaced(budget, arguments, |writer, captures| expand(budget, writer, template, captures))
}

fn replace_all_literal(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let literal = text(arguments, 2)?;
    replaced(budget, arguments, |writer, _| writer.push(literal))
}

fn replaced(
    budget: &Budget,
    arguments: &[Value],
    mut replacement: impl FnMut(&mut Writer<'_>, &Captures<'_>) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    let (pattern, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    let mut writer = Writer::new(budget);
    let mut done = 0;
    Pattern::new(budget, pattern)?.each(budget, subject, None, |captures| {
        let Some(all) = captures.get(0) else { return Ok(()) };
        writer.push(&subject[done..all.start()])?;
        done = all.end();
        replacement(&mut writer, &captures)
    })?;
    writer.push(&subject[done..])?;
    Ok(writer.finish().into())
}

/// Writes the template with `$1`, `$name` and `${name}` replaced by their groups; `$$` is a dollar. A name is as long as
/// it can be, so that `$1x` is the group `1x`, which there is not.
fn expand(budget: &Budget, writer: &mut Writer<'_>, template: &str, captures: &Captures<'_>) -> Result<(), Failure> {
    budget.steps(template.len() as u64 / 16 + 1)?;
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        writer.push(before)?;
        if let Some(after) = after.strip_prefix('$') {
            writer.push("$")?;
            rest = after;
        } else if let Some((name, after)) = group_name(after) {
            let group = match group_number(name) {
                Some(number) => captures.get(number),
                None => captures.name(name),
            };
            writer.push(group.map_or("", |group| group.as_str()))?;
            rest = after;
        } else {
            writer.push("$")?;
            rest = after;
        }
    }
    writer.push(rest)
}

/// A number as Go counts groups: zeros in front make a name of it.
fn group_number(name: &str) -> Option<usize> {
    let plain = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    if plain { name.parse().ok() } else { None }
}

fn group_name(text: &str) -> Option<(&str, &str)> {
    let (braced, inner) = match text.strip_prefix('{') {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let is_part = |letter: char| letter == '_' || letter.is_numeric() || letters::is_letter(letter);
    let (name, rest) = inner.split_at(inner.find(|letter| !is_part(letter)).unwrap_or(inner.len()));
    if name.is_empty() {
        return None;
    }
    if braced { rest.strip_prefix('}').map(|rest| (name, rest)) } else { Some((name, rest)) }
}

fn split(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (pattern, subject, most) = (text(arguments, 0)?, text(arguments, 1)?, whole(arguments, 2)?);
    let compiled = Pattern::new(budget, pattern)?;
    let most = usize::try_from(most).ok();
    let mut pieces: Vec<Value> = Vec::new();
    if most == Some(0) {
        return Ok(Value::empty_list());
    }
    if !pattern.is_empty() && subject.is_empty() {
        return Ok(Value::list(vec![Value::from("")])?);
    }
    let keep = |piece: &str, pieces: &mut Vec<Value>| -> Result<(), Failure> {
        budget.memory(piece.len() as u64 + ITEM)?;
        pieces.push(Value::from(piece));
        Ok(())
    };
    let (mut start, mut end) = (0, 0);
    compiled.each(budget, subject, most, |captures| {
        let full = most.is_some_and(|most| pieces.len() + 1 >= most);
        let Some(all) = captures.get(0).filter(|_| !full) else { return Ok(()) };
        end = all.start();
        if all.end() != 0 {
            keep(&subject[start..end], &mut pieces)?;
        }
        start = all.end();
        Ok(())
    })?;
    if end != subject.len() {
        keep(&subject[start..], &mut pieces)?;
    }
    Ok(Value::list(pieces)?)
}

fn quote_meta(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.memory(subject.len() as u64 * 2)?;
    let mut out = String::with_capacity(subject.len() + 8);
    for letter in subject.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    Ok(out.into())
}
