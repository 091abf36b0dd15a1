//! `type`, `enum`, `const`, and the rules for numbers and text.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location};
use crate::suggest;
use crate::value::Value;
use crate::yaml::{Content, Entry, Node};

use super::super::number;
use super::super::pattern::Pattern;
use super::super::rule::{Counted, Demand, Kinds, Side};
use super::super::wording::cut;
use super::Reader;

impl<'n> Reader<'_, 'n> {
    pub(super) fn scalars(&mut self) {
        self.kinds();
        self.options();
        self.numbers();
        self.count("minLength", |count| Demand::Least(Counted::Characters, count));
        self.count("maxLength", |count| Demand::Most(Counted::Characters, count));
        if let Some((entry, source)) = self.text("pattern")
            && let Some(pattern) = self.pattern(entry, source, None)
        {
            self.rule(entry, Demand::Pattern(pattern));
        }
    }

    fn kinds(&mut self) {
        let Some(entry) = self.entry("type") else { return };
        let names: &[Node] = match &entry.value.content {
            Content::Scalar(Value::Text(_)) => std::slice::from_ref(&entry.value),
            Content::List(items) if !items.is_empty() => items,
            Content::List(_) => {
                self.fault(entry, "must not be empty");
                return;
            }
            Content::Scalar(_) | Content::Map(_) => {
                self.must_be(entry, "the name of a type or a list of them");
                return;
            }
        };
        let mut kinds = Kinds(0);
        for node in names {
            match &node.content {
                Content::Scalar(Value::Text(name)) => match Kinds::named(name) {
                    Some(kind) => kinds = kinds.or(kind),
                    None => self.unknown_kind(entry, node, name),
                },
                _ => {
                    self.fault(entry, &format!("must hold names of types, not {}", node.kind()));
                }
            }
        }
        self.rule(entry, Demand::Type(kinds));
    }

    fn unknown_kind(&mut self, entry: &Entry, node: &Node, name: &str) {
        let location: Location = node.span.in_file(&self.catalog.file);
        let alias = match name {
            "int" | "int32" | "int64" | "long" => Some("integer"),
            "float" | "double" | "decimal" => Some("number"),
            "str" | "text" => Some("string"),
            "bool" => Some("boolean"),
            "map" | "dict" | "hash" => Some("object"),
            "list" | "sequence" => Some("array"),
            "nil" | "none" => Some("null"),
            _ => suggest::nearest(name, Kinds::NAMES.iter().map(|(name, _)| *name)),
        };
        let known = Kinds::NAMES.map(|(name, _)| name).join(", ");
        let finding = self.fault(entry, &format!("names no type: `{}`", cut(name)));
        finding.location = Some(location);
        finding.help = Some(match alias {
            Some(alias) => format!("did you mean `{alias}`?"),
            None => format!("the types are {known}"),
        });
    }

    fn options(&mut self) {
        if let Some(entry) = self.entry("enum") {
            match &entry.value.content {
                Content::List(items) => {
                    let options = items.iter().filter_map(|item| self.value(entry, item)).collect();
                    self.rule(entry, Demand::Enum(options));
                }
                Content::Scalar(_) | Content::Map(_) => {
                    self.must_be(entry, "a list of values");
                }
            }
        }
        if let Some(entry) = self.entry("const")
            && let Some(value) = self.value(entry, &entry.value)
        {
            self.rule(entry, Demand::Enum(vec![value]));
        }
    }

    fn numbers(&mut self) {
        if let Some((entry, step)) = self.number("multipleOf") {
            if number::compare(&step, &Value::Int(0)).is_some_and(std::cmp::Ordering::is_gt) {
                self.rule(entry, Demand::MultipleOf(step));
            } else {
                self.fault(entry, "must be larger than 0");
            }
        }
        let sides = [
            ("minimum", Side::AtLeast),
            ("exclusiveMinimum", Side::Above),
            ("maximum", Side::AtMost),
            ("exclusiveMaximum", Side::Below),
        ];
        for (keyword, side) in sides {
            if let Some((entry, bound)) = self.number(keyword) {
                self.rule(entry, Demand::Bound(side, bound));
            }
        }
    }

    fn number(&mut self, keyword: &str) -> Option<(&'n Entry, Value)> {
        let entry = self.entry(keyword)?;
        match &entry.value.content {
            Content::Scalar(value @ (Value::Int(_) | Value::Float(_))) => Some((entry, value.clone())),
            content => {
                let boolean = matches!(content, Content::Scalar(Value::Bool(_)));
                let finding = self.must_be(entry, "a number");
                if boolean && keyword.starts_with("exclusive") {
                    let instead = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
                    finding.help =
                        Some(format!("draft 4 wrote it so; now the bound stands here instead of in `{instead}`"));
                }
                None
            }
        }
    }

    /// A keyword that holds a count.
    pub(super) fn count(&mut self, keyword: &str, demand: fn(u64) -> Demand) {
        if let Some((entry, count)) = self.counted(keyword) {
            self.rule(entry, demand(count));
        }
    }

    pub(super) fn counted(&mut self, keyword: &str) -> Option<(&'n Entry, u64)> {
        let entry = self.entry(keyword)?;
        let count = match &entry.value.content {
            Content::Scalar(value) => number::count(value),
            Content::List(_) | Content::Map(_) => None,
        };
        if count.is_none() {
            self.fault(entry, "must be a whole number from 0");
        }
        count.map(|count| (entry, count))
    }

    /// The pattern in an entry; `at` is the entry whose key it is.
    pub(super) fn pattern(&mut self, entry: &Entry, source: &Arc<str>, at: Option<&Entry>) -> Option<Pattern> {
        match self.patterns.compile(source) {
            Ok(pattern) => Some(pattern),
            Err(refused) => {
                let path = self.catalog.path(self.location).key(entry.key.clone());
                let (location, key) = match at {
                    Some(at) => (at.span, path.key(at.key.clone())),
                    None => (entry.value.span, path),
                };
                let location = location.in_file(&self.catalog.file);
                let mut finding = Diagnostic::error("schema-pattern", refused.message).at(location).key(key);
                finding.help = refused.help.map(str::to_owned);
                self.catalog.report(finding);
                None
            }
        }
    }
}
