//! From nodes to typed fields, with every mistake noted and none fatal.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::sync::Arc;

use super::values::DocumentText;
use super::{Located, Values};
use crate::diagnostic::Diagnostic;
use crate::names;
use crate::suggest::did_you_mean;
use crate::value::{KeyPath, Value};
use crate::yaml::{Content, Entry, Node, Span};

/// One file being decoded.
pub(super) struct Decoder {
    pub(super) file: Arc<str>,
    pub(super) findings: Vec<Diagnostic>,
    /// The document being decoded, if its values are to be kept as text.
    pub(super) document: Option<Arc<DocumentText>>,
}

/// A node and the way to it.
#[derive(Clone)]
pub(super) struct Field<'n> {
    pub(super) node: &'n Node,
    pub(super) path: KeyPath,
    /// Where its key is written.
    pub(super) span: Span,
}

impl<'n> Field<'n> {
    pub(super) fn root(node: &'n Node) -> Self {
        Self { node, path: KeyPath::root(), span: node.span }
    }

    pub(super) fn of(&self, entry: &'n Entry) -> Self {
        Self { node: &entry.value, path: self.path.key(entry.key.clone()), span: entry.span }
    }

    fn is_null(&self) -> bool {
        matches!(self.node.content, Content::Scalar(Value::Null))
    }
}

impl Decoder {
    pub(super) fn new(file: &Arc<str>) -> Self {
        Self { file: file.clone(), findings: Vec::new(), document: None }
    }

    pub(super) fn report(&mut self, span: Span, path: &KeyPath, diagnostic: Diagnostic) {
        self.findings.push(diagnostic.at(span.in_file(&self.file)).key(path));
    }

    fn wrong(&mut self, field: &Field<'_>, wanted: &str) {
        let subject = if field.path.0.is_empty() { "the document".to_owned() } else { format!("`{}`", field.path) };
        let message = format!("{subject} must be {wanted}, not {}", field.node.kind());
        self.report(field.node.span, &field.path, Diagnostic::error("wrong-type", message));
    }

