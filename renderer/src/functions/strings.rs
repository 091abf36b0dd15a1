//! Text in, text out: trimming, cutting, repeating, replacing, quoting, searching.
//!
//! Lengths and positions are bytes, as in Go; a cut inside a character moves to the character's edge, so that what comes
//! out is always text. Cases and words are in `words`, lists of text in `splitting`.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::arguments::{made, text};
use super::numbers::{scan, whole};
use super::{Entry, go_format, letters};

#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] = &[
    Entry::new("trim", 1, 1, trim),
    Entry::new("trimAll", 2, 2, trim_all),
    Entry::new("trimall", 2, 2, trim_all),
    Entry::new("trimSuffix", 2, 2, trim_suffix),
    Entry::new("trimPrefix", 2, 2, trim_prefix),
    Entry::new("upper", 1, 1, upper),
    Entry::new("lower", 1, 1, lower),
    Entry::new("repeat", 2, 2, repeat),
    Entry::new("substr", 3, 3, substr),
    Entry::new("nospace", 1, 1, nospace),
    Entry::new("trunc", 2, 2, trunc),
    Entry::new("contains", 2, 2, contains),
    Entry::new("hasPrefix", 2, 2, has_prefix),
    Entry::new("hasSuffix", 2, 2, has_suffix),
    Entry::variadic("quote", 0, quote),
    Entry::variadic("squote", 0, squote),
    Entry::variadic("cat", 0, cat),
    Entry::new("indent", 2, 2, indent),
    Entry::new("nindent", 2, 2, nindent),
    Entry::new("replace", 3, 3, replace),
    Entry::new("plural", 3, 3, plural),
    Entry::variadic("print", 0, print),
    Entry::variadic("printf", 1, printf),
    Entry::variadic("println", 0, println),
    Entry::variadic("html", 0, html),
    Entry::variadic("js", 0, js),
];

fn trim(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    made(budget, text(arguments, 0)?.trim())
}

fn trim_all(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (cut, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    // Each end is looked at letter by letter, each letter compared with all that are to go.
    let letters = cut.chars().count() as u64;
    budget.steps((subject.len() as u64).saturating_mul(letters) / 64 + 1)?;
    made(budget, subject.trim_matches(|letter| cut.contains(letter)))
}

fn trim_suffix(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (suffix, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    made(budget, subject.strip_suffix(suffix).unwrap_or(subject))
}

fn trim_prefix(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (prefix, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    made(budget, subject.strip_prefix(prefix).unwrap_or(subject))
}

fn upper(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    mapped(budget, text(arguments, 0)?, letters::upper)
}

fn lower(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    mapped(budget, text(arguments, 0)?, letters::lower)
}

/// Every character replaced by another.
pub(super) fn mapped(budget: &Budget, subject: &str, map: impl FnMut(char) -> char) -> Result<Value, Failure> {
    budget.memory(subject.len() as u64 * 2)?;
    Ok(subject.chars().map(map).collect::<String>().into())
}

fn repeat(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 1)?;
    let count = count(arguments, 0)?;
    budget.memory((subject.len() as u64).saturating_mul(count as u64))?;
    Ok(subject.repeat(count).into())
}

/// A whole number that counts something.
fn count(arguments: &[Value], at: usize) -> Result<usize, Failure> {
    let count = whole(arguments, at)?;
    usize::try_from(count).map_err(|_| Failure::argument(format!("argument {} must not be negative", at + 1)))
}

fn substr(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (start, end, subject) = (whole(arguments, 0)?, whole(arguments, 1)?, text(arguments, 2)?);
    let outside = || Failure::argument(format!("{start} to {end} lies outside of a text of {} bytes", subject.len()));
    let (start, end) = match (usize::try_from(start), usize::try_from(end)) {
        (Err(_), Err(_)) => return Err(outside()),
        (Err(_), Ok(end)) => (0, end),
        (Ok(start), Ok(end)) if end <= subject.len() => (start, end),
        (Ok(start), _) => (start, subject.len()),
    };
    if start > end || end > subject.len() {
        return Err(outside());
    }
    let (start, end) = (subject.ceil_char_boundary(start), subject.floor_char_boundary(end));
    made(budget, subject.get(start..end).unwrap_or_default())
}

fn nospace(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let subject = text(arguments, 0)?;
    budget.memory(subject.len() as u64)?;
    Ok(subject.chars().filter(|letter| !letter.is_whitespace()).collect::<String>().into())
}

fn trunc(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (length, subject) = (whole(arguments, 0)?, text(arguments, 1)?);
    let wanted = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted >= subject.len() {
        return Ok(arguments[1].clone());
    }
    if length < 0 {
        return made(budget, &subject[subject.ceil_char_boundary(subject.len() - wanted)..]);
    }
    made(budget, &subject[..subject.floor_char_boundary(wanted)])
}

fn contains(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (part, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    scan(budget, subject.len().saturating_add(part.len()))?;
    Ok(subject.contains(part).into())
}

fn has_prefix(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (prefix, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    scan(budget, prefix.len())?;
    Ok(subject.starts_with(prefix).into())
}

fn has_suffix(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (suffix, subject) = (text(arguments, 0)?, text(arguments, 1)?);
    scan(budget, suffix.len())?;
    Ok(subject.ends_with(suffix).into())
}

fn quote(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut parts = Vec::new();
    for value in arguments.iter().filter(|value| **value != Value::Null) {
        let shown = go_format::display(budget, value)?;
        parts.push(go_format::quoted(budget, &shown)?);
    }
    joined(budget, parts)
}

fn squote(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut parts = Vec::new();
    for value in arguments.iter().filter(|value| **value != Value::Null) {
        let shown = go_format::display(budget, value)?;
        budget.memory(shown.len() as u64 + 2)?;
        parts.push(format!("'{shown}'"));
    }
    joined(budget, parts)
}

fn cat(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let mut writer = go_format::Writer::new(budget);
    for (at, value) in arguments.iter().filter(|value| **value != Value::Null).enumerate() {
        if at > 0 {
            writer.push(" ")?;
        }
        writer.value(value)?;
    }
    Ok(writer.finish().into())
}

/// Parts that are paid for, with spaces between.
fn joined(budget: &Budget, mut parts: Vec<String>) -> Result<Value, Failure> {
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).into());
    }
    budget.memory(parts.iter().map(|part| part.len() as u64 + 1).sum())?;
    Ok(parts.join(" ").into())
}

fn indent(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    indented(budget, arguments, "")
}

fn nindent(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    indented(budget, arguments, "\n")
}

fn indented(budget: &Budget, arguments: &[Value], before: &str) -> Result<Value, Failure> {
    let subject = text(arguments, 1)?;
    let width = count(arguments, 0)?;
    let lines = subject.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
    let length = (width as u64).saturating_mul(lines).saturating_add(subject.len() as u64 + 1);
    budget.memory(length)?;
    let mut out = String::with_capacity(usize::try_from(length).unwrap_or(0));
    out.push_str(before);
    for (at, line) in subject.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.extend(std::iter::repeat_n(' ', width));
        out.push_str(line);
    }
    Ok(out.into())
}

