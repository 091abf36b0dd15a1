//! The rules for maps.

use std::collections::BTreeMap;

use crate::yaml::{Content, Entry};

use super::super::rule::{Counted, Demand, Members};
use super::Reader;

impl Reader<'_, '_> {
    pub(super) fn maps(&mut self) {
        self.count("minProperties", |count| Demand::Least(Counted::Keys, count));
        self.count("maxProperties", |count| Demand::Most(Counted::Keys, count));
        if let Some(entry) = self.entry("required")
            && let Some(names) = self.names(None, entry)
        {
            self.rule(entry, Demand::Required(names));
        }
        if let Some((entry, id)) = self.schema("propertyNames") {
            self.rule(entry, Demand::Names(id));
        }
        self.members();
        self.dependencies();
    }

    fn members(&mut self) {
        let mut members = Members::default();
        let mut first: Option<&Entry> = None;
        if let Some((entry, named)) = self.named("properties") {
            first = Some(entry);
            members.named = named.into_iter().map(|(named, id)| (named.key.clone(), id)).collect();
        }
        if let Some((entry, named)) = self.named("patternProperties") {
            first = first.or(Some(entry));
            for (named, id) in named {
                if let Some(pattern) = self.pattern(entry, &named.key, Some(named)) {
                    members.patterns.push((pattern, id));
                }
            }
        }
        if let Some((entry, id)) = self.schema("additionalProperties") {
            // An unknown key is refused by this keyword, so its location is the one to show.
            first = Some(entry);
            members.others = Some(id);
        }
        if let Some(entry) = first {
            self.rule(entry, Demand::Members(members));
        }
    }

    /// What the presence of a key asks for. `dependencies` is the older way to write both.
    fn dependencies(&mut self) {
        if let Some(entry) = self.entry("dependentRequired") {
            match &entry.value.content {
                Content::Map(entries) => {
                    let names = self.names_by_key(entry, entries.iter());
                    self.rule(entry, Demand::DependentRequired(names));
                }
                Content::Scalar(_) | Content::List(_) => {
                    self.must_be(entry, "a map of lists of names");
                }
            }
        }
        if let Some((entry, named)) = self.named("dependentSchemas") {
            let schemas = named.into_iter().map(|(named, id)| (named.key.clone(), id)).collect();
            self.rule(entry, Demand::DependentSchemas(schemas));
        }
        let Some(entry) = self.entry("dependencies") else { return };
        let Content::Map(entries) = &entry.value.content else {
            self.must_be(entry, "a map of schemas and lists of names");
            return;
        };
        let lists = entries.iter().filter(|named| matches!(named.value.content, Content::List(_)));
        let names = self.names_by_key(entry, lists);
        let schemas: BTreeMap<_, _> = entries
            .iter()
            .filter_map(|named| self.catalog.at(&named.value).map(|id| (named.key.clone(), id)))
            .collect();
        self.rule(entry, Demand::DependentRequired(names));
        self.rule(entry, Demand::DependentSchemas(schemas));
    }
}
