//! What differs between two bundles: objects added, removed, changed field by field; and many runtimes grouped that
//! change alike.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::bundle::{Bundle, Object, RUNTIME_LABEL};
use crate::object::ObjectKey;
use crate::value::{Dict, Digest, KeyPath, Step, Value};

#[cfg(test)]
mod tests;

/// One object that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange {
    /// The component it belongs to.
    pub component: Arc<str>,
    /// The object.
    pub key: ObjectKey,
    /// What became of it.
    pub kind: ChangeKind,
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// It is new.
    Added(Dict),
    /// It is gone.
    Removed(Dict),
    /// These fields differ.
    Changed(Vec<FieldChange>),
    /// Whoever was asked to take it would not, so that nothing is known of its fields.
    Refused {
        /// Why, in one word.
        reason: Arc<str>,
        /// Why, for people.
        message: Arc<str>,
    },
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// Which one.
    pub path: KeyPath,
    /// What it was, if it was there.
    pub before: Option<Value>,
    /// What it is, if it is there.
    pub after: Option<Value>,
}

/// Runtimes that change alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Their names.
    pub runtimes: Vec<Arc<str>>,
    /// What changes in each of them; names of runtimes are left out.
    pub changes: Vec<ObjectChange>,
}

/// What differs between the bundles of one runtime; either may be missing. In the order of components and keys.
pub fn diff(before: Option<&Bundle>, after: Option<&Bundle>) -> Vec<ObjectChange> {
    let (before, after) = (objects(before), objects(after));
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut changes = Vec::new();
    for key in keys {
        let (old, new) = (before.get(key), after.get(key));
        let value = |side: Option<&(Arc<str>, &Object)>| side.map(|(_, object)| object.value.clone());
        if let (Some(kind), Some((component, _))) = (object(key, value(old), value(new)), new.or(old)) {
            changes.push(ObjectChange { component: component.clone(), key: key.clone(), kind });
        }
    }
    changes
}

/// What became of one object; nothing if it is the same. Of the data of a Secret only the keys are told.
pub fn object(key: &ObjectKey, before: Option<Dict>, after: Option<Dict>) -> Option<ChangeKind> {
    match (before, after) {
        (None, Some(new)) => Some(ChangeKind::Added(shown(key, new))),
        (Some(old), None) => Some(ChangeKind::Removed(shown(key, old))),
        (Some(old), Some(new)) => {
            let fields = hide(key, fields(&Value::Dict(old), &Value::Dict(new)));
            (!fields.is_empty()).then_some(ChangeKind::Changed(fields))
        }
        (None, None) => None,
    }
}

/// Runtimes with equal changes together, the largest group first.
pub fn group(changes: Vec<(Arc<str>, Vec<ObjectChange>)>) -> Vec<Group> {
    let mut groups: BTreeMap<Digest, Group> = BTreeMap::new();
    for (runtime, changes) in changes {
        let changes: Vec<ObjectChange> = changes.into_iter().map(without_runtime).collect();
        let alike = Digest::of(format!("{changes:?}").as_bytes());
        groups.entry(alike).or_insert_with(|| Group { runtimes: Vec::new(), changes }).runtimes.push(runtime);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|a, b| b.runtimes.len().cmp(&a.runtimes.len()).then_with(|| a.runtimes.cmp(&b.runtimes)));
    groups
}

type Objects<'a> = BTreeMap<ObjectKey, (Arc<str>, &'a Object)>;

fn objects(bundle: Option<&Bundle>) -> Objects<'_> {
    bundle
        .into_iter()
        .flat_map(|bundle| &bundle.components)
        .flat_map(|component| {
            component.objects.iter().map(|object| (object.key.clone(), (component.name.clone(), object)))
        })
        .collect()
}

/// An object as it may be shown: of the data of a Secret only the keys.
fn shown(key: &ObjectKey, object: Dict) -> Dict {
    if !is_secret(key) {
        return object;
    }
    let mut entries = object.entries().to_map();
    for field in ["data", "stringData"] {
        if let Some(Value::Dict(data)) = entries.get(field) {
            let hidden = data.entries().keys().map(|key| (key.clone(), Value::from("(hidden)"))).collect();
            if let Ok(hidden) = Value::dict(hidden) {
                entries.insert(field.into(), hidden);
            }
        }
    }
    Dict::new(entries.into()).unwrap_or_default()
}

/// Of the data of a Secret it is told that it differs, not how.
fn hide(key: &ObjectKey, mut changes: Vec<FieldChange>) -> Vec<FieldChange> {
    if !is_secret(key) {
        return changes;
    }
    for change in &mut changes {
        if matches!(change.path.0.first(), Some(Step::Key(key)) if matches!(&**key, "data" | "stringData")) {
            change.before = change.before.take().map(|_| Value::from("(hidden)"));
            change.after = change.after.take().map(|_| Value::from("(hidden, changed)"));
        }
    }
    changes
}

fn is_secret(key: &ObjectKey) -> bool {
    &*key.kind == "Secret" && key.group.is_empty()
}

/// The fields that differ between two values.
pub fn fields(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    compare(&KeyPath::root(), Some(before), Some(after), &mut changes);
    changes
}

fn compare(path: &KeyPath, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<FieldChange>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Dict(old)), Some(Value::Dict(new))) => {
            let keys: BTreeSet<&Arc<str>> = old.entries().keys().chain(new.entries().keys()).collect();
            for key in keys {
                compare(&path.key(key.clone()), old.get(key), new.get(key), changes);
            }
        }
        (Some(Value::List(old)), Some(Value::List(new))) => match (named(old.items()), named(new.items())) {
            (Some(old), Some(new)) => {
                let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
                for name in names {
                    let path = path.then(Step::Key(format!("[name={name}]").into()));
                    compare(&path, old.get(name).copied(), new.get(name).copied(), changes);
                }
            }
            _ => {
                for at in 0..old.len().max(new.len()) {
                    compare(&path.index(at), old.items().get(at), new.items().get(at), changes);
                }
            }
        },
        (before, after) => {
            changes.push(FieldChange { path: path.clone(), before: before.cloned(), after: after.cloned() });
        }
    }
}

/// Items by their name, when each has one of its own: containers, ports, variables.
fn named(items: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: BTreeMap<&str, &Value> =
        items.iter().map(|item| Some((item.get("name")?.as_text()?, item))).collect::<Option<_>>()?;
    (named.len() == items.len()).then_some(named)
}

fn without_runtime(change: ObjectChange) -> ObjectChange {
    let strip = |object: Dict| {
        let root = Value::Dict(object);
        let path = KeyPath::root().key("metadata").key("labels").key(RUNTIME_LABEL);
        match path.without(&root) {
            Some(Value::Dict(object)) => object,
            _ => match root {
                Value::Dict(object) => object,
                _ => Dict::default(),
            },
        }
    };
    let kind = match change.kind {
        ChangeKind::Added(object) => ChangeKind::Added(strip(object)),
        ChangeKind::Removed(object) => ChangeKind::Removed(strip(object)),
        same @ (ChangeKind::Changed(_) | ChangeKind::Refused { .. }) => same,
    };
    ObjectChange { kind, ..change }
}
