//! Semantic versions and constraints on them, as Helm reads them.
//!
//! A version may be short (`1.2`) and start with `v`. `semver` gives a map with the names Go's type has for its parts.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::failure::Failure;
use crate::value::Value;

use super::Entry;
use super::arguments::text;

mod constraint;
#[cfg(test)]
mod tests;

pub(super) static TABLE: &[Entry] =
    &[Entry::new("semver", 1, 1, semver), Entry::new("semverCompare", 2, 2, semver_compare)];

/// Bytes a version may have.
const LONGEST: usize = 256;

fn semver(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let original = text(arguments, 0)?;
    let version = read(original)?;
    budget.memory(original.len() as u64 * 4 + 512)?;
    let number = |part: u64| {
        let fits = i64::try_from(part).map(Value::Int);
        fits.map_err(|_| Failure::argument(format!("{part} is too large a part of a version")))
    };
    let entries: BTreeMap<Arc<str>, Value> = BTreeMap::from([
        ("Major".into(), number(version.major)?),
        ("Minor".into(), number(version.minor)?),
        ("Patch".into(), number(version.patch)?),
        ("Prerelease".into(), Value::from(version.prerelease)),
        ("Metadata".into(), Value::from(version.metadata)),
        ("Original".into(), Value::from(original)),
        ("String".into(), version.written().into()),
    ]);
    Ok(Value::dict(entries)?)
}

fn semver_compare(budget: &Budget, arguments: &[Value]) -> Result<Value, Failure> {
    let (wanted, version) = (text(arguments, 0)?, text(arguments, 1)?);
    budget.steps(wanted.len() as u64 / 8 + 1)?;
    let alternatives = constraint::parse(wanted).ok_or_else(|| {
        let shown = &wanted[..wanted.floor_char_boundary(80)];
        Failure::argument(format!("`{shown}` is no constraint on versions"))
    })?;
    let version = read(version)?;
    Ok(alternatives.iter().any(|all| constraint::admits(all, &version)).into())
}

fn read(version: &str) -> Result<Version<'_>, Failure> {
    Version::parse(version).ok_or_else(|| {
        let shown = &version[..version.floor_char_boundary(80)];
        Failure::argument(format!("`{shown}` is no semantic version"))
    })
}

/// A range of versions, such as `1.x`, `~1.4` or `>=1.2 <2 || ^3`, as `semverCompare` reads it.
#[derive(Clone, Debug)]
pub struct Range(Vec<Vec<constraint::Constraint>>);

impl Range {
    /// Nothing when the text is no range.
    pub fn parse(text: &str) -> Option<Self> {
        constraint::parse(text).map(Self)
    }

    /// The highest of these versions that is in the range. What is no version does not count; of two that only
    /// metadata or spelling tells apart, the one whose text is greater is taken.
    pub fn highest<'a, T>(&self, candidates: impl IntoIterator<Item = (&'a str, T)>) -> Option<T> {
        let read = candidates.into_iter().filter_map(|(text, of)| Some((Version::parse(text)?, text, of)));
        let admitted = read.filter(|(version, ..)| self.0.iter().any(|all| constraint::admits(all, version)));
        admitted.max_by(|a, b| a.0.compare(&b.0).then_with(|| a.1.cmp(b.1))).map(|(.., of)| of)
    }
}

/// A version, taken apart.
#[derive(Clone, Copy, Debug)]
struct Version<'a> {
    major: u64,
    minor: u64,
    patch: u64,
    prerelease: &'a str,
    metadata: &'a str,
}

impl<'a> Version<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, metadata) = match text.split_once('+') {
            Some((text, metadata)) => (text, Some(metadata)),
            None => (text, None),
        };
        let (numbers, prerelease) = match text.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (text, None),
        };
        let mut parts = numbers.split('.').map(number);
        let (major, minor, patch) = (parts.next()??, parts.next(), parts.next());
        let good = parts.next().is_none() && prerelease.is_none_or(is_prerelease) && metadata.is_none_or(is_dotted);
        if !good {
            return None;
        }
        Some(Self {
            major,
            minor: minor.unwrap_or(Some(0))?,
            patch: patch.unwrap_or(Some(0))?,
            prerelease: prerelease.unwrap_or_default(),
            metadata: metadata.unwrap_or_default(),
        })
    }

    fn written(&self) -> String {
        let mut text = format!("{}.{}.{}", self.major, self.minor, self.patch);
        for (sign, part) in [('-', self.prerelease), ('+', self.metadata)] {
            if !part.is_empty() {
                text.push(sign);
                text.push_str(part);
            }
        }
        text
    }

    /// By precedence: metadata does not count, and a prerelease comes before its release.
    fn compare(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(self.prerelease, other.prerelease),
        })
    }
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Identifiers with dots between.
fn is_dotted(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric()))
}

/// The same, and no number in it starts with a zero.
fn is_prerelease(text: &str) -> bool {
    let padded = |part: &str| part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit());
    is_dotted(text) && !text.split('.').any(padded)
}

fn compare_prereleases(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let (left, right) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(left), Some(right)) => (left, right),
        };
        // Numbers come before words.
        let order = match (number(left), number(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => left.cmp(right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}
