//! Semantic versions and ranges of them, as Helm reads them.

use std::cmp::Ordering;
use std::fmt;

mod constraint;

/// Bytes a version may have.
const LONGEST: usize = 256;

/// A range of versions, such as `1.x`, `~1.4` or `>=1.2 <2 || ^3`, as `semverCompare` reads it.
#[derive(Clone, Debug)]
pub struct Range(Vec<Vec<constraint::Constraint>>);

impl Range {
    /// Nothing when the text is no range.
    pub fn parse(text: &str) -> Option<Self> {
        constraint::parse(text).map(Self)
    }

    /// Whether a version is in the range.
    pub fn admits(&self, version: &Version<'_>) -> bool {
        self.0.iter().any(|all| constraint::admits(all, version))
    }

    /// The highest of these versions that is in the range. What is no version does not count; of two that only
    /// metadata or spelling tells apart, the one whose text is greater is taken.
    pub fn highest<'a, T>(&self, candidates: impl IntoIterator<Item = (&'a str, T)>) -> Option<T> {
        let read = candidates.into_iter().filter_map(|(text, of)| Some((Version::parse(text)?, text, of)));
        let admitted = read.filter(|(version, ..)| self.admits(version));
        admitted.max_by(|a, b| a.0.compare(&b.0).then_with(|| a.1.cmp(b.1))).map(|(.., of)| of)
    }
}

/// A version, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The first number.
    pub major: u64,
    /// The second; 0 if the text has none.
    pub minor: u64,
    /// The third; 0 if the text has none.
    pub patch: u64,
    /// What follows `-`.
    pub prerelease: &'a str,
    /// What follows `+`.
    pub metadata: &'a str,
}

impl<'a> Version<'a> {
    /// Nothing when the text is no version. It may be short (`1.2`) and start with `v`.
    pub fn parse(text: &'a str) -> Option<Self> {
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

    /// By precedence: metadata does not count, and a prerelease comes before its release.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(self.prerelease, other.prerelease),
        })
    }
}

impl fmt::Display for Version<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (sign, part) in [('-', self.prerelease), ('+', self.metadata)] {
            if !part.is_empty() {
                write!(f, "{sign}{part}")?;
            }
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_of_a_range_is_by_precedence_and_without_prereleases() {
        let highest = |range: &str, of: &[&'static str]| {
            Range::parse(range).unwrap().highest(of.iter().map(|version| (*version, *version)))
        };
        let of = ["v1.9.0", "1.10.0", "v1.11.0-rc.1", "v2.0.0", "latest", "1"];
        assert_eq!(highest("1.x", &of), Some("1.10.0"));
        assert_eq!(highest(">=1.11.0-0 <2", &of), Some("v1.11.0-rc.1"));
        assert_eq!(highest("1.9.0", &of), Some("v1.9.0"), "a bare version is itself alone");
        assert_eq!(highest("~1.9 || ^2", &of), Some("v2.0.0"));
        assert_eq!(highest(">=3", &of), None);
        assert_eq!(highest("1.x", &["1.0.0", "v1.0.0"]), highest("1.x", &["v1.0.0", "1.0.0"]));
        assert!(Range::parse("newest").is_none());
    }
}
