//! Which commit a reference means among the refs that a repository has. Pure.

use reeve_crds::git_source::GitRef;
use reeve_renderer_objects::version::Range;

#[cfg(test)]
mod tests;

/// Digits of a commit id that people are shown.
const SHOWN_DIGITS: usize = 12;
/// Names that an error offers in place of the one that is not there.
const OFFERED: usize = 5;
/// Behind the name of a tag, what it points to in the end.
const PEELED: &str = "^{}";
const BRANCHES: &str = "refs/heads/";
pub(super) const TAGS: &str = "refs/tags/";

/// A ref as a server lists it. An annotated tag is listed a second time, with `^{}` behind its name and its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its full name.
    pub name: String,
    /// The object it points to.
    pub id: String,
}

/// What to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The ref to ask the server for; nothing when a commit is asked for by its id and no ref points to it.
    pub source: Option<String>,
    /// The commit.
    pub commit: String,
    /// The object that the ref points to, if that is not the commit itself: an annotated tag.
    pub tag: Option<String>,
    /// What people call it: a branch, a tag, the full name of a ref; nothing for a bare commit.
    pub name: Option<String>,
}

/// A reference means no commit of the repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Nothing was ever pushed.
    #[error("the repository is empty: push a commit")]
    Empty,
    /// There is no such branch, or no longer.
    #[error("there is no branch `{name}`{}", offer(.there))]
    Branch {
        /// What was asked for.
        name: String,
        /// Some that are there.
        there: Vec<String>,
    },
    /// There is no such tag, or no longer.
    #[error("there is no tag `{name}`{}", offer(.there))]
    Tag {
        /// What was asked for.
        name: String,
        /// Some that are there.
        there: Vec<String>,
    },
    /// No tag is a version in the range.
    #[error("no tag `{prefix}<version>` is in the range `{range}`{}", offer(.there))]
    Range {
        /// What was asked for.
        range: String,
        /// What stands before the version.
        prefix: String,
        /// Some that are there.
        there: Vec<String>,
    },
    /// It is not a range.
    #[error("`{0}` is no range of versions: write one such as 1.x or \">=1.2.0 <2.0.0\"")]
    BadRange(String),
    /// There is no such ref, or no longer.
    #[error("there is no ref `{0}`")]
    Name(String),
    /// The commit cannot be reached from any branch or tag.
    #[error("there is no commit {0}, or no branch and no tag reaches it")]
    Commit(String),
    /// What the ref points to is something else.
    #[error("`{0}` is not a commit: it names a file or a folder")]
    NotACommit(String),
    /// Nobody can tell what the tag names.
    #[error("tag `{0}` cannot be read: make it anew, as git tag --force --annotate does, and push it with --force")]
    UnreadableTag(String),
    /// The reference names nothing.
    #[error("write one of branch, tag, semver, commit and name")]
    Nothing,
}

impl ReferenceError {
    /// Whether the reference itself is wrong, whatever the repository has.
    pub(super) fn is_malformed(&self) -> bool {
        match self {
            Self::BadRange(_) | Self::Nothing => true,
            Self::Empty
            | Self::Branch { .. }
            | Self::Tag { .. }
            | Self::Range { .. }
            | Self::Name(_)
            | Self::Commit(_)
            | Self::NotACommit(_)
            | Self::UnreadableTag(_) => false,
        }
    }

    /// What was chosen is a tag that leads to nothing.
    pub(super) fn unreadable(choice: &Choice) -> Self {
        Self::UnreadableTag(choice.name.clone().unwrap_or_else(|| choice.commit.clone()))
    }
}

/// The commit that the reference means, and how to ask for it.
pub fn choose(reference: &GitRef, heads: &[Head]) -> Result<Choice, ReferenceError> {
    if heads.is_empty() {
        return Err(ReferenceError::Empty);
    }
    if let Some(name) = &reference.branch {
        let there = || names_below(heads, BRANCHES, name);
        let found = find(heads, &format!("{BRANCHES}{name}"), name);
        return found.ok_or_else(|| ReferenceError::Branch { name: name.clone(), there: there() });
    }
    if let Some(name) = &reference.tag {
        let there = || names_below(heads, TAGS, name);
        let found = find(heads, &format!("{TAGS}{name}"), name);
        return found.ok_or_else(|| ReferenceError::Tag { name: name.clone(), there: there() });
    }
    if let Some(range) = &reference.semver {
        return choose_version(range, reference.tag_prefix.as_deref().unwrap_or_default(), heads);
    }
    if let Some(id) = &reference.commit {
        let source = heads.iter().find(|head| head.id == *id && !head.name.ends_with(PEELED));
        let source = source.map(|head| head.name.clone());
        return Ok(Choice { source, commit: id.clone(), tag: None, name: None });
    }
    let name = reference.name.as_ref().ok_or(ReferenceError::Nothing)?;
    find(heads, name, name).ok_or_else(|| ReferenceError::Name(name.clone()))
}

fn choose_version(range: &str, prefix: &str, heads: &[Head]) -> Result<Choice, ReferenceError> {
    let parsed = Range::parse(range).ok_or_else(|| ReferenceError::BadRange(range.to_owned()))?;
    let tags = heads.iter().filter_map(|head| head.name.strip_prefix(TAGS)).filter(|tag| !tag.ends_with(PEELED));
    let versions = tags.filter_map(|tag| Some((tag.strip_prefix(prefix)?, tag)));
    let found = parsed.highest(versions).and_then(|tag| find(heads, &format!("{TAGS}{tag}"), tag));
    found.ok_or_else(|| ReferenceError::Range {
        range: range.to_owned(),
        prefix: prefix.to_owned(),
        there: names_below(heads, TAGS, prefix),
    })
}

fn find(heads: &[Head], full: &str, name: &str) -> Option<Choice> {
    let at = |wanted: &str| heads.iter().find(|head| head.name == wanted).map(|head| head.id.clone());
    let listed = at(full)?;
    let (commit, tag) = match at(&format!("{full}{PEELED}")) {
        Some(commit) => (commit, Some(listed)),
        None => (listed, None),
    };
    Some(Choice { source: Some(full.to_owned()), commit, tag, name: Some(name.to_owned()) })
}

/// Some names below a prefix, those first that begin as the wanted one does.
fn names_below(heads: &[Head], prefix: &str, wanted: &str) -> Vec<String> {
    let names = heads.iter().filter_map(|head| head.name.strip_prefix(prefix));
    let mut names: Vec<&str> = names.filter(|name| !name.ends_with(PEELED)).collect();
    let start = wanted.get(..1).unwrap_or_default();
    names.sort_by_key(|name| (!name.starts_with(start), *name));
    names.into_iter().take(OFFERED).map(str::to_owned).collect()
}

fn offer(there: &[String]) -> String {
    if there.is_empty() { String::new() } else { format!("; there are {}", there.join(", ")) }
}

/// A revision as people say it: `main@4f1c2aa90b3d`, or `4f1c2aa90b3d` for a commit that was asked for by its id.
pub fn shown(name: Option<&str>, commit: &str) -> String {
    let digits = commit.get(..SHOWN_DIGITS).unwrap_or(commit);
    name.map_or_else(|| digits.to_owned(), |name| format!("{name}@{digits}"))
}