    /// The entries of a map; any key but the known ones is an error.
    pub(super) fn map<'n>(&mut self, field: &Field<'n>, known: &[&str]) -> BTreeMap<&'n str, Field<'n>> {
        let fields = self.open_map(field);
        for (key, unknown) in &fields {
            if !known.contains(key) {
                let mut finding = Diagnostic::error("unknown-key", format!("`{key}` is not a known key"));
                finding.help = did_you_mean(key, known.iter().copied())
                    .or_else(|| Some(format!("known keys: {}", known.join(", "))));
                self.report(unknown.span, &unknown.path, finding);
            }
        }
        fields.into_iter().filter(|(_, field)| !field.is_null()).collect()
    }

    /// The entries of a map whose keys are names that the user chose.
    pub(super) fn open_map<'n>(&mut self, field: &Field<'n>) -> BTreeMap<&'n str, Field<'n>> {
        match &field.node.content {
            Content::Map(entries) => entries.iter().map(|entry| (&*entry.key, field.of(entry))).collect(),
            Content::Scalar(Value::Null) => BTreeMap::new(),
            Content::Scalar(_) | Content::List(_) => {
                self.wrong(field, "a map");
                BTreeMap::new()
            }
        }
    }

    pub(super) fn list<'n>(&mut self, field: &Field<'n>) -> Vec<Field<'n>> {
        match &field.node.content {
            Content::List(items) => items
                .iter()
                .enumerate()
                .map(|(at, node)| Field { node, path: field.path.index(at), span: node.span })
                .collect(),
            Content::Scalar(_) | Content::Map(_) => {
                self.wrong(field, "a list");
                Vec::new()
            }
        }
    }

    pub(super) fn text(&mut self, field: &Field<'_>) -> Option<Located<Arc<str>>> {
        if let Content::Scalar(Value::Text(text)) = &field.node.content {
            return Some(Located { value: text.clone(), span: field.node.span });
        }
        self.wrong(field, "text");
        if let (Content::Scalar(value), Some(finding)) = (&field.node.content, self.findings.last_mut()) {
            finding.help = serde_json::to_string(value).ok().map(|text| format!("write \"{text}\""));
        }
        None
    }

    /// Text that Kubernetes takes as a name.
    pub(super) fn name(&mut self, field: &Field<'_>) -> Option<Located<Arc<str>>> {
        let name = self.text(field)?;
        self.check_name(name.span, &field.path, &name.value).then_some(name)
    }

    pub(super) fn check_name(&mut self, span: Span, path: &KeyPath, name: &str) -> bool {
        let fine = names::is_label(name);
        if !fine {
            let message = format!("`{name}` is not a name that Kubernetes takes");
            self.report(span, path, Diagnostic::error("bad-name", message).help(names::LABEL_RULE));
        }
        fine
    }

    pub(super) fn texts(&mut self, field: &Field<'_>) -> Vec<Located<Arc<str>>> {
        self.list(field).iter().filter_map(|item| self.text(item)).collect()
    }

    pub(super) fn names(&mut self, field: &Field<'_>) -> Vec<Located<Arc<str>>> {
        self.list(field).iter().filter_map(|item| self.name(item)).collect()
    }

    /// Text with so many characters.
    pub(super) fn bounded(&mut self, field: &Field<'_>, least: usize, most: usize) -> Option<Arc<str>> {
        let text = self.text(field)?;
        let length = text.value.chars().count();
        let fine = (least..=most).contains(&length);
        if !fine {
            let message = format!("`{}` must have between {least} and {most} characters, not {length}", field.path);
            self.report(text.span, &field.path, Diagnostic::error("out-of-range", message));
        }
        fine.then_some(text.value)
    }

    /// The name of an object that exists elsewhere.
    pub(super) fn object_name(&mut self, field: &Field<'_>) -> Option<Arc<str>> {
        let name = self.text(field)?;
        let fine = names::is_subdomain(&name.value);
        if !fine {
            let message = format!("`{}` is not a name that Kubernetes takes", name.value);
            self.report(name.span, &field.path, Diagnostic::error("bad-name", message).help(names::SUBDOMAIN_RULE));
        }
        fine.then_some(name.value)
    }

    /// A list must have so many entries.
    pub(super) fn count(&mut self, field: &Field<'_>, found: usize, least: usize, most: usize) {
        if !(least..=most).contains(&found) {
            let message = format!("`{}` must have between {least} and {most} entries, not {found}", field.path);
            self.report(field.node.span, &field.path, Diagnostic::error("out-of-range", message));
        }
    }

    /// No text may be in a list twice.
    pub(super) fn distinct(&mut self, items: &[Field<'_>]) {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for item in items {
            let Content::Scalar(Value::Text(text)) = &item.node.content else { continue };
            match seen.entry(text) {
                Vacant(entry) => {
                    entry.insert(item.node.span);
                }
                Occupied(first) => {
                    let finding = Diagnostic::error("duplicate-entry", format!("`{text}` is there twice"));
                    let finding = finding.note("the first is here", Some(first.get().in_file(&self.file)));
                    self.report(item.node.span, &item.path, finding.help("keep one of the two"));
                }
            }
        }
    }

    pub(super) fn boolean(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Content::Scalar(Value::Bool(value)) = field.node.content {
            return Some(value);
        }
        self.wrong(field, "true or false");
        None
    }

    pub(super) fn number(&mut self, field: &Field<'_>, least: i64, most: i64) -> Option<i64> {
        match field.node.content {
            Content::Scalar(Value::Int(number)) if (least..=most).contains(&number) => Some(number),
            Content::Scalar(Value::Int(number)) => {
                let message = format!("`{}` must be between {least} and {most}, not {number}", field.path);
                self.report(field.node.span, &field.path, Diagnostic::error("out-of-range", message));
                None
            }
            _ => {
                self.wrong(field, "a whole number");
                None
            }
        }
    }

    /// One word of a closed set.
    pub(super) fn word<T: Copy>(&mut self, field: &Field<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(field)?;
        let found = words.iter().find(|(word, _)| *word == &*text.value).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{}` must be one of {}, not `{}`", field.path, known.join(", "), text.value);
            let mut finding = Diagnostic::error("unknown-word", message);
            finding.help = did_you_mean(&text.value, known);
            self.report(text.span, &field.path, finding);
        }
        found
    }

    pub(super) fn labels(&mut self, field: &Field<'_>) -> BTreeMap<Arc<str>, Arc<str>> {
        let mut labels = BTreeMap::new();
        for (key, field) in self.open_map(field) {
            if !names::is_qualified(key) {
                let message = format!("`{key}` is not the key of a label");
                self.report(
                    field.span,
                    &field.path,
                    Diagnostic::error("bad-label", message).help(names::QUALIFIED_RULE),
                );
            }
            let Some(value) = self.text(&field) else { continue };
            if !names::is_label_value(&value.value) {
                let message = format!("`{}` is not the value of a label", value.value);
                let finding = Diagnostic::error("bad-label", message).help(names::LABEL_VALUE_RULE);
                self.report(value.span, &field.path, finding);
            }
            labels.insert(key.into(), value.value);
        }
        labels
    }

    /// Values: any map.
    pub(super) fn values(&mut self, field: &Field<'_>) -> Option<Values> {
        if !matches!(field.node.content, Content::Map(_)) {
            self.wrong(field, "a map");
            return None;
        }
        self.refuse_encrypted(field);
        if let Some(document) = &self.document {
            return Some(Values::text(self.file.clone(), document.clone(), field.path.clone()));
        }
        match field.node.to_value() {
            Ok(Value::Dict(dict)) => Some(Values::data(self.file.clone(), field.node.clone(), dict)),
            Ok(_) => None,
            Err(deep) => {
                self.report(field.span, &field.path, Diagnostic::error("yaml-limit", deep.to_string()));
                None
            }
        }
    }

    /// Ciphertext would be applied as it is: no object should hold `ENC[...]` for its password.
    fn refuse_encrypted(&mut self, field: &Field<'_>) {
        let mut open = vec![field.clone()];
        while let Some(field) = open.pop() {
            match &field.node.content {
                Content::Scalar(Value::Text(text)) if text.starts_with("ENC[") && text.ends_with(']') => {
                    let message = format!("`{}` is encrypted, and encrypted values cannot be read yet", field.path);
                    let help = "refer to a Secret that exists in the runtime";
                    self.report(field.span, &field.path, Diagnostic::error("encrypted-value", message).help(help));
                }
                Content::Scalar(_) => {}
                Content::List(items) => open.extend(items.iter().enumerate().map(|(at, node)| Field {
                    node,
                    path: field.path.index(at),
                    span: node.span,
                })),
                Content::Map(entries) => open.extend(entries.iter().map(|entry| field.of(entry))),
            }
        }
    }
}
