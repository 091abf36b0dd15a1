//! Classes of characters and escapes: `[...]`, `\d`, `\pL`, `[:alpha:]`, `\x41`.

use std::fmt::Write as _;

/// What a class of so many bytes of tables costs: a few ranges, or all of a part of Unicode.
const FEW: u64 = 4;
const MANY: u64 = 12;
const UNICODE: u64 = 400;

/// How far to look for the end of `[:name:]`.
const NAMED: usize = 16;

/// `\d` and its kin, and `\p`, after the backslash; nothing when it is another escape.
pub(super) fn escaped(rest: &mut &str, inside: bool) -> Result<Option<(String, u64)>, String> {
    let Some(letter) = rest.chars().next() else { return Ok(None) };
    let ranges = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\x{0C}\r ",
        'w' => "0-9A-Za-z_",
        'p' => return unicode(rest).map(Some),
        _ => return Ok(None),
    };
    *rest = &rest[1..];
    let negated = letter.is_ascii_uppercase();
    let sign = if negated { "^" } else { "" };
    let written = match (inside, negated) {
        (true, false) => ranges.to_owned(),
        (true, true) => format!("[^{ranges}]"),
        (false, _) => format!("[{sign}{ranges}]"),
    };
    Ok(Some((written, if negated { MANY } else { FEW })))
}

fn unicode(rest: &mut &str) -> Result<(String, u64), String> {
    let mut letters = rest.chars();
    let mut negated = letters.next() == Some('P');
    let name = match letters.next() {
        Some('{') => {
            let (name, after) = letters.as_str().split_once('}').ok_or("a `}` is missing")?;
            *rest = after;
            match name.strip_prefix('^') {
                Some(name) => {
                    negated = !negated;
                    name.to_owned()
                }
                None => name.to_owned(),
            }
        }
        Some(letter) => {
            *rest = letters.as_str();
            letter.to_string()
        }
        None => return Err(r"`\p` names no class".into()),
    };
    if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphabetic()) {
        return Err(r"`\p` names no class".into());
    }
    Ok((format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' }), UNICODE))
}

/// One character after a backslash.
pub(super) fn character(rest: &mut &str) -> Result<char, String> {
    let Some(letter) = rest.chars().next() else { return Err("it ends with a backslash".into()) };
    let unknown = || format!("`\\{letter}` is not known");
    if let Some(digits) = octal(rest) {
        let code = u32::from_str_radix(&rest[..digits], 8).map_err(|_| unknown())?;
        *rest = &rest[digits..];
        return char::from_u32(code).ok_or_else(unknown);
    }
    *rest = &rest[letter.len_utf8()..];
    match letter {
        'a' => Ok('\u{7}'),
        'f' => Ok('\u{c}'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\u{b}'),
        'x' => hexadecimal(rest).ok_or_else(unknown),
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
        _ => Err(unknown()),
    }
}

/// How many octal digits there are, up to three; a single one that is not 0 would be a back reference.
fn octal(text: &str) -> Option<usize> {
    let digits = text.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    (digits > 1 || text.starts_with('0')).then_some(digits)
}

fn hexadecimal(rest: &mut &str) -> Option<char> {
    let (digits, after) = match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => rest.split_at_checked(2)?,
    };
    *rest = after;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

/// A class after its `[`.
pub(super) fn bracketed(rest: &mut &str) -> Result<(String, u64), String> {
    let missing = "a `]` is missing";
    let mut out = String::from("[");
    let mut states = FEW;
    if let Some(after) = rest.strip_prefix('^') {
        *rest = after;
        out.push('^');
        states = MANY;
    }
    let mut first = true;
    loop {
        if rest.is_empty() {
            return Err(missing.into());
        }
        if let Some(after) = rest.strip_prefix(']').filter(|_| !first) {
            *rest = after;
            out.push(']');
            return Ok((out, states));
        }
        first = false;
        if let Some(named) = posix(rest)? {
            out.push_str(named);
            continue;
        }
        if let Some(mut after) = rest.strip_prefix('\\')
            && let Some((written, cost)) = escaped(&mut after, true)?
        {
            *rest = after;
            out.push_str(&written);
            states += cost;
            continue;
        }
        states += range(rest, &mut out)?;
    }
}

/// `[:alpha:]`; nothing when it is none.
fn posix<'a>(rest: &mut &'a str) -> Result<Option<&'a str>, String> {
    let near = &rest[..rest.floor_char_boundary(NAMED)];
    let Some(end) = near.strip_prefix("[:").and_then(|inside| inside.find(":]")) else { return Ok(None) };
    let (named, after) = rest.split_at(end + 4);
    let name = named[2..end + 2].trim_start_matches('^');
    let known = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "word", "xdigit",
    ];
    if !known.contains(&name) {
        return Err(format!("`[:{}:]` is not known", name.chars().take(12).collect::<String>()));
    }
    *rest = after;
    Ok(Some(named))
}

fn range(rest: &mut &str, out: &mut String) -> Result<u64, String> {
    let low = member(rest)?;
    let mut high = low;
    if rest.starts_with('-') && rest.len() > 1 && !rest.starts_with("-]") {
        *rest = &rest[1..];
        high = member(rest)?;
    }
    if high < low {
        return Err(format!("the range `{low}-{high}` runs backwards"));
    }
    // Writing into a string cannot fail.
    let _ = write!(out, r"\x{{{:X}}}-\x{{{:X}}}", u32::from(low), u32::from(high));
    Ok(if high.is_ascii() { 1 } else { MANY })
}

fn member(rest: &mut &str) -> Result<char, String> {
    if let Some(after) = rest.strip_prefix('\\') {
        *rest = after;
        return character(rest);
    }
    let letter = rest.chars().next().ok_or("a `]` is missing")?;
    *rest = &rest[letter.len_utf8()..];
    Ok(letter)
}
