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
            (Step::Key(key), Value::Dict(dict)) => dict.get(key),
            (Step::Key(key), Value::List(list)) => {
                let name = item_name(key)?;
                list.items().iter().find(|item| item.get("name").and_then(Value::as_text) == Some(name))
            }
            (Step::Index(index), Value::List(list)) => list.items().get(*index),
            _ => None,
        })
    }
}

/// Setting and removing make a new root; the old one stays as it was.
impl KeyPath {
    /// The root with `new` at this path; maps are made on the way, and an index must exist.
    pub fn with(&self, root: &Value, new: Value) -> Option<Value> {
        change(root, &self.0, Some(new))
    }

    /// The root without what is at this path; `None` if nothing is there.
    pub fn without(&self, root: &Value) -> Option<Value> {
        self.find(root).and_then(|_| change(root, &self.0, None))
    }
}

fn change(value: &Value, steps: &[Step], new: Option<Value>) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else { return new };
    match (step, value) {
        (Step::Key(key), Value::Dict(_) | Value::Null) => {
            let mut entries = value.as_dict().map(|dict| dict.entries().to_map()).unwrap_or_default();
            match (rest.is_empty(), new) {
                (true, None) => {
                    entries.remove(key);
                }
                (_, new) => {
                    let below = change(entries.get(key).unwrap_or(&Value::Null), rest, new)?;
                    entries.insert(key.clone(), below);
                }
            }
            Value::dict(entries.into()).ok()
        }
        (Step::Index(index), Value::List(list)) => {
            let mut items = list.items().to_vec();
            match (rest.is_empty(), new) {
                (true, None) => {
                    items.remove(*index);
                }
                (_, new) => {
                    let slot = items.get_mut(*index)?;
                    *slot = change(slot, rest, new)?;
                }
            }
            Value::list(items).ok()
        }
        _ => None,
    }
}

/// `[name=web]` is a step into a list: to the item of that name.
fn item_name(key: &str) -> Option<&str> {
    key.strip_prefix("[name=")?.strip_suffix(']')
}

fn plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/' | '='))
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if item_name(key).is_some() {
                        f.write_str(key)?;
                        continue;
                    }
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
            if let Some(after) = rest.strip_prefix("[\"") {
                let (key, after) = after.split_once("\"]").ok_or_else(bad)?;
                steps.push(Step::Key(key.into()));
                rest = after;
            } else if let Some(after) = rest.strip_prefix('[') {
                let (inside, after) = after.split_once(']').ok_or_else(bad)?;
                steps.push(if inside.starts_with("name=") {
                    Step::Key(format!("[{inside}]").into())
                } else {
                    Step::Index(inside.parse().map_err(|_| bad())?)
                });
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
