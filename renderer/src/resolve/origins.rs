//! Which file and line set a value.

use super::{ResolvedComponent, ValuesSource};
use crate::diagnostic::Location;
use crate::fleet::values::Decoded;
use crate::value::{KeyPath, Step, Value};

impl ResolvedComponent {
    /// Where the final value at a path was set: the key in the highest file that says anything about it.
    pub fn origin_of(&self, path: &KeyPath) -> Option<Location> {
        self.origin_in(path, &mut Decoded::default())
    }

    pub(crate) fn origin_in(&self, path: &KeyPath, decoded: &mut Decoded) -> Option<Location> {
        self.history_in(path, decoded).into_iter().next_back().map(|setting| setting.location)
    }

    /// All files that say something about a path, lowest first; the last one decides.
    pub fn history_of(&self, path: &KeyPath) -> Vec<Setting<'_>> {
        self.history_in(path, &mut Decoded::default())
    }

    fn history_in(&self, path: &KeyPath, decoded: &mut Decoded) -> Vec<Setting<'_>> {
        let mut history = Vec::new();
        for source in &self.sources {
            if let Some((at, value)) = reach(&Value::Dict(source.values.dict_of(decoded)), path) {
                let span = source.values.span_of(&at, decoded);
                history.push(Setting { source, location: span.in_file(&source.values.file), value, at });
            }
        }
        history
    }
}

/// What one file says about a value.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The file.
    pub source: &'a ValuesSource,
    /// The line.
    pub location: Location,
    /// What it says: null deletes.
    pub value: Value,
    /// The path it says it about: the one asked for, or one above it that it sets as a whole.
    pub at: KeyPath,
}

/// The value at a path, or the scalar or list above it that stands in the way.
fn reach(root: &Value, path: &KeyPath) -> Option<(KeyPath, Value)> {
    let mut value = root;
    let mut at = KeyPath::root();
    for step in &path.0 {
        value = match (step, value) {
            (Step::Key(key), Value::Dict(dict)) => dict.get(key)?,
            (Step::Index(index), Value::List(list)) => match list.items().get(*index) {
                Some(item) => item,
                None => return Some((at, value.clone())),
            },
            _ => return Some((at, value.clone())),
        };
        at = at.then(step.clone());
    }
    Some((at, value.clone()))
}
