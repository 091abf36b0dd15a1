//! A set of fields, as the API server keeps it for each manager.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;
use serde_json::{Map, Value};

/// One step into an object.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Step {
    /// a field of a struct or a key of a map.
    Field(String),
    /// the item of a list with these keys; the values are JSON, such as `"web"` or `80`.
    Key(BTreeMap<String, String>),
    /// the item of a list that is this value, in JSON.
    Item(String),
    /// the item of a list at this place.
    Index(u64),
    /// a form that is not known; kept as it is written.
    Other(String),
}

impl Step {
    fn read(written: &str) -> Self {
        let known = match written.split_once(':') {
            Some(("f", name)) => Some(Self::Field(name.to_owned())),
            Some(("k", keys)) => serde_json::from_str::<Map<String, Value>>(keys)
                .ok()
                .map(|keys| Self::Key(keys.into_iter().map(|(key, value)| (key, value.to_string())).collect())),
            Some(("v", value)) => serde_json::from_str::<Value>(value).ok().map(|value| Self::Item(value.to_string())),
            Some(("i", place)) => place.parse().ok().map(Self::Index),
            _ => None,
        };
        known.unwrap_or_else(|| Self::Other(written.to_owned()))
    }

    fn written(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> =
                    keys.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
                format!("k:{{{}}}", keys.join(","))
            }
            Self::Item(value) => format!("v:{value}"),
            Self::Index(place) => format!("i:{place}"),
            Self::Other(written) => written.clone(),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (place, (key, value)) in keys.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(f, "{comma}{key}={value}")?;
                }
                f.write_str("]")
            }
            Self::Item(value) => write!(f, "[={value}]"),
            Self::Index(place) => write!(f, "[{place}]"),
            Self::Other(written) => write!(f, "[{written}]"),
        }
    }
}

/// The way to a field. Prints as people write it: `spec.template.spec.containers[name="web"].image`.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The way to a field of fields.
    pub fn of_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(|name| Step::Field(name.to_owned())).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            let dot = if place > 0 && matches!(step, Step::Field(_)) { "." } else { "" };
            write!(f, "{dot}{step}")?;
        }
        Ok(())
    }
}

/// A set of fields, in the shape of the object.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Paths {
    /// Whether the field at this place itself is in the set.
    member: bool,
    children: BTreeMap<Step, Paths>,
}

impl Paths {
    /// What a `fieldsV1` says.
    pub fn of(fields: &FieldsV1) -> Self {
        let mut root = Self::read(&fields.0);
        root.member = false;
        root
    }

    fn read(fields: &Value) -> Self {
        let Some(fields) = fields.as_object() else { return Self::default() };
        let children: BTreeMap<Step, Self> = fields
            .iter()
            .filter(|(written, _)| *written != ".")
            .map(|(written, below)| (Step::read(written), Self::read(below)))
            .collect();
        Self { member: fields.is_empty() || fields.contains_key("."), children }
    }

    /// The set as a `fieldsV1` again.
    pub fn fields(&self) -> FieldsV1 {
        FieldsV1(self.written())
    }

    fn written(&self) -> Value {
        let mut fields: Map<String, Value> =
            self.children.iter().map(|(step, below)| (step.written(), below.written())).collect();
        if self.member && !fields.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        Value::Object(fields)
    }

    pub fn is_empty(&self) -> bool {
        !self.member && self.children.values().all(Self::is_empty)
    }

    /// Whether the field itself is in the set, or a whole that it is part of.
    pub fn contains(&self, path: &Path) -> bool {
        let mut here = self;
        let mut is_keyed = false;
        for step in &path.0 {
            // Of an item with keys that has an empty set, nothing but the item is owned.
            if here.is_whole() && !is_keyed {
                return true;
            }
            match here.children.get(step) {
                Some(below) => here = below,
                None => return false,
            }
            is_keyed = matches!(step, Step::Key(_));
        }
        here.member
    }

    /// Whether the field itself is in the set, and not only a whole that it may be part of. Of a map whose keys have owners
    /// of their own, such as annotations, the set of who made it empty has the map alone.
    pub fn names(&self, path: &Path) -> bool {
        self.at(path).is_some_and(Self::is_member)
    }

    /// Whether the field or anything below it is in the set.
    pub fn touches(&self, path: &Path) -> bool {
        self.contains(path) || self.at(path).is_some_and(|here| !here.is_empty())
    }

    fn at(&self, path: &Path) -> Option<&Self> {
        path.0.iter().try_fold(self, |here, step| here.children.get(step))
    }

    /// What is here and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let children = self
            .children
            .iter()
            .map(|(step, below)| match other.children.get(step) {
                Some(theirs) => (step.clone(), below.difference(theirs)),
                None => (step.clone(), below.clone()),
            })
            .filter(|(_, below)| !below.is_empty())
            .collect();
        Self { member: self.member && !other.member, children }
    }

    /// What is in one of the two.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        self.member |= other.member;
        for (step, theirs) in other.children {
            let ours = self.children.remove(&step).unwrap_or_default();
            self.children.insert(step, ours.union(theirs));
        }
        self
    }

    /// Every field of the set, sorted.
    pub fn list(&self) -> Vec<Path> {
        let mut found = Vec::new();
        self.collect(&mut Path::default(), &mut found);
        found
    }

    fn collect(&self, path: &mut Path, found: &mut Vec<Path>) {
        if self.member {
            found.push(path.clone());
        }
        for (step, below) in &self.children {
            path.0.push(step.clone());
            below.collect(path, found);
            path.0.pop();
        }
    }

    pub(crate) fn is_member(&self) -> bool {
        self.member
    }

    /// In the set with everything below it, known or not: a scalar, an atomic list or map, or an empty one.
    pub(crate) fn is_whole(&self) -> bool {
        self.member && self.children.is_empty()
    }

    pub(crate) fn child(&self, step: &Step) -> Option<&Self> {
        self.children.get(step)
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.children.keys()
    }
}

/// Prints the fields of the set, separated by commas.
impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, path) in self.list().iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{path}")?;
        }
        Ok(())
    }
}
