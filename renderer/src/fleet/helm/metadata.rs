//! `Chart.yaml` as templates see it, and what a chart depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::value::{Dict, Value};

/// One entry of `dependencies`.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The name of the chart.
    pub name: Arc<str>,
    /// The range of versions.
    pub version: Arc<str>,
    /// Paths of values, the first boolean of which decides.
    pub condition: Arc<str>,
    /// Groups that values switch on and off.
    pub tags: Vec<Arc<str>>,
    /// What it is called instead.
    pub alias: Option<Arc<str>>,
    /// What values it gives to the chart above it.
    pub import_values: Vec<Value>,
}

impl Requirement {
    /// The name under which it is known.
    pub fn known_as(&self) -> &Arc<str> {
        self.alias.as_ref().unwrap_or(&self.name)
    }
}

/// The requirements of `Chart.yaml` or `requirements.yaml`.
pub(super) fn requirements(metadata: &Dict) -> Vec<Requirement> {
    let Some(Value::List(list)) = metadata.get("dependencies") else { return Vec::new() };
    let read = |entry: &Value| {
        let text = |key: &str| match entry.get(key) {
            Some(Value::Text(text)) => Arc::clone(text),
            Some(Value::Int(number)) => number.to_string().into(),
            Some(Value::Float(number)) => number.to_string().into(),
            _ => Arc::from(""),
        };
        let list = |key: &str| entry.get(key).and_then(Value::as_list).map(|list| list.items().to_vec());
        entry.as_dict()?;
        Some(Requirement {
            name: text("name"),
            version: text("version"),
            condition: text("condition"),
            tags: list("tags").unwrap_or_default().iter().filter_map(Value::as_text).map(Arc::from).collect(),
            alias: Some(text("alias")).filter(|alias| !alias.is_empty()),
            import_values: list("import-values").unwrap_or_default(),
        })
    };
    list.items().iter().filter_map(read).collect()
}

/// Helm's fields and the keys that they are read from; text unless said otherwise.
const TEXTS: &[(&str, &str)] = &[
    ("Name", "name"),
    ("Home", "home"),
    ("Version", "version"),
    ("Description", "description"),
    ("Icon", "icon"),
    ("APIVersion", "apiVersion"),
    ("Condition", "condition"),
    ("Tags", "tags"),
    ("AppVersion", "appVersion"),
    ("KubeVersion", "kubeVersion"),
    ("Type", "type"),
];

/// `.Chart`, of whose dependencies these take part, if they were looked at: all fields that Helm knows, empty where the file says nothing.
pub fn in_go(metadata: &Dict, name: &Arc<str>, requirements: Option<&[Requirement]>, is_root: bool) -> Value {
    let mut fields: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    for (field, key) in TEXTS {
        let text = match metadata.get(key) {
            Some(Value::Text(text)) => Value::Text(Arc::clone(text)),
            _ => Value::from(""),
        };
        fields.insert(Arc::from(*field), text);
    }
    if metadata.get("apiVersion").and_then(Value::as_text).is_none_or(str::is_empty) {
        fields.insert("APIVersion".into(), Value::from("v1"));
    }
    fields.insert("Name".into(), Value::Text(Arc::clone(name)));
    let list = |key: &str| metadata.get(key).filter(|value| value.as_list().is_some()).cloned();
    for (field, key) in [("Sources", "sources"), ("Keywords", "keywords")] {
        fields.insert(field.into(), list(key).unwrap_or_else(Value::empty_list));
    }
    let people = list("maintainers").and_then(|people| {
        let person = |person: &Value| structure(person, &[("Name", "name"), ("Email", "email"), ("URL", "url")]);
        Value::list(people.as_list()?.items().iter().map(person).collect()).ok()
    });
    fields.insert("Maintainers".into(), people.unwrap_or_else(Value::empty_list));
    let needed = list("dependencies").and_then(|needed| {
        let taking_part = needed.as_list()?.items().iter().filter_map(|one| dependency(one, requirements));
        Value::list(taking_part.collect()).ok()
    });
    fields.insert("Dependencies".into(), needed.unwrap_or_else(Value::empty_list));
    let annotations = metadata.get("annotations").filter(|value| value.as_dict().is_some()).cloned();
    fields.insert("Annotations".into(), annotations.unwrap_or_else(Value::empty_dict));
    let deprecated = metadata.get("deprecated") == Some(&Value::Bool(true));
    fields.insert("Deprecated".into(), Value::Bool(deprecated));
    fields.insert("IsRoot".into(), Value::Bool(is_root));
    Value::dict(fields.into()).unwrap_or_else(|_| Value::empty_dict())
}

/// A dependency as templates see it, by its alias if it has one; nothing if it does not take part.
fn dependency(entry: &Value, requirements: Option<&[Requirement]>) -> Option<Value> {
    const FIELDS: &[(&str, &str)] = &[
        ("Name", "name"),
        ("Version", "version"),
        ("Repository", "repository"),
        ("Condition", "condition"),
        ("Alias", "alias"),
    ];
    let text = |key: &str| entry.get(key).and_then(Value::as_text).filter(|text| !text.is_empty());
    let known_as = requirements.and_then(|_| text("alias")).or_else(|| text("name"))?;
    if let Some(requirements) = requirements {
        requirements.iter().find(|requirement| &**requirement.known_as() == known_as)?;
    }
    let list = |key: &str| entry.get(key).filter(|value| value.as_list().is_some()).cloned();
    let structure = structure(entry, FIELDS);
    let mut fields = structure.as_dict()?.entries().clone();
    fields.insert("Name".into(), Value::from(known_as));
    fields.insert("Enabled".into(), Value::Bool(requirements.is_some()));
    fields.insert("Tags".into(), list("tags").unwrap_or_else(Value::empty_list));
    fields.insert("ImportValues".into(), list("import-values").unwrap_or_else(Value::empty_list));
    Value::dict(fields).ok()
}

fn structure(value: &Value, fields: &[(&str, &str)]) -> Value {
    let field = |(field, key): &(&str, &str)| {
        let value = value.get(key).filter(|value| value.as_text().is_some()).cloned();
        (Arc::from(*field), value.unwrap_or_else(|| Value::from("")))
    };
    Value::dict(fields.iter().map(field).collect()).unwrap_or_else(|_| Value::empty_dict())
}
