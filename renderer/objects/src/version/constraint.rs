//! Constraints on versions: `^1.2`, `~1.2.3`, `>=1, <2`, `1.x`, `1.2 - 1.4`, `a || b`.
//!
//! A prerelease is admitted only by a group of constraints of which one names a prerelease.

use std::cmp::Ordering;

use super::Version;

/// Bytes a constraint may have, and alternatives.
const LONGEST: usize = 512;
const ALTERNATIVES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The longer ones first, since a shorter one may be the start of a longer.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// How much of a version a constraint names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Nothing,
    Major,
    Minor,
    All,
}

/// One condition.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    operator: Operator,
    major: u64,
    minor: u64,
    patch: u64,
    prerelease: String,
    named: Named,
}

/// The alternatives, each a group of conditions that must all hold; nothing when it cannot be read.
pub(super) fn parse(text: &str) -> Option<Vec<Vec<Constraint>>> {
    if text.len() > LONGEST {
        return None;
    }
    let rewritten = without_ranges(text);
    let alternatives: Vec<&str> = rewritten.split("||").collect();
    if alternatives.len() > ALTERNATIVES {
        return None;
    }
    alternatives.into_iter().map(group).collect()
}

/// `a - b` as `>= a, <= b`.
fn without_ranges(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let from = rest.trim_start_matches(is_space);
        if let Some((low, high, after)) = range(from) {
            out.extend([">= ", low, ", <= ", high, " "]);
            rest = after;
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// The white space that Go's expressions know.
fn is_space(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}

fn range(text: &str) -> Option<(&str, &str, &str)> {
    let (low, rest) = partial(text)?;
    let rest = spaces(rest)?.strip_prefix('-').and_then(spaces)?;
    let (high, rest) = partial(rest)?;
    Some((low, high, rest.trim_start_matches(is_space)))
}

/// What follows at least one space.
fn spaces(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_space);
    (rest.len() < text.len()).then_some(rest)
}

/// Cuts off what looks like a version, maybe with parts left open.
fn partial(text: &str) -> Option<(&str, &str)> {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, 'x' | 'X' | '*' | '|');
    let mut rest = text.strip_prefix('v').unwrap_or(text);
    let after = rest.trim_start_matches(is_part);
    if after.len() == rest.len() {
        return None;
    }
    rest = after;
    for _ in 0..2 {
        match rest.strip_prefix('.').map(|more| (more, more.trim_start_matches(is_part))) {
            Some((more, after)) if after.len() < more.len() => rest = after,
            _ => break,
        }
    }
    for sign in ['-', '+'] {
        rest = rest.strip_prefix(sign).and_then(identifiers).unwrap_or(rest);
    }
    Some(text.split_at(text.len() - rest.len()))
}

/// What follows identifiers with dots between.
fn identifiers(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter == '-' || letter.is_ascii_alphanumeric();
    let mut rest = text.trim_start_matches(is_part);
    if rest.len() == text.len() {
        return None;
    }
    while let Some(more) = rest.strip_prefix('.') {
        let after = more.trim_start_matches(is_part);
        if after.len() == more.len() {
            break;
        }
        rest = after;
    }
    Some(rest)
}

/// Conditions with commas or spaces between.
fn group(text: &str) -> Option<Vec<Constraint>> {
    let mut conditions = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    loop {
        let known = OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(sign)?)));
        let (operator, after) = known.unwrap_or((Operator::Equal, rest));
        let (version, after) = partial(after.trim_start_matches(is_space))?;
        conditions.push(condition(operator, version)?);
        let trimmed = after.trim_start_matches(is_space);
        if trimmed.is_empty() {
            return Some(conditions);
        }
        rest = match trimmed.strip_prefix(',') {
            Some(next) => next.trim_start_matches(is_space),
            None if trimmed.len() < after.len() => trimmed,
            None => return None,
        };
    }
}