fn replace(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (old, new, subject) = (text(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);
    scan(budget, subject.len().saturating_add(old.len()))?;
    let count = subject.matches(old).count() as u64;
    budget.memory((subject.len() as u64).saturating_add(count.saturating_mul(new.len() as u64)))?;
    Ok(subject.replace(old, new).into())
}

fn plural(_: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    text(arguments, 0)?;
    text(arguments, 1)?;
    let chosen = if whole(arguments, 2)? == 1 { &arguments[0] } else { &arguments[1] };
    Ok(chosen.clone())
}

fn print(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(go_format::sprint(budget, arguments)?.into())
}

fn printf(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(go_format::sprintf(budget, text(arguments, 0)?, &arguments[1..])?.into())
}

fn println(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    Ok(go_format::sprintln(budget, arguments)?.into())
}

/// What the escapers of text/template escape: all arguments printed, null with the words Go's templates have for it.
pub(super) fn printed(budget: &Budget, arguments: &[Value]) -> Result<String, Failure> {
    let shown: Vec<Value> = arguments
        .iter()
        .map(|value| if *value == Value::Null { Value::from("<no value>") } else { value.clone() })
        .collect();
    go_format::sprint(budget, &shown)
}

fn html(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let plain = printed(budget, arguments)?;
    let mut writer = go_format::Writer::new(budget);
    for letter in plain.chars() {
        match letter {
            '\0' => writer.push("\u{fffd}")?,
            '"' => writer.push("&#34;")?,
            '\'' => writer.push("&#39;")?,
            '&' => writer.push("&amp;")?,
            '<' => writer.push("&lt;")?,
            '>' => writer.push("&gt;")?,
            other => writer.fill(other, 1)?,
        }
    }
    Ok(writer.finish().into())
}

fn js(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let plain = printed(budget, arguments)?;
    let mut writer = go_format::Writer::new(budget);
    for letter in plain.chars() {
        match letter {
            '\\' => writer.push("\\\\")?,
            '\'' => writer.push("\\'")?,
            '"' => writer.push("\\\"")?,
            '<' | '>' | '&' | '=' => writer.push(&format!("\\u{:04X}", u32::from(letter)))?,
            other if letters::is_printable(other) || other == '\u{7f}' => writer.fill(other, 1)?,
            other => writer.push(&format!("\\u{:04X}", u32::from(other)))?,
        }
    }
    Ok(writer.finish().into())
}
