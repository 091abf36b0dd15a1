//! From the keywords of one schema to its rules, with all that is wrong with them.
//!
//! Rules come out in a fixed order, whatever the order in the file: the type first, since nothing else is worth saying
//! when it is wrong, and what looks at the results of others last.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::value::Value;
use crate::yaml::{Content, Entry, Node};

use super::draft::{self, Draft};
use super::locate::Catalog;
use super::pattern::Patterns;
use super::rule::{Body, Compiled, Demand, Id, Rule};
use super::wording::cut;

mod combine;
mod lists;
mod maps;
mod scalars;

/// Compiles all schemas of a catalog, and those that references add to it on the way.
pub(super) fn compile(catalog: &mut Catalog<'_>) -> Vec<Compiled> {
    let mut patterns = Patterns::default();
    let mut all = Vec::new();
    while let Some(location) = catalog.locations.get(all.len()) {
        let (node, span, draft, resource) = (location.node, location.span, location.draft, location.resource);
        let reader = Reader { catalog, patterns: &mut patterns, location: all.len(), node, draft, rules: Vec::new() };
        let body = reader.body();
        let text = |key: &str| match node.get(key).map(|node| &node.content) {
            Some(Content::Scalar(Value::Text(text))) => Some(text.clone()),
            _ => None,
        };
        all.push(Compiled { span, resource, title: text("title"), description: text("description"), body });
    }
    all
}

/// Reads the keywords of one schema.
struct Reader<'c, 'n> {
    catalog: &'c mut Catalog<'n>,
    patterns: &'c mut Patterns,
    location: usize,
    node: &'n Node,
    draft: Draft,
    rules: Vec<Rule>,
}

impl<'n> Reader<'_, 'n> {
    fn body(mut self) -> Body {
        match &self.node.content {
            Content::Scalar(Value::Bool(true)) => return Body::Anything,
            Content::Scalar(Value::Bool(false)) => return Body::Nothing,
            Content::Map(_) => {}
            Content::Scalar(_) | Content::List(_) => {
                let message = format!("a schema must be a map, true or false, not {}", self.node.kind());
                let finding = Diagnostic::error("schema-keyword", message)
                    .at(self.node.span.in_file(&self.catalog.file))
                    .key(self.catalog.path(self.location));
                self.catalog.report(finding);
                return Body::Anything;
            }
        }
        self.warn();
        if self.draft.reference_hides_siblings() && self.node.get("$ref").is_some() {
            self.references();
            return Body::Rules(self.rules);
        }
        self.scalars();
        self.lists();
        self.maps();
        self.references();
        self.combinations();
        self.unevaluated();
        if self.rules.is_empty() { Body::Anything } else { Body::Rules(self.rules) }
    }

    /// Warns of keywords that do nothing although they look as if they did.
    fn warn(&mut self) {
        for entry in self.node.entries().unwrap_or_default() {
            let said = match draft::find(&entry.key) {
                Some(keyword) if keyword.holds_in(self.draft) => continue,
                Some(keyword) if keyword.is_over_in(self.draft) => {
                    (format!("`{}` has no effect in {}", entry.key, self.draft.name()), None)
                }
                Some(keyword) => (
                    format!("`{}` has no effect in {}", entry.key, self.draft.name()),
                    Some(format!("it exists since {}: name a later `$schema`, or none", keyword.since())),
                ),
                None => match self.catalog.meant(&entry.key) {
                    Some(meant) => (
                        format!("`{}` is no keyword, and has no effect", cut(&entry.key)),
                        Some(format!("did you mean `{meant}`?")),
                    ),
                    None => continue,
                },
            };
            let key = self.catalog.path(self.location).key(entry.key.clone());
            let mut finding = Diagnostic::warning("schema-unknown-keyword", said.0);
            finding.help = said.1;
            self.catalog.report(finding.at(entry.span.in_file(&self.catalog.file)).key(key));
        }
    }

    /// The entry of a keyword that the draft knows.
    fn entry(&self, keyword: &str) -> Option<&'n Entry> {
        self.node.entry(keyword).filter(|_| self.draft.knows(keyword))
    }

    fn fault(&mut self, entry: &Entry, wrong: &str) -> &mut Diagnostic {
        self.catalog.fault(self.location, entry, wrong)
    }

    /// Records that a keyword's value is of the wrong kind.
    fn must_be(&mut self, entry: &Entry, wanted: &str) -> &mut Diagnostic {
        let wrong = format!("must be {wanted}, not {}", entry.value.kind());
        self.fault(entry, &wrong)
    }

    fn rule(&mut self, entry: &Entry, demand: Demand) {
        self.rules.push(Rule { span: entry.span, demand });
    }

    fn text(&mut self, keyword: &str) -> Option<(&'n Entry, &'n Arc<str>)> {
        let entry = self.entry(keyword)?;
        if let Content::Scalar(Value::Text(text)) = &entry.value.content {
            return Some((entry, text));
        }
        self.must_be(entry, "text");
        None
    }

    fn value(&mut self, entry: &Entry, node: &Node) -> Option<Value> {
        let value = node.to_value().ok();
        if value.is_none() {
            self.fault(entry, "is nested too deep");
        }
        value
    }

    /// The schema below a keyword.
    fn schema(&mut self, keyword: &str) -> Option<(&'n Entry, Id)> {
        let entry = self.entry(keyword)?;
        self.catalog.at(&entry.value).map(|id| (entry, id))
    }

    /// The schemas in the list below a keyword.
    fn schemas(&mut self, keyword: &str) -> Option<(&'n Entry, Vec<Id>)> {
        let entry = self.entry(keyword)?;
        let Content::List(items) = &entry.value.content else {
            self.must_be(entry, "a list of schemas");
            return None;
        };
        if items.is_empty() && keyword != "prefixItems" {
            self.fault(entry, "must not be empty");
            return None;
        }
        Some((entry, items.iter().filter_map(|node| self.catalog.at(node)).collect()))
    }

    /// The schemas in the map below a keyword.
    fn named(&mut self, keyword: &str) -> Option<(&'n Entry, Vec<(&'n Entry, Id)>)> {
        let entry = self.entry(keyword)?;
        let Content::Map(entries) = &entry.value.content else {
            self.must_be(entry, "a map of schemas");
            return None;
        };
        Some((entry, entries.iter().filter_map(|named| self.catalog.at(&named.value).map(|id| (named, id))).collect()))
    }

    /// The names in a list; `outer` is the keyword when the list is below a key of its map.
    fn names(&mut self, outer: Option<&Entry>, entry: &Entry) -> Option<Vec<Arc<str>>> {
        let Content::List(items) = &entry.value.content else {
            self.must_be(entry, "a list of names");
            return None;
        };
        let mut names = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let Content::Scalar(Value::Text(name)) = &item.content else {
                let mut path = self.catalog.path(self.location);
                for above in outer.into_iter().chain([entry]) {
                    path = path.key(cut(&above.key));
                }
                let span = item.span.in_file(&self.catalog.file);
                let finding = self.fault(entry, &format!("must hold names, not {}", item.kind()));
                finding.location = Some(span);
                finding.key = Some(path.index(at).to_string());
                return None;
            };
            names.push(name.clone());
        }
        Some(names)
    }

    /// Lists of names by key, below a keyword.
    fn names_by_key<'e>(
        &mut self,
        keyword: &Entry,
        lists: impl Iterator<Item = &'e Entry>,
    ) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
        lists.filter_map(|list| self.names(Some(keyword), list).map(|names| (list.key.clone(), names))).collect()
    }
}
