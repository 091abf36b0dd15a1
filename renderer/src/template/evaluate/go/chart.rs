//! `.Chart`, a struct of Go: how it is printed, what JSON and YAML make of it, and its lists, which are nil without items.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::data::Known;
use crate::template::evaluate::Evaluator;
use crate::template::go::functions::Form;
use crate::template::heap::{ListId, MapId, Shape};
use crate::template::item::Item;
use crate::value::{Dict, Value};

/// The types of those who maintain a chart, and of what it depends on.
pub(super) const PERSON: &str = "*chart.Maintainer";
pub(super) const NEEDED: &str = "*chart.Dependency";

/// The fields in Go's order, in which they are printed.
const FIELDS: [&str; 17] = [
    "Name",
    "Home",
    "Sources",
    "Version",
    "Description",
    "Keywords",
    "Maintainers",
    "Icon",
    "APIVersion",
    "Condition",
    "Tags",
    "AppVersion",
    "Deprecated",
    "Annotations",
    "KubeVersion",
    "Dependencies",
    "Type",
];

impl<'a> Evaluator<'a> {
    /// A field of `.Chart`, with the types that its lists have.
    pub(super) fn of_chart(&mut self, key: &str, found: Item<'a>) -> Item<'a> {
        match &found {
            Item::Data(Value::List(list)) if list.is_empty() => Item::Slice(ListId::NIL),
            Item::Slice(id) => {
                let shape = Shape::Struct(if key == "Maintainers" { PERSON } else { NEEDED });
                for item in self.heap.list(*id).iter() {
                    if let Item::Map(id) = item
                        && let Some(map) = self.heap.map_mut(*id)
                    {
                        map.shape = shape;
                    }
                }
                found
            }
            _ => found,
        }
    }

    pub(super) fn chart_as_data(&self, id: MapId, form: Form) -> Option<Known> {
        let fields = self.heap.map(id)?.contents.data()?;
        Some(Ok(match form {
            Form::Encoded => encoded(fields),
            Form::Printed => Value::from(printed(fields)),
        }))
    }
}

/// As JSON has it: by the names of the file, without what is empty.
pub(super) fn encoded(fields: &Dict) -> Value {
    let mut entries = BTreeMap::new();
    for (field, value) in fields.entries() {
        let value = match value {
            Value::List(list) => {
                let items = list.items().iter().map(|item| match item {
                    Value::Dict(fields) => encoded(fields),
                    plain => plain.clone(),
                });
                Value::list(items.collect()).unwrap_or(Value::Null)
            }
            plain => plain.clone(),
        };
        if value.is_truthy() || matches!(&**field, "IsRoot" | "Repository") {
            entries.insert(name_in_file(field), value);
        }
    }
    Value::dict(entries.into()).unwrap_or(Value::Null)
}

fn name_in_file(field: &Arc<str>) -> Arc<str> {
    match &**field {
        "IsRoot" => Arc::clone(field),
        "APIVersion" => "apiVersion".into(),
        "ImportValues" => "import-values".into(),
        "URL" => "url".into(),
        _ => {
            let mut letters = field.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(letters).collect::<String>().into()
        }
    }
}

/// As `fmt` prints the struct. Where Go has addresses, which are others on every render, there is nothing.
fn printed(fields: &Dict) -> String {
    let mut text = "{{".to_owned();
    for (at, field) in FIELDS.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        let is_addresses = matches!(*field, "Maintainers" | "Dependencies");
        match fields.get(field) {
            Some(Value::List(list)) if !is_addresses => {
                let items: Vec<&str> = list.items().iter().filter_map(Value::as_text).collect();
                let _ = write!(text, "[{}]", items.join(" "));
            }
            Some(Value::List(_)) | None => text.push_str("[]"),
            Some(Value::Dict(dict)) => {
                let entries = dict.entries().iter();
                let entries: Vec<String> =
                    entries.map(|(key, value)| format!("{key}:{}", value.as_text().unwrap_or_default())).collect();
                let _ = write!(text, "map[{}]", entries.join(" "));
            }
            Some(Value::Bool(truth)) => {
                let _ = write!(text, "{truth}");
            }
            Some(value) => text.push_str(value.as_text().unwrap_or_default()),
        }
    }
    let is_root = fields.get("IsRoot") == Some(&Value::Bool(true));
    let _ = write!(text, "}} {is_root}}}");
    text
}
