//! `Chart.yaml` as Helm decodes and checks it: fields of Go's types, found whatever the case of their keys, and what Helm
//! refuses of them, each with its place. Keys that Helm does not know stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::functions::is_printable;
use crate::number;
use crate::value::{KeyPath, Step, TooDeep, Value};
use crate::yaml::{Content, Entry, Node, Span};
use reeve_renderer_objects::version::Version;

/// What a field of Go's may hold. `null` is always as if the key were not there.
#[derive(Clone, Copy)]
enum Kind {
    /// Text, or a number or truth that is written without quotes.
    Text,
    /// Text without line breaks and what cannot be printed.
    Line,
    Truth,
    Lines,
    /// A map of text.
    Texts,
    List,
    /// A list of maps with these fields.
    Entries(&'static [(&'static str, Kind)]),
}

const CHART: &[(&str, Kind)] = &[
    ("name", Kind::Line),
    ("home", Kind::Line),
    ("sources", Kind::Lines),
    ("version", Kind::Text),
    ("description", Kind::Line),
    ("keywords", Kind::Lines),
    ("maintainers", Kind::Entries(&[("name", Kind::Line), ("email", Kind::Line), ("url", Kind::Line)])),
    ("icon", Kind::Line),
    ("apiVersion", Kind::Text),
    ("condition", Kind::Line),
    ("tags", Kind::Line),
    ("appVersion", Kind::Line),
    ("deprecated", Kind::Truth),
    ("annotations", Kind::Texts),
    ("kubeVersion", Kind::Line),
    ("dependencies", DEPENDENCIES),
    ("type", Kind::Text),
];

const DEPENDENCIES: Kind = Kind::Entries(&[
    ("name", Kind::Line),
    ("version", Kind::Line),
    ("repository", Kind::Line),
    ("condition", Kind::Line),
    ("tags", Kind::Lines),
    ("enabled", Kind::Truth),
    ("import-values", Kind::List),
    ("alias", Kind::Text),
]);

const LOCK: &[(&str, Kind)] = &[("generated", Kind::Text), ("digest", Kind::Text), ("dependencies", DEPENDENCIES)];

/// A file of a chart that is being decoded.
pub(super) struct Decoder<'a> {
    file: &'a Arc<str>,
    findings: &'a mut Vec<Diagnostic>,
}

type Fields = BTreeMap<Arc<str>, Value>;

impl<'a> Decoder<'a> {
    pub(super) fn new(file: &'a Arc<str>, findings: &'a mut Vec<Diagnostic>) -> Self {
        Self { file, findings }
    }

    /// The fields of `Chart.yaml`, or of `requirements.yaml`, which Helm reads over them.
    pub(super) fn chart(&mut self, node: &Node) -> Result<Fields, TooDeep> {
        let fields = self.map(node, &KeyPath::root(), CHART)?;
        self.dependencies(node, &fields);
        Ok(fields)
    }

    /// A lock file: nothing of it counts, but Helm reads it.
    pub(super) fn lock(&mut self, node: &Node) -> Result<(), TooDeep> {
        if !matches!(node.content, Content::Scalar(Value::Null)) {
            let fields = self.map(node, &KeyPath::root(), LOCK)?;
            let time = fields.get("generated").and_then(Value::as_text);
            if time.is_some_and(|time| time.parse::<jiff::Timestamp>().is_err()) {
                self.refuse(node, "generated", "`generated` must be a time such as 2006-01-02T15:04:05Z".to_owned());
            }
        }
        Ok(())
    }

    /// What Helm refuses of a chart's own fields.
    pub(super) fn check(&mut self, node: &Node, fields: &Fields) {
        let text = |key: &str| fields.get(key).and_then(Value::as_text).unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        if name.is_empty() {
            self.refuse(node, "name", "`name` is missing".to_owned());
        } else if name == "." || name == ".." || name.contains('/') {
            self.refuse(node, "name", format!("`{name}` is no name of a chart"));
        }
        if version.is_empty() {
            self.refuse(node, "version", "`version` is missing".to_owned());
        } else if Version::parse(version).is_none() {
            self.refuse(node, "version", format!("`{version}` is not a semantic version"));
        }
        if !["", "application", "library"].contains(&text("type")) {
            self.refuse(node, "type", format!("`type` is `{}`, but may be `application` or `library`", text("type")));
        }
    }

    /// The versions of Kubernetes that the chart is for, and where it says so.
    pub(super) fn kube_version(&self, node: &Node, fields: &Fields) -> Option<(Arc<str>, Location)> {
        match fields.get("kubeVersion") {
            Some(Value::Text(range)) if !range.is_empty() => {
                let entry = named(node, "kubeVersion")?;
                Some((Arc::clone(range), entry.value.span.in_file(self.file)))
            }
            _ => None,
        }
    }

    fn dependencies(&mut self, node: &Node, fields: &Fields) {
        let Some(Value::List(list)) = fields.get("dependencies") else { return };
        let mut known = BTreeSet::new();
        for dependency in list.items() {
            let text = |key: &str| dependency.get(key).and_then(Value::as_text).unwrap_or_default();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if !text("alias").bytes().all(is_plain) {
                let message = format!("the alias `{}` may have letters, digits, `-` and `_` only", text("alias"));
                self.refuse(node, "dependencies", message);
            }
            let called = if text("alias").is_empty() { text("name") } else { text("alias") };
            if !known.insert(called) {
                let message = format!("two dependencies are called `{called}`: give one of them an `alias`");
                self.refuse(node, "dependencies", message);
            }
        }
    }

