//! The way to one value inside another, as people write it: `image.tag`, `ports[0]."my key"`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::Value;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a map.
    Key(Arc<str>),
    /// Into a list.
    Index(usize),
}

/// The way to a value from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(pub Vec<Step>);

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no path: write it like image.tag, ports[0].name or annotations.\"a.b/c\"")]
pub struct BadPath(String);

impl KeyPath {
    /// The root.
    pub fn root() -> Self {
        Self::default()
    }

    /// This path and one key more.
    #[must_use]
    pub fn key(&self, key: impl Into<Arc<str>>) -> Self {
        self.then(Step::Key(key.into()))
    }

    /// This path and one index more.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    /// This path and one step more.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The value it leads to.
    pub fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, step| match (step, value) {
            (Step::Key(key), Value::Dict(dict)) => dict.get(&**key),
            (Step::Index(index), Value::List(list)) => list.items().get(*index),
            _ => None,
        })
    }
}

fn plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if at > 0 {
                        f.write_str(".")?;
                    }
                    if plain(key) { f.write_str(key)? } else { write!(f, "{key:?}")? }
                }
            }
        }
        Ok(())
    }
}

impl FromStr for KeyPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let bad = || BadPath(text.to_owned());
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('.').unwrap_or(text);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let (index, after) = after.split_once(']').ok_or_else(bad)?;
                steps.push(Step::Index(index.parse().map_err(|_| bad())?));
                rest = after;
            } else if let Some(after) = rest.strip_prefix('"') {
                let (key, after) = after.split_once('"').ok_or_else(bad)?;
                steps.push(Step::Key(key.into()));
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                if key.is_empty() {
                    return Err(bad());
                }
                steps.push(Step::Key(key.into()));
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some("") => return Err(bad()),
                Some(after) => rest = after,
                None if rest.is_empty() || rest.starts_with('[') => {}
                None => return Err(bad()),
            }
        }
        Ok(Self(steps))
    }
}