fn condition(operator: Operator, text: &str) -> Option<Constraint> {
    let is_open = |part: &str| matches!(part, "x" | "X" | "*");
    let plain = text.strip_prefix('v').unwrap_or(text);
    let end = plain.find(['-', '+']).unwrap_or(plain.len());
    let (numbers, suffix) = plain.split_at(end);
    let parts: Vec<&str> = numbers.split('.').collect();
    let open = parts.iter().position(|part| is_open(part)).unwrap_or(parts.len());
    let named = match open {
        0 => Named::Nothing,
        1 => Named::Major,
        2 => Named::Minor,
        _ => Named::All,
    };
    // What is left open counts as zero; what follows it is not looked at.
    let known = parts[..open].join(".");
    let known = if known.is_empty() { "0" } else { &known };
    let suffix = if named == Named::All { suffix } else { suffix.split('+').next().unwrap_or_default() };
    let written = format!("{known}{suffix}");
    let version = Version::parse(&written)?;
    Some(Constraint {
        operator,
        major: version.major,
        minor: version.minor,
        patch: version.patch,
        prerelease: version.prerelease.to_owned(),
        named,
    })
}

/// Whether the version meets all conditions of the group.
pub(super) fn admits(group: &[Constraint], version: &Version<'_>) -> bool {
    let with_prereleases = group.iter().any(|constraint| !constraint.prerelease.is_empty());
    if !version.prerelease.is_empty() && !with_prereleases {
        return false;
    }
    group.iter().all(|constraint| constraint.holds(version))
}

impl Constraint {
    fn version(&self) -> Version<'_> {
        Version { major: self.major, minor: self.minor, patch: self.patch, prerelease: &self.prerelease, metadata: "" }
    }

    fn holds(&self, version: &Version<'_>) -> bool {
        let order = version.compare(&self.version());
        match (self.operator, self.named) {
            (Operator::Equal, Named::All) => order == Ordering::Equal,
            (Operator::Equal | Operator::Tilde, _) => order != Ordering::Less && self.same_minor(version),
            (Operator::NotEqual, _) => self.differs(version, order),
            (Operator::Greater, Named::Major) => version.major > self.major,
            (Operator::Greater, Named::Minor) => (version.major, version.minor) > (self.major, self.minor),
            (Operator::Greater, Named::All | Named::Nothing) => order == Ordering::Greater,
            (Operator::Less, _) => order == Ordering::Less,
            (Operator::GreaterOrEqual, _) => order != Ordering::Less,
            (Operator::LessOrEqual, Named::All) => order != Ordering::Greater,
            (Operator::LessOrEqual, Named::Major) => version.major <= self.major,
            (Operator::LessOrEqual, Named::Minor | Named::Nothing) => {
                (version.major, version.minor) <= (self.major, self.minor)
            }
            (Operator::Caret, _) => order != Ordering::Less && self.compatible(version),
        }
    }

    /// `~`: the same as far as it is named, up to the minor number. `~0.0.0` and `~*` admit everything.
    fn same_minor(&self, version: &Version<'_>) -> bool {
        let everything =
            matches!(self.named, Named::All | Named::Nothing) && (self.major, self.minor, self.patch) == (0, 0, 0);
        everything || version.major == self.major && (version.minor == self.minor || self.named == Named::Major)
    }

    fn differs(&self, version: &Version<'_>, order: Ordering) -> bool {
        match self.named {
            Named::All | Named::Nothing => order != Ordering::Equal,
            Named::Major => version.major != self.major,
            Named::Minor if (version.major, version.minor) != (self.major, self.minor) => true,
            Named::Minor => version.prerelease != self.prerelease,
        }
    }

    /// `^`: nothing left of or at the first number that is not zero has changed.
    fn compatible(&self, version: &Version<'_>) -> bool {
        if self.major > 0 || self.named == Named::Major {
            return version.major == self.major;
        }
        if self.minor > 0 || self.named == Named::Minor {
            return version.major == 0 && version.minor == self.minor;
        }
        (version.major, version.minor, version.patch) == (0, 0, self.patch)
    }
}