    fn refuse(&mut self, node: &Node, key: &str, message: String) {
        let span = named(node, key).map_or(node.span, |entry| entry.span);
        self.report("chart-metadata", span, &KeyPath::root().key(key), message);
    }

    fn report(&mut self, code: &'static str, span: Span, path: &KeyPath, message: String) {
        self.findings.push(Diagnostic::error(code, message).at(span.in_file(self.file)).key(path));
    }

    fn wrong(&mut self, node: &Node, path: &KeyPath, wanted: &str) {
        self.report("wrong-type", node.span, path, format!("`{path}` must be {wanted}, not {}", node.kind()));
    }

    fn map(&mut self, node: &Node, path: &KeyPath, known: &[(&'static str, Kind)]) -> Result<Fields, TooDeep> {
        let Some(entries) = node.entries() else {
            self.wrong(node, path, "a map");
            return Ok(Fields::new());
        };
        let mut fields = Fields::new();
        for entry in entries.iter().filter(|entry| !known.iter().any(|(key, _)| key.eq_ignore_ascii_case(&entry.key))) {
            fields.insert(Arc::clone(&entry.key), entry.value.to_value()?);
        }
        for (key, kind) in known {
            let Some(entry) = named(node, key) else { continue };
            if let Some(value) = self.value(&entry.value, &path.key(*key), *kind)? {
                fields.insert(Arc::from(*key), value);
            }
        }
        Ok(fields)
    }

    fn value(&mut self, node: &Node, path: &KeyPath, kind: Kind) -> Result<Option<Value>, TooDeep> {
        match (&node.content, kind) {
            (Content::Scalar(Value::Null), _) => Ok(None),
            (Content::Scalar(value), Kind::Text) => Ok(Some(text(value))),
            (Content::Scalar(value), Kind::Line) => Ok(Some(line(&text(value)))),
            (Content::Scalar(Value::Bool(truth)), Kind::Truth) => Ok(Some(Value::Bool(*truth))),
            (Content::List(items), Kind::Lines) => self.items(items, path, Kind::Line, &Value::from("")),
            (Content::List(items), Kind::List) => {
                Value::list(items.iter().map(Node::to_value).collect::<Result<_, _>>()?).map(Some)
            }
            (Content::List(items), Kind::Entries(known)) => {
                let mut entries = Vec::new();
                for (at, item) in items.iter().enumerate() {
                    let path = KeyPath(path.0.iter().cloned().chain([Step::Index(at)]).collect());
                    entries.push(Value::dict(self.map(item, &path, known)?.into())?);
                }
                Value::list(entries).map(Some)
            }
            (Content::Map(entries), Kind::Texts) => {
                let mut texts = Fields::new();
                for entry in entries {
                    let value = self.value(&entry.value, &path.key(Arc::clone(&entry.key)), Kind::Text)?;
                    texts.insert(Arc::clone(&entry.key), value.unwrap_or_else(|| Value::from("")));
                }
                Value::dict(texts.into()).map(Some)
            }
            (_, kind) => {
                self.wrong(node, path, kind.wanted());
                Ok(None)
            }
        }
    }

    fn items(&mut self, items: &[Node], path: &KeyPath, kind: Kind, empty: &Value) -> Result<Option<Value>, TooDeep> {
        let mut values = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let path = KeyPath(path.0.iter().cloned().chain([Step::Index(at)]).collect());
            values.push(self.value(item, &path, kind)?.unwrap_or_else(|| empty.clone()));
        }
        Value::list(values).map(Some)
    }
}

impl Kind {
    fn wanted(self) -> &'static str {
        match self {
            Kind::Text | Kind::Line => "text",
            Kind::Truth => "true or false",
            Kind::Lines => "a list of text",
            Kind::Texts => "a map of text",
            Kind::List => "a list",
            Kind::Entries(_) => "a list of maps",
        }
    }
}

/// The entry that Go reads into this field: of several in other cases, the last in order.
fn named<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    let entries = node.entries()?.iter();
    entries.filter(|entry| key.eq_ignore_ascii_case(&entry.key)).max_by(|a, b| a.key.cmp(&b.key))
}

/// A scalar as text, as Helm's YAML reader gives it to a field of text.
fn text(value: &Value) -> Value {
    match value {
        Value::Int(number) => Value::from(number.to_string()),
        Value::Float(number) => Value::from(number::general(*number)),
        Value::Bool(truth) => Value::from(truth.to_string()),
        Value::Null | Value::Text(_) | Value::List(_) | Value::Dict(_) => value.clone(),
    }
}

fn line(value: &Value) -> Value {
    let Some(text) = value.as_text() else { return value.clone() };
    let is_plain = |letter: char| letter == ' ' || letter.is_ascii_graphic();
    if text.chars().all(is_plain) {
        return value.clone();
    }
    let letter = |letter: char| {
        if letter.is_whitespace() { Some(' ') } else { Some(letter).filter(|letter| is_printable(*letter)) }
    };
    Value::from(text.chars().filter_map(letter).collect::<String>())
}
